"""AccessRequest: who asks to enter which cluster, in what way, and to do what there."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from mooring.api.conditions import Conditions
from mooring.api.durations import DURATION_PATTERN
from mooring.api.kinds import AGE_COLUMN, CLUSTERS_GROUP, READY_COLUMN, Api, Column, Kind, Part, share
from mooring.api.rbac import Permission, RoleBindings, RoleReference
from mooring.api.references import LocalReference, NearbyReference, Time, fixed_reference, not_removable
from mooring.api.schema import About, Rule, about

_DNS_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_URL = r"^https?://[^\s/$.?#].[^\s]*$"

_PREFIX = """Absent: the name of the identity provider and a colon. Empty: no prefix. A prefix that does not end in a
colon gets one."""


class TokenAccess(Part, frozen=True, kw_only=True):
    """Access with a token of a service account that is made for this request."""

    permissions: Annotated[tuple[Permission, ...], about("Roles that are made for this request, and bound to it.")] = ()
    role_refs: Annotated[
        tuple[RoleReference, ...], about("Roles that are there already, and that this request is bound to.")
    ] = ()
    lifetime: Annotated[
        str,
        about(
            """How long a token lives before it must have been replaced by a newer one, such as 1h. The cluster may
            grant less. Less than a minute counts as one. Absent: 720h.""",
            pattern=DURATION_PATTERN,
            max_length=64,
        ),
    ] = ""


class OidcAccess(Part, frozen=True, kw_only=True):
    """Access for the users of an OpenID Connect identity provider."""

    name: Annotated[
        str,
        about(
            """Name of the identity provider, a valid Kubernetes name and the only one of its kind in the environment.
            With a colon it is put before the names of its users and groups.""",
            min_length=1,
            max_length=253,
            pattern=_DNS_NAME,
            rules=(Rule('self != "system"', "name may not be 'system', which Kubernetes keeps for itself"),),
        ),
    ]
    issuer: Annotated[str, about("The URL of the issuer.", min_length=1, max_length=8192, pattern=_URL)]
    client_id: Annotated[str, about("The client id that tokens are issued for.", min_length=1)] = msgspec.field(
        name="clientID"
    )
    role_bindings: Annotated[tuple[RoleBindings, ...], about("Which users and groups are bound to which roles.")]
    username_claim: Annotated[str, about("The claim that holds the name of the user.", default="sub")] = "sub"
    username_prefix: Annotated[str | None, about(f"What is put before the names of users. {_PREFIX}")] = None
    groups_claim: Annotated[str, about("The claim that holds the groups of the user.", default="groups")] = "groups"
    groups_prefix: Annotated[str | None, about(f"What is put before the names of groups. {_PREFIX}")] = None
    extra_scopes: Annotated[tuple[str, ...], about("Scopes that are asked for at login, beside the usual ones.")] = ()
    roles: Annotated[
        tuple[Permission, ...],
        about("Roles that are made, and bound to nobody by themselves: name them, and refer to them in roleBindings."),
    ] = ()


class AccessRequestSpec(Part, frozen=True, kw_only=True):
    """Which cluster, in what way, and for how long."""

    ABOUT: ClassVar[About] = about(
        rules=(
            not_removable("clusterRef", where="spec."),
            not_removable("requestRef", where="spec."),
            Rule(
                "has(self.clusterRef) || has(self.requestRef)",
                "at least one of spec.clusterRef and spec.requestRef must be set",
            ),
            Rule("has(self.token) != has(self.oidc)", "exactly one of spec.token or spec.oidc must be set"),
        )
    )

    cluster_ref: Annotated[
        NearbyReference | None,
        about(
            "The Cluster to enter. It counts over requestRef. Immutable.",
            rules=(fixed_reference("spec.clusterRef"),),
        ),
    ] = None
    request_ref: Annotated[
        NearbyReference | None,
        about(
            "The ClusterRequest whose Cluster is to be entered. Immutable.",
            rules=(fixed_reference("spec.requestRef"),),
        ),
    ] = None
    token: Annotated[TokenAccess | None, about("Access with a token. Exactly one of token and oidc must be set.")] = (
        None
    )
    oidc: Annotated[
        OidcAccess | None,
        about("Access with an identity provider. Exactly one of token and oidc must be set."),
    ] = None
    ttl: Annotated[
        str,
        about("""How long access is needed, counted from the creation of this object, such as 8h. When it is over, the
        request deletes itself. Absent: without end."""),
    ] = ""


class AccessRequestStatus(Part, frozen=True, kw_only=True):
    """Where the request stands, and where the credentials are."""

    observed_generation: Annotated[int, about("The metadata.generation that this status speaks of.", format="int64")]
    phase: Annotated[str, about("A summary for people: Pending, Granted or Denied.", max_length=1024)]
    reason: Annotated[str, about("Why, as one CamelCase word for programs.", max_length=1024)] = ""
    message: Annotated[str, about("Why, and what to do about it, in words for people.", max_length=32_768)] = ""
    last_reconcile_time: Annotated[Time, about("When this status last changed.")] = ""
    secret_ref: Annotated[
        LocalReference | None,
        about("The Secret with the credentials, in the namespace of this object; its key kubeconfig is a kubeconfig."),
    ] = None
    conditions: Conditions = ()

    def __post_init__(self) -> None:
        share(self, "phase", "reason", "last_reconcile_time")


class AccessRequest(Kind, frozen=True, kw_only=True):
    """Asks for access to a cluster: with a token or an identity provider, and with just these permissions."""

    API: ClassVar[Api] = Api(
        group=CLUSTERS_GROUP,
        kind="AccessRequest",
        plural="accessrequests",
        namespaced=True,
        short_names=("ar", "areq"),
        columns=(
            Column(name="Phase", path=".status.phase"),
            READY_COLUMN,
            Column(name="Cluster", path=".spec.clusterRef.name"),
            Column(name="Request", path=".spec.requestRef.name", priority=1),
            Column(name="Reason", path=".status.reason", priority=1),
            Column(name="TTL", path=".spec.ttl", priority=1),
            AGE_COLUMN,
        ),
        selectable_fields=(".status.phase", ".spec.clusterRef.name", ".spec.requestRef.name"),
        has_status=True,
    )
    ABOUT: ClassVar[About] = about(rules=(not_removable("spec"),))

    # The server takes a request without a spec, as upstream's does: read it, so that it can be answered.
    spec: Annotated[AccessRequestSpec, about()] = AccessRequestSpec()
    status: Annotated[AccessRequestStatus | None, about()] = None
