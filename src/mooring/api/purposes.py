"""Purpose and TraitEquivalence: what the platform's owner tells scheduling."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from mooring.api.clusters import KubernetesConfig, PurposeName, Tenancy
from mooring.api.kinds import AGE_COLUMN, CLUSTERS_GROUP, EMPTY, Api, Column, Kind, Part
from mooring.api.references import LocalReference, Name, NamespaceName
from mooring.api.schema import About, Rule, about
from mooring.api.selectors import SELECTOR_RULES, LabelSelector
from mooring.api.traits import TraitName, Wishes


class Strategy(StrEnum):
    """How one of several fitting shared clusters is chosen."""

    BALANCED = "Balanced"  # the one with the fewest requests
    SIMPLE = "Simple"  # the first
    RANDOM = "Random"
    PACKED = "Packed"  # the fullest that still has a seat


class TemplateMetadata(Part, frozen=True, kw_only=True):
    """What new clusters are called, where they are, and how they are marked."""

    name: Annotated[
        str,
        about("Name of the new cluster, where one cluster serves all requests of the purpose.", max_length=63),
    ] = ""
    generate_name: Annotated[
        str,
        about(
            "What the names of new clusters begin with. Absent: the name of the purpose and a hyphen.", max_length=55
        ),
    ] = ""
    namespace: Annotated[
        NamespaceName, about("Where new clusters are put. Absent: in the namespace of the request.")
    ] = ""
    labels: Annotated[Mapping[str, str], about("Labels of new clusters.")] = EMPTY
    annotations: Annotated[Mapping[str, str], about("Annotations of new clusters.")] = EMPTY


class TemplateSpec(Part, frozen=True, kw_only=True):
    """The spec of new clusters. What is absent is chosen by scheduling."""

    profile: Annotated[Name, about("The ClusterProfile of new clusters. Absent: the best that fits the request.")] = ""
    tenancy: Annotated[
        Tenancy | None,
        about("""Whether new clusters may be shared. What dedicated says, here or in the request, counts over it."""),
    ] = None
    purposes: Annotated[
        tuple[PurposeName, ...], about("What new clusters are for, beside the purposes of the request.")
    ] = ()
    kubernetes: Annotated[KubernetesConfig, about()] = KubernetesConfig()
    cluster_configs: Annotated[
        tuple[LocalReference, ...], about("Configuration for new clusters, of a kind that their provider defines.")
    ] = ()


class ClusterTemplate(Part, frozen=True, kw_only=True):
    """What clusters look like that are made for a purpose."""

    metadata: Annotated[TemplateMetadata, about()] = TemplateMetadata()
    spec: Annotated[TemplateSpec, about()] = TemplateSpec()


class PurposeSpec(Part, frozen=True, kw_only=True):
    """What it means that a cluster is for this purpose."""

    ABOUT: ClassVar[About] = about(
        rules=(
            Rule(
                "!has(self.dedicated) || !self.dedicated || !has(self.tenancyCount) || self.tenancyCount == 0",
                "spec.tenancyCount must be 0 or absent if spec.dedicated is true: a dedicated cluster has one seat",
            ),
        )
    )

    dedicated: Annotated[
        bool | None,
        about("""Whether each request gets a cluster of its own. Absent: as the template's tenancy says, and without
        one, clusters are shared."""),
    ] = None
    traits: Annotated[Wishes, about("Traits that clusters for this purpose shall have.")] = ()
    tenancy_count: Annotated[
        int,
        about("How many requests may share a cluster. 0 or absent: any number.", format="int32", minimum=0),
    ] = 0
    selector: Annotated[
        LabelSelector | None,
        about("Which of the existing clusters may be shared. Absent: all that fit.", rules=SELECTOR_RULES),
    ] = None
    template: Annotated[ClusterTemplate | None, about()] = None
    strategy: Annotated[
        Strategy | None,
        about("""How one of several fitting clusters is chosen: Balanced takes the one with the fewest requests, Packed
        the fullest that has a seat, Simple the first, Random any."""),
    ] = None
    warm: Annotated[
        int,
        about(
            """How many clusters for this purpose are kept ready before anybody asks for them. A request that fits
            takes one, and another is made.""",
            format="int32",
            minimum=0,
            maximum=1000,
        ),
    ] = 0


class Purpose(Kind, frozen=True, kw_only=True):
    """What clusters are for. A ClusterRequest names purposes; each brings traits and says whether to share."""

    API: ClassVar[Api] = Api(
        group=CLUSTERS_GROUP,
        kind="Purpose",
        plural="purposes",
        namespaced=False,
        columns=(
            Column(name="Dedicated", path=".spec.dedicated", type="boolean"),
            Column(name="Seats", path=".spec.tenancyCount", type="integer"),
            Column(name="Warm", path=".spec.warm", type="integer"),
            Column(name="Profile", path=".spec.template.spec.profile", priority=1),
            Column(name="Strategy", path=".spec.strategy", priority=1),
            AGE_COLUMN,
        ),
    )

    spec: Annotated[PurposeSpec, about()]


class TraitEquivalenceSpec(Part, frozen=True, kw_only=True):
    """Which traits mean the same."""

    traits: Annotated[
        tuple[TraitName, ...],
        about(
            """Names of one and the same trait. Who asks for one of them is content with any. Equivalences that share a
            name belong together.""",
            min_items=2,
            max_items=64,
            list_type="set",
        ),
    ]


class TraitEquivalence(Kind, frozen=True, kw_only=True):
    """Says that several traits, named by different providers, mean the same."""

    API: ClassVar[Api] = Api(
        group=CLUSTERS_GROUP,
        kind="TraitEquivalence",
        plural="traitequivalences",
        namespaced=False,
        short_names=("teq",),
        columns=(Column(name="Traits", path=".spec.traits"), AGE_COLUMN),
    )

    spec: Annotated[TraitEquivalenceSpec, about()]
