"""Who may enter the clusters of a profile: what the platform's owner decides once, and both sides of a grant ask."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from mooring.api.kinds import Part
from mooring.api.schema import about


class AccessPolicy(StrEnum):
    """Which AccessRequests are granted."""

    SAME_NAMESPACE = "SameNamespace"
    ALL = "All"
    CREATOR = "Creator"


class AccessRules(Part, frozen=True, kw_only=True):
    """Who may enter clusters, and how far inside."""

    policy: Annotated[
        AccessPolicy,
        about(
            """Which AccessRequests are granted. SameNamespace: those in the namespace of the Cluster or ClusterRequest
            that they name. All: every one. Creator: those whose creator may do the verb 'access' on the Cluster, which
            is asked again at each renewal.""",
            default="SameNamespace",
        ),
    ] = AccessPolicy.SAME_NAMESPACE
    bound_to_prefix: Annotated[
        bool,
        about("""If true, access to a shared cluster is granted only within namespaces that begin with the prefix of
        the ClusterRequest that is named, and nothing that holds in the whole cluster."""),
    ] = False
