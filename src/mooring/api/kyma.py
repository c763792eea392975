"""KubeconfigRequest: how Kyma's controllers ask for a kubeconfig that can do just this, for just so long."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from mooring.api.conditions import Conditions
from mooring.api.kinds import AGE_COLUMN, READY_COLUMN, Api, Column, Kind, Part, annotation_path
from mooring.api.rbac import PolicyRule
from mooring.api.references import NamespaceName, Time, not_removable
from mooring.api.schema import About, Rule, about

OPERATOR_GROUP: Final = "operator.kyma-project.io"

# Annotations of a KubeconfigRequest that mean something when they are "true": give out another kubeconfig in place of
# this one (we set it to "false" again), or none as long as it says so.
ROTATE_ANNOTATION: Final = f"{OPERATOR_GROUP}/rotate"
REVOKE_ANNOTATION: Final = f"{OPERATOR_GROUP}/revoke"

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = rf"{_LABEL}(\.{_LABEL})*"


class NamespacedRules(Part, frozen=True, kw_only=True):
    """What may be done in one namespace."""

    namespace: Annotated[
        NamespaceName,
        about(
            "The namespace in the cluster that the rules hold in. It is made where it is missing.",
            min_length=1,
            pattern=rf"^{_LABEL}$",
        ),
    ]
    rules: Annotated[
        tuple[PolicyRule, ...],
        about("What is allowed there. Kinds and groups with a version are accepted, too, and are translated."),
    ]


class ClusterRules(Part, frozen=True, kw_only=True):
    """What may be done in the whole cluster."""

    rules: Annotated[
        tuple[PolicyRule, ...],
        about("What is allowed. Kinds and groups with a version are accepted, too, and are translated."),
    ]


class KubeconfigSecret(Part, frozen=True, kw_only=True):
    """Where a kubeconfig is put."""

    name: Annotated[
        str,
        about(
            "Name of the Secret, in the namespace of this object. One that is there already is not taken over.",
            min_length=1,
            max_length=253,
            pattern=rf"^{_NAME}$",
        ),
    ]
    key: Annotated[
        str,
        about(
            "The key of the Secret that holds the kubeconfig. Absent: kubeconfig.",
            max_length=253,
            pattern=r"^[-._a-zA-Z0-9]+$",
        ),
    ] = ""


class KubeconfigRequestSpec(Part, frozen=True, kw_only=True):
    """Which cluster, to do what, and for how long."""

    ABOUT: ClassVar[About] = about(
        rules=(
            Rule(
                "has(self.clusterRole) || has(self.role)",
                "at least one of spec.clusterRole and spec.role must be set: without rules, nothing is allowed",
            ),
        )
    )

    cluster: Annotated[
        str,
        about(
            "The Cluster to enter: its name if it is in the namespace of this object, else namespace/name. Immutable.",
            min_length=1,
            max_length=317,
            pattern=rf"^({_LABEL}/)?{_NAME}$",
            rules=(Rule("self == oldSelf", "spec.cluster is immutable: make another request for another cluster"),),
        ),
    ]
    cluster_role: Annotated[ClusterRules | None, about("What may be done in the whole cluster.")] = None
    role: Annotated[NamespacedRules | None, about("What may be done in one namespace of the cluster.")] = None
    expiration: Annotated[
        int,
        about(
            """How many seconds a kubeconfig works. Well before that it is replaced by another, as long as this object
            is there. Fewer than 60 count as 60. Absent: 3600.""",
            format="int64",
            minimum=1,
            maximum=2**32,
        ),
    ] = 0
    secret_ref: Annotated[
        KubeconfigSecret | None,
        about("""Puts the kubeconfig into a Secret, and not into the status of this object, which more people can read.
        Recommended."""),
    ] = None


class KubeconfigRequestStatus(Part, frozen=True, kw_only=True):
    """The kubeconfig, or why there is none."""

    observed_generation: Annotated[
        int, about("The metadata.generation that this status speaks of.", format="int64")
    ] = 0
    expiration_timestamp: Annotated[
        Time, about("When the kubeconfig ends to work. It is replaced before, so fetch it anew when it is over.")
    ] = ""
    kubeconfig: Annotated[
        str,
        about("The kubeconfig, encoded with base64. Absent with spec.secretRef.", max_length=1_048_576),
    ] = ""
    conditions: Conditions = ()

    def __repr__(self) -> str:
        """A kubeconfig shows in no log."""
        return f"KubeconfigRequestStatus(expires={self.expiration_timestamp!r}, conditions={self.conditions!r}, …)"


class KubeconfigRequest(Kind, frozen=True, kw_only=True):
    """Asks for a kubeconfig with limited rights, which is kept up to date until this object is deleted."""

    API: ClassVar[Api] = Api(
        group=OPERATOR_GROUP,
        kind="KubeconfigRequest",
        plural="kubeconfigrequests",
        namespaced=True,
        short_names=("kcr",),
        columns=(
            Column(name="Cluster", path=".spec.cluster"),
            READY_COLUMN,
            Column(name="Reason", path='.status.conditions[?(@.type=="Ready")].reason'),
            Column(name="Expires", path=".status.expirationTimestamp"),
            Column(name="Secret", path=".spec.secretRef.name", priority=1),
            Column(name="Revoke", path=annotation_path(REVOKE_ANNOTATION), priority=1),
            AGE_COLUMN,
        ),
        selectable_fields=(".spec.cluster",),
        has_status=True,
    )
    ABOUT: ClassVar[About] = about(rules=(not_removable("spec"),))

    spec: Annotated[KubeconfigRequestSpec, about()]
    status: Annotated[KubeconfigRequestStatus | None, about()] = None
