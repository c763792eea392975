"""What may be done in a cluster, in the terms of Kubernetes' RBAC."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from mooring.api.kinds import Part
from mooring.api.references import Name, NamespaceName
from mooring.api.schema import About, about

Words = Annotated[tuple[str, ...], about(list_type="atomic")]


class RoleKind(StrEnum):
    """Which of RBAC's two kinds of roles is meant."""

    ROLE = "Role"
    CLUSTER_ROLE = "ClusterRole"


class PolicyRule(Part, frozen=True, kw_only=True):
    """Verbs that are allowed on some resources, or on some paths that are not resources."""

    verbs: Annotated[Words, about("What may be done, such as get or list; '*' is everything.")]
    api_groups: Annotated[
        Words, about("The groups that the resources are in; '' is the core group, '*' is every group.")
    ] = ()
    resources: Annotated[Words, about("The resources that it may be done to; '*' is all of them.")] = ()
    resource_names: Annotated[
        Words, about("The names of the objects that it may be done to. Absent: to all of them.")
    ] = ()
    non_resource_urls: Annotated[
        Words,
        about("""Paths such as /healthz that it may be done to; '*' may stand as their last step. Only for rules that
        hold in the whole cluster, and not together with resources."""),
    ] = msgspec.field(default=(), name="nonResourceURLs")


class Permission(Part, frozen=True, kw_only=True):
    """A role that is made for the requester, in one namespace or in the whole cluster."""

    rules: Annotated[tuple[PolicyRule, ...], about("What the role allows.")]
    name: Annotated[
        Name,
        about("""Name of the role. Usually absent, and then chosen so that it clashes with no other. If a role of that
        name is there and was not made for this request, access is not granted."""),
    ] = ""
    namespace: Annotated[
        NamespaceName,
        about("The namespace that the permission is for: it becomes a Role there. Absent: a ClusterRole."),
    ] = ""
    disable_automatic_namespace_creation: Annotated[
        bool, about("If true, the namespace is not created where it is missing. It is created otherwise.")
    ] = False


class RoleReference(Part, frozen=True, kw_only=True):
    """A role that is there already, and that the requester is bound to."""

    kind: Annotated[RoleKind, about("Role or ClusterRole.")]
    name: Annotated[str, about("Name of the role. Whether it exists is not checked.", min_length=1, max_length=1024)]
    namespace: Annotated[NamespaceName, about("The namespace of a Role. A ClusterRole has none.")] = ""


class Subject(Part, frozen=True, kw_only=True):
    """Who is bound to roles."""

    ABOUT: ClassVar[About] = about(map_type="atomic")

    kind: Annotated[str, about("User, Group or ServiceAccount.", max_length=253)]
    name: Annotated[str, about("Name of the user, group or service account, without a prefix.", max_length=1024)]
    api_group: Annotated[
        str,
        about(
            """The API group of the kind: rbac.authorization.k8s.io for users and groups, '' for service accounts.
        Absent: whichever fits the kind.""",
            max_length=253,
        ),
    ] = ""
    namespace: Annotated[NamespaceName, about("The namespace of a service account.")] = ""


class RoleBindings(Part, frozen=True, kw_only=True):
    """Subjects and the roles that each of them is bound to."""

    subjects: Annotated[
        tuple[Subject, ...],
        about("Who is bound. The prefixes of the identity provider are put in front of the names."),
    ]
    role_refs: Annotated[tuple[RoleReference, ...], about("The roles. One that does not exist gives no rights.")]
