"""ExternalConfig and ExternalClusterConfig: where the kubeconfigs of clusters are that somebody else made."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from mooring.api.kinds import AGE_COLUMN, CLUSTERS_GROUP, READY_COLUMN, Api, Column, Kind, Part
from mooring.api.schema import About, Rule, about
from mooring.api.traits import SupportedTrait
from mooring.providers.sdk.configs import ConfigSpec, ConfigStatus

GROUP: Final = f"external.{CLUSTERS_GROUP}"
USUAL_KEY: Final = "kubeconfig"

# A name goes into the selector of a watch: it must be nothing but a name.
_SECRET_NAME: Final = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"  # noqa: S105
_NAMESPACE: Final = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_CONTEXT: Final = about(
    "The context of the kubeconfig that is meant. Absent: the kubeconfig's current one.", max_length=253
)
_KEY: Final = about(
    "The key in the Secret's data that holds the kubeconfig.",
    default=USUAL_KEY,
    min_length=1,
    max_length=253,
    pattern="^[-._a-zA-Z0-9]+$",
)


class SecretReference(Part, frozen=True, kw_only=True):
    """A Secret with a kubeconfig."""

    namespace: Annotated[
        str, about("Namespace that the Secret is in.", min_length=1, max_length=63, pattern=_NAMESPACE)
    ]
    name: Annotated[str, about("Name of the Secret.", min_length=1, max_length=253, pattern=_SECRET_NAME)]
    key: Annotated[str, _KEY] = USUAL_KEY


class NearbySecretReference(Part, frozen=True, kw_only=True):
    """A Secret with a kubeconfig, in the namespace of the object that names it."""

    name: Annotated[str, about("Name of the Secret.", min_length=1, max_length=253, pattern=_SECRET_NAME)]
    key: Annotated[str, _KEY] = USUAL_KEY


class ExternalConfigSpec(ConfigSpec, frozen=True, kw_only=True):
    """One cluster, if a Secret is named; otherwise a family, each of whose Clusters names its own."""

    ABOUT: ClassVar[About] = about(
        rules=(
            *ConfigSpec.ABOUT.rules,
            Rule(
                "!has(self.context) || has(self.kubeconfigSecretRef)",
                "spec.context is the context of a kubeconfig, and there is none without spec.kubeconfigSecretRef",
                ".context",
            ),
        )
    )

    kubeconfig_secret_ref: Annotated[
        SecretReference | None,
        about("""The kubeconfig of the one cluster that this configuration stands for. Absent: each Cluster names an
        ExternalClusterConfig in spec.clusterConfigs, with a kubeconfig of its own."""),
    ] = None
    context: Annotated[str, _CONTEXT] = ""
    traits: Annotated[
        tuple[SupportedTrait, ...], about("What the cluster, or every one of these, has.", max_items=128)
    ] = ()


class ExternalConfig(Kind, frozen=True, kw_only=True):
    """Clusters that were made elsewhere, and that Mooring uses and never changes."""

    API: ClassVar[Api] = Api(
        group=GROUP,
        kind="ExternalConfig",
        plural="externalconfigs",
        namespaced=False,
        columns=(
            Column(name="Provider", path=".spec.providerRef.name"),
            Column(name="Secret", path=".spec.kubeconfigSecretRef.name"),
            READY_COLUMN,
            AGE_COLUMN,
        ),
        has_status=True,
    )

    spec: Annotated[ExternalConfigSpec, about()]
    status: Annotated[ConfigStatus | None, about()] = None


class ExternalClusterConfigSpec(Part, frozen=True, kw_only=True):
    """How one cluster is reached."""

    kubeconfig_secret_ref: Annotated[
        NearbySecretReference, about("The kubeconfig of the cluster, in a Secret of the same namespace.")
    ]
    context: Annotated[str, _CONTEXT] = ""


class ExternalClusterConfig(Kind, frozen=True, kw_only=True):
    """The kubeconfig of one Cluster in the same namespace, which names this in spec.clusterConfigs."""

    API: ClassVar[Api] = Api(
        group=GROUP,
        kind="ExternalClusterConfig",
        plural="externalclusterconfigs",
        namespaced=True,
        columns=(Column(name="Secret", path=".spec.kubeconfigSecretRef.name"), AGE_COLUMN),
    )

    spec: Annotated[ExternalClusterConfigSpec, about()]
