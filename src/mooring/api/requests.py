"""ClusterRequest and ClusterRequestGrant: what somebody asks for, and what was given.

The grant is the answer that counts. It has the request's name and namespace, and is written once; the request's
status repeats it for convenience, and may be lost.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from mooring.api.clusters import PurposeName
from mooring.api.conditions import Conditions
from mooring.api.durations import DURATION_PATTERN
from mooring.api.kinds import AGE_COLUMN, CLUSTERS_GROUP, READY_COLUMN, Api, Column, Kind, Part, share
from mooring.api.references import Name, NamespaceName, ObjectReference, Time, immutable, not_removable
from mooring.api.schema import About, Rule, about
from mooring.api.traits import Wishes

PREFIX_PATTERN = "^[a-z0-9][a-z0-9-]*$"
SHORTEST_PREFIX = 3
LONGEST_PREFIX = 32

_VERSION = r"^(v?[0-9]+(\.[0-9]+){0,2}([-+][0-9A-Za-z.+-]+)?)?$"
_FIXED = ("purpose", "purposes", "kubernetes", "dedicated", "traits", "prefix", "waitForClusterDeletion")


class RequestPhase(StrEnum):
    """Where a request stands. An absent phase counts as pending; foreign controllers may write others."""

    PENDING = "Pending"
    GRANTED = "Granted"
    DENIED = "Denied"


class RequestedKubernetes(Part, frozen=True, kw_only=True):
    """What Kubernetes the cluster shall have."""

    version: Annotated[
        str,
        about(
            """The version in full (1.33.3), in part (1.33, which any of its patch releases satisfies), or absent for
            any.""",
            max_length=64,
            pattern=_VERSION,
        ),
    ] = ""


class ClusterRequestSpec(Part, frozen=True, kw_only=True):
    """What cluster is asked for. Immutable, except for ttl."""

    ABOUT: ClassVar[About] = about(
        rules=(
            Rule(
                "has(self.purpose) != has(self.purposes)", "exactly one of spec.purpose and spec.purposes must be set"
            ),
            *(immutable(field, message=f"spec.{field} is immutable: only spec.ttl may change") for field in _FIXED),
        )
    )

    purpose: Annotated[
        PurposeName, about("What the cluster is for. Use purposes if there are several.", min_length=1)
    ] = ""
    purposes: Annotated[
        tuple[Annotated[PurposeName, about(min_length=1)], ...],
        about(
            """What the cluster is for. Each purpose says whether its clusters may be shared and which traits they
            have; what several of them say is combined, and the first counts where they differ.""",
            min_items=1,
            max_items=32,
        ),
    ] = ()
    kubernetes: Annotated[RequestedKubernetes, about()] = RequestedKubernetes()
    dedicated: Annotated[
        bool | None,
        about("""Whether the cluster must serve this request alone. Usually absent, and told by the purposes; if set,
        it counts over them."""),
    ] = None
    traits: Annotated[Wishes, about("Traits that the cluster shall have, beside those that its purposes ask for.")] = ()
    prefix: Annotated[
        str,
        about(
            """A proposal for the prefix of all names that are cluster-scoped, so that they do not clash with those of
            others in a shared cluster. It is granted if it has at least three characters and is free; else a random
            one is. Lower-case letters, digits and hyphens, not beginning with a hyphen.""",
            max_length=LONGEST_PREFIX,
            pattern=PREFIX_PATTERN,
        ),
    ] = ""
    wait_for_cluster_deletion: Annotated[
        bool | None,
        about("""Whether this object, once deleted, stays until its cluster is gone. If absent: yes for a cluster of
        its own, no for a shared one. It never waits for a cluster that stays because others use it, or because
        nobody asked for its deletion."""),
    ] = None
    ttl: Annotated[
        str,
        about(
            """How long the cluster is needed, counted from the creation of this object, such as 72h. When it is over,
            the request deletes itself, after a warning. Absent: without end. May be changed at any time.""",
            max_length=64,
            pattern=DURATION_PATTERN,
            rules=(Rule("duration(self) > duration('0s')", "ttl must be longer than nothing, such as 72h"),),
        ),
    ] = ""

    def __post_init__(self) -> None:
        share(self, "purpose")

    @property
    def all_purposes(self) -> tuple[str, ...]:
        """The purposes, under whichever of the two fields they were given."""
        return self.purposes or ((self.purpose,) if self.purpose else ())


class ClusterRequestStatus(Part, frozen=True, kw_only=True):
    """Where the request stands. The grant of the same name is what counts."""

    ABOUT: ClassVar[About] = about(rules=(not_removable("cluster", where="status."),))

    observed_generation: Annotated[int, about("The metadata.generation that this status speaks of.", format="int64")]
    phase: Annotated[str, about("A summary for people: Pending, Granted or Denied.", max_length=1024)]
    reason: Annotated[str, about("Why, as one CamelCase word for programs.", max_length=1024)] = ""
    message: Annotated[str, about("Why, and what to do about it, in words for people.", max_length=32_768)] = ""
    last_reconcile_time: Annotated[Time, about("When this status last changed.")] = ""
    cluster: Annotated[
        ObjectReference | None,
        about(
            "The Cluster that was granted.",
            rules=(Rule("self == oldSelf", "status.cluster is immutable"),),
        ),
    ] = None
    conditions: Conditions = ()

    def __post_init__(self) -> None:
        share(self, "phase", "reason", "last_reconcile_time")


class ClusterRequest(Kind, frozen=True, kw_only=True):
    """Asks for a cluster: a new one, or a seat in one that is shared. The answer is a ClusterRequestGrant."""

    API: ClassVar[Api] = Api(
        group=CLUSTERS_GROUP,
        kind="ClusterRequest",
        plural="clusterrequests",
        namespaced=True,
        short_names=("cr", "creq"),
        columns=(
            Column(name="Purpose", path=".spec.purpose"),
            Column(name="Phase", path=".status.phase"),
            Column(name="Cluster", path=".status.cluster.name"),
            Column(name="Cluster-NS", path=".status.cluster.namespace"),
            READY_COLUMN,
            Column(name="Purposes", path=".spec.purposes", priority=1),
            Column(name="Reason", path=".status.reason", priority=1),
            Column(name="TTL", path=".spec.ttl", priority=1),
            AGE_COLUMN,
        ),
        selectable_fields=(".spec.purpose", ".status.phase"),
        has_status=True,
    )
    ABOUT: ClassVar[About] = about(rules=(not_removable("spec"),))

    # The server takes a request without a spec, as upstream's does: read it, so that it can be answered.
    spec: Annotated[ClusterRequestSpec, about()] = ClusterRequestSpec()
    status: Annotated[ClusterRequestStatus | None, about()] = None


class GrantSpec(Part, frozen=True, kw_only=True):
    """What was granted. Immutable."""

    ABOUT: ClassVar[About] = about(
        rules=(
            immutable("clusterRef", message="spec.clusterRef is immutable: what was granted stays"),
            immutable("prefix", message="spec.prefix is immutable: what was granted stays"),
        )
    )

    cluster_ref: Annotated[ObjectReference, about("The Cluster that was granted.")]
    prefix: Annotated[
        str,
        about(
            """What the names of all cluster-scoped things must begin with in a shared cluster. No prefix granted on
            one cluster begins another. Absent if the cluster is dedicated.""",
            min_length=SHORTEST_PREFIX,
            max_length=LONGEST_PREFIX,
            pattern=PREFIX_PATTERN,
        ),
    ] = ""


class GrantedMetadata(Part, frozen=True, kw_only=True):
    """Which request it was."""

    name: Annotated[Name, about("Name of the request.")]
    namespace: Annotated[NamespaceName, about("Namespace of the request.")]


class GrantedRequest(Part, frozen=True, kw_only=True):
    """The request as it was when it was granted."""

    metadata: Annotated[GrantedMetadata, about()]
    spec: Annotated[
        ClusterRequestSpec, about("What was asked for: the spec of the ClusterRequest, in the same form.", opaque=True)
    ]


class GrantStatus(Part, frozen=True, kw_only=True):
    """For the record. Written together with the spec, since it is not a subresource."""

    request: Annotated[GrantedRequest | None, about()] = None


class ClusterRequestGrant(Kind, frozen=True, kw_only=True):
    """The answer to a granted ClusterRequest, of the same name and namespace. Only scheduling writes it."""

    API: ClassVar[Api] = Api(
        group=CLUSTERS_GROUP,
        kind="ClusterRequestGrant",
        plural="clusterrequestgrants",
        namespaced=True,
        short_names=("crg", "grant"),
        columns=(
            Column(name="Cluster", path=".spec.clusterRef.name"),
            Column(name="Cluster-NS", path=".spec.clusterRef.namespace"),
            Column(name="Prefix", path=".spec.prefix"),
            AGE_COLUMN,
        ),
        selectable_fields=(".spec.clusterRef.name",),
    )

    spec: Annotated[GrantSpec, about()]
    status: Annotated[GrantStatus, about()] = GrantStatus()
