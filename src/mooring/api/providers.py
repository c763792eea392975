"""ClusterProvider: a program that makes clusters, how it is run, and what it offers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from mooring.api.clusters import SupportedVersion
from mooring.api.conditions import Conditions
from mooring.api.kinds import AGE_COLUMN, PLATFORM_GROUP, READY_COLUMN, Api, Column, Kind, Part
from mooring.api.pods import EnvironmentVariable, TopologySpreadConstraint, Volume, VolumeMount
from mooring.api.rbac import PolicyRule
from mooring.api.references import LocalReference, Name, ObjectReference, Time
from mooring.api.schema import about
from mooring.api.traits import SupportedTrait


class ProviderPhase(StrEnum):
    """The phases of a provider that Mooring writes. Foreign controllers may write others."""

    PROGRESSING = "Progressing"
    READY = "Ready"
    UNINSTALLING = "Uninstalling"


class Verbosity(StrEnum):
    """How much a provider logs. Both spellings are upstream's."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    ERROR = "ERROR"
    LOWER_DEBUG = "debug"
    LOWER_INFO = "info"
    LOWER_ERROR = "error"


class MetricsConfig(Part, frozen=True, kw_only=True):
    """Where the provider serves its metrics."""

    disabled: Annotated[bool, about("If true, no metrics are served.", default=False, required=True)] = False
    path: Annotated[str, about("The path of the metrics. Absent: /metrics.")] = ""
    port: Annotated[int | None, about("The port of the metrics. Absent: 8080.", format="int32")] = None


class ProviderRights(Part, frozen=True, kw_only=True):
    """What the provider's program may do on the platform, cluster-wide, in the terms of RBAC."""

    init: Annotated[tuple[PolicyRule, ...], about("What the init command may do.", max_items=256)] = ()
    run: Annotated[tuple[PolicyRule, ...], about("What the run command may do.", max_items=256)] = ()


class ClusterProviderSpec(Part, frozen=True, kw_only=True):
    """How the provider is run."""

    image: Annotated[str, about("The container image of the provider.", min_length=1, max_length=4096)]
    image_pull_secrets: Annotated[tuple[LocalReference, ...], about("Secrets that the image is pulled with.")] = ()
    init_command: Annotated[
        tuple[str, ...], about("What runs once before the provider does, and after each change. Absent: init.")
    ] = ()
    run_command: Annotated[tuple[str, ...], about("What runs the provider. Absent: run.")] = ()
    env: Annotated[
        tuple[EnvironmentVariable, ...],
        about("Variables in the environment of both commands.", list_type="map", list_map_keys=("name",)),
    ] = ()
    verbosity: Annotated[Verbosity, about("How much the provider logs.", default="INFO")] = Verbosity.INFO
    run_replicas: Annotated[
        int,
        about(
            "How many replicas of the provider run. With more than one, they elect a leader.",
            format="int32",
            minimum=1,
            default=1,
        ),
    ] = 1
    extra_volumes: Annotated[
        tuple[Volume, ...],
        about("Volumes of the provider's pods.", list_type="map", list_map_keys=("name",)),
    ] = ()
    extra_volume_mounts: Annotated[
        tuple[VolumeMount, ...],
        about("Where the volumes are seen in the containers.", list_type="map", list_map_keys=("mountPath",)),
    ] = ()
    topology_spread_constraints: Annotated[
        tuple[TopologySpreadConstraint, ...],
        about("How the replicas are spread.", list_type="map", list_map_keys=("topologyKey",)),
    ] = ()
    metrics: Annotated[MetricsConfig | None, about()] = None
    rights: Annotated[
        ProviderRights | None,
        about("""What the provider may do, and no more. Absent: what its program declares, where that is known, and
        everything otherwise, as its author may expect."""),
    ] = None


class OfferedProfile(Part, frozen=True, kw_only=True):
    """A profile that the provider offers, in short. The ClusterProfile of this name is what counts."""

    name: Annotated[Name, about("Name of the profile.")]
    provider_config_ref: Annotated[LocalReference, about("The configuration that the profile stands for.")] = (
        LocalReference()
    )
    supported_versions: Annotated[
        tuple[SupportedVersion, ...], about("The versions of Kubernetes that its clusters can have.")
    ] = ()
    supported_traits: Annotated[
        tuple[SupportedTrait, ...], about("The traits that its clusters have.", max_items=256)
    ] = ()


class MetricsStatus(Part, frozen=True, kw_only=True):
    """Where the metrics can be had."""

    service_ref: Annotated[ObjectReference, about("The Service that the metrics are behind.")]


class ClusterProviderStatus(Part, frozen=True, kw_only=True):
    """How the provider is, and what it offers."""

    observed_generation: Annotated[int, about("The metadata.generation that this status speaks of.", format="int64")]
    phase: Annotated[str, about("A summary for people: Progressing, Ready or Uninstalling.", max_length=1024)] = ""
    ready: Annotated[bool, about("Whether the provider is at work.")] = False
    reason: Annotated[str, about("Why, as one CamelCase word for programs.", max_length=1024)] = ""
    message: Annotated[str, about("Why, in words for people.", max_length=32_768)] = ""
    last_reconcile_time: Annotated[Time, about("When this status last changed.")] = ""
    conditions: Conditions = ()
    profiles: Annotated[
        tuple[OfferedProfile, ...],
        about("What the provider offers.", max_items=512, list_type="map", list_map_keys=("name",)),
    ] = ()
    metrics: Annotated[MetricsStatus | None, about()] = None


class ClusterProvider(Kind, frozen=True, kw_only=True):
    """A provider of clusters: a program that makes clusters of the profiles it publishes."""

    API: ClassVar[Api] = Api(
        group=PLATFORM_GROUP,
        kind="ClusterProvider",
        plural="clusterproviders",
        namespaced=False,
        columns=(
            Column(name="Phase", path=".status.phase"),
            READY_COLUMN,
            Column(name="Image", path=".spec.image", priority=1),
            AGE_COLUMN,
        ),
        selectable_fields=(".status.phase",),
        has_status=True,
    )

    spec: Annotated[ClusterProviderSpec, about(required=False)]
    status: Annotated[ClusterProviderStatus | None, about()] = None
