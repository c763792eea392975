"""Cluster and ClusterProfile: what clusters there are, and what kinds of them can be had."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from mooring.api.conditions import Conditions
from mooring.api.kinds import (
    AGE_COLUMN,
    CLUSTERS_GROUP,
    EMPTY,
    READY_COLUMN,
    Api,
    Column,
    Kind,
    Part,
    annotation_path,
    label_path,
)
from mooring.api.marks import KUBERNETES_VERSION_LABEL, PROVIDER_INFO_ANNOTATION, PROVIDER_LABEL
from mooring.api.policies import AccessRules
from mooring.api.references import LocalReference, Name, Time, not_removable
from mooring.api.schema import About, Rule, about
from mooring.api.traits import SupportedTrait

PurposeName = Annotated[str, about(max_length=253)]


class Tenancy(StrEnum):
    """Whether a cluster may serve several requests."""

    EXCLUSIVE = "Exclusive"
    SHARED = "Shared"


class ClusterPhase(StrEnum):
    """The phases of a cluster that Mooring writes. Foreign providers may write others, so a status holds any text."""

    PROGRESSING = "Progressing"
    READY = "Ready"
    TERMINATING = "Terminating"


class SupportedVersion(Part, frozen=True, kw_only=True):
    """A version of Kubernetes that clusters of a profile can have."""

    version: Annotated[str, about("The version in full, such as 1.33.3.", min_length=5, max_length=256)]
    deprecated: Annotated[bool, about("If true, new clusters get this version only if it is asked for in full.")] = (
        False
    )


class ClusterProfileSpec(Part, frozen=True, kw_only=True):
    """What clusters of this profile are like, and who makes them."""

    provider_ref: Annotated[LocalReference, about("The ClusterProvider that published this profile.")]
    provider_config_ref: Annotated[
        LocalReference,
        about("""The provider's configuration that this profile stands for. What it is depends on the provider; its
        name is used as the value of a label."""),
    ]
    supported_versions: Annotated[
        tuple[SupportedVersion, ...], about("The versions of Kubernetes that clusters of this profile can have.")
    ]
    supported_traits: Annotated[
        tuple[SupportedTrait, ...],
        about("The traits that every cluster of this profile has. Requests ask for them by name.", max_items=256),
    ] = ()
    max_clusters: Annotated[
        int,
        about(
            """How many clusters of this profile there may be. A profile that is full is passed over for new clusters.
            0 or absent: any number.""",
            format="int32",
            minimum=0,
        ),
    ] = 0
    access: Annotated[AccessRules | None, about("Who may enter clusters of this profile.")] = None


class ClusterProfile(Kind, frozen=True, kw_only=True):
    """A kind of cluster that a provider offers. Providers publish profiles; scheduling chooses among them."""

    API: ClassVar[Api] = Api(
        group=CLUSTERS_GROUP,
        kind="ClusterProfile",
        plural="clusterprofiles",
        namespaced=False,
        short_names=("cprof", "profile"),
        columns=(
            Column(name="Provider", path=".spec.providerRef.name"),
            Column(name="Config", path=".spec.providerConfigRef.name"),
            AGE_COLUMN,
        ),
        selectable_fields=(".spec.providerRef.name", ".spec.providerConfigRef.name"),
    )

    spec: Annotated[ClusterProfileSpec, about(required=False)]


class KubernetesConfig(Part, frozen=True, kw_only=True):
    """How Kubernetes is set up in the cluster."""

    version: Annotated[
        str,
        about("""The version of Kubernetes that is wanted. If absent, the provider chooses one. What the cluster
        really runs is told by a label."""),
    ] = ""


class ClusterSpec(Part, frozen=True, kw_only=True):
    """What cluster there shall be."""

    profile: Annotated[
        Name,
        about(
            "The ClusterProfile that the cluster is made by; the profile says which provider makes it. Immutable.",
            rules=(Rule("self == oldSelf", "profile is immutable"),),
        ),
    ]
    tenancy: Annotated[
        Tenancy, about("Exclusive for a cluster that serves one request, Shared for one that may serve several.")
    ]
    purposes: Annotated[tuple[PurposeName, ...], about("What the cluster is meant for.", min_items=1)] = ()
    kubernetes: Annotated[KubernetesConfig, about()] = KubernetesConfig()
    cluster_configs: Annotated[
        tuple[LocalReference, ...],
        about("""Further configuration for this cluster: objects in its namespace, of a kind that its provider
        defines."""),
    ] = ()


class Endpoint(Part, frozen=True, kw_only=True):
    """An address of the cluster's API server."""

    name: Annotated[str, about("What the address is for, such as apiserver-external.")]
    url: Annotated[str, about("The address itself.")]


class ClusterStatus(Part, frozen=True, kw_only=True):
    """How the cluster is, as its provider sees it."""

    observed_generation: Annotated[int, about("The metadata.generation that this status speaks of.", format="int64")]
    phase: Annotated[str, about("A summary for people: Progressing, Ready or Terminating.", max_length=1024)]
    last_reconcile_time: Annotated[Time, about("When this status last changed.")] = ""
    conditions: Conditions = ()
    endpoints: Annotated[tuple[Endpoint, ...], about("Where the API server of the cluster can be reached.")] = ()
    api_server: Annotated[
        str, about("Where the API server of the cluster can be reached. Superseded by endpoints.")
    ] = ""
    provider_status: Annotated[
        Mapping[str, Any],
        about("Whatever the provider wants to note down for itself. Nobody else interprets it.", keeps_unknown=True),
    ] = EMPTY


class Cluster(Kind, frozen=True, kw_only=True):
    """A Kubernetes cluster. Its profile says which provider makes it; requests hold it by their finalizers."""

    API: ClassVar[Api] = Api(
        group=CLUSTERS_GROUP,
        kind="Cluster",
        plural="clusters",
        namespaced=True,
        columns=(
            Column(name="Purposes", path=".spec.purposes"),
            Column(name="Phase", path=".status.phase"),
            READY_COLUMN,
            Column(name="Version", path=label_path(KUBERNETES_VERSION_LABEL)),
            Column(name="Provider", path=label_path(PROVIDER_LABEL)),
            Column(name="Profile", path=".spec.profile", priority=10),
            Column(name="Info", path=annotation_path(PROVIDER_INFO_ANNOTATION), priority=10),
            AGE_COLUMN,
        ),
        selectable_fields=(".spec.profile", ".spec.tenancy", ".status.phase"),
        has_status=True,
    )
    ABOUT: ClassVar[About] = about(rules=(not_removable("spec"),))

    spec: Annotated[ClusterSpec, about(required=False)]
    status: Annotated[ClusterStatus | None, about()] = None
