"""Objects for the tests of the decision, as short as a sentence: they never see a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mooring.api.clusters import (
    Cluster,
    ClusterProfile,
    ClusterProfileSpec,
    ClusterSpec,
    ClusterStatus,
    KubernetesConfig,
    SupportedVersion,
    Tenancy,
)
from mooring.api.conditions import Condition, Truth
from mooring.api.kinds import Metadata
from mooring.api.marks import KUBERNETES_VERSION_LABEL, WARM_LABEL, claim_of
from mooring.api.providers import ClusterProvider, ClusterProviderSpec
from mooring.api.purposes import (
    ClusterTemplate,
    Purpose,
    PurposeSpec,
    TemplateMetadata,
    TemplateSpec,
    TraitEquivalence,
    TraitEquivalenceSpec,
)
from mooring.api.references import LocalReference
from mooring.api.requests import ClusterRequest, ClusterRequestSpec, RequestedKubernetes
from mooring.api.selectors import LabelSelector
from mooring.api.traits import SupportedTrait, TraitWish
from mooring.scheduling.asking import Ask
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION, Configuration
from mooring.scheduling.fleet import Fleet

HERE = "team"


def wish(trait: str = "", **fields: Any) -> TraitWish:
    return TraitWish(trait=trait, **fields)


def wishes(*traits: str) -> tuple[TraitWish, ...]:
    """Required traits; ``?`` in front makes one optional, ``!`` negated."""
    return tuple(wish(one.lstrip("?!"), optional="?" in one, negated="!" in one) for one in traits)


def a_request(
    *purposes: str,
    name: str = "mine",
    namespace: str = HERE,
    uid: str | None = None,
    version: str = "",
    dedicated: bool | None = None,
    traits: Iterable[TraitWish] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> ClusterRequest:
    metadata = Metadata(
        name=name,
        namespace=namespace,
        uid=f"uid-{namespace}-{name}" if uid is None else uid,
        labels=labels or {},
        annotations=annotations or {},
    )
    given: dict[str, Any] = {"purpose": purposes[0]} if len(purposes) == 1 else {"purposes": purposes}
    spec = ClusterRequestSpec(
        **given, kubernetes=RequestedKubernetes(version=version), dedicated=dedicated, traits=tuple(traits)
    )
    return ClusterRequest(metadata=metadata, spec=spec)


def a_purpose(name: str, **spec: Any) -> Purpose:
    return Purpose(metadata=Metadata(name=name), spec=PurposeSpec(**spec))


def a_template(
    *,
    profile: str = "",
    version: str = "",
    tenancy: Tenancy | None = None,
    purposes: tuple[str, ...] = (),
    **names: Any,
) -> ClusterTemplate:
    """``names``: name, generate_name, namespace, labels, annotations."""
    kubernetes = KubernetesConfig(version=version)
    spec = TemplateSpec(profile=profile, tenancy=tenancy, purposes=purposes, kubernetes=kubernetes)
    return ClusterTemplate(metadata=TemplateMetadata(**names), spec=spec)


def a_selector(**labels: str) -> LabelSelector:
    return LabelSelector(match_labels=labels)


def a_profile(
    name: str,
    *versions: str,
    traits: Iterable[str] = (),
    provider: str = "local",
    max_clusters: int = 0,
) -> ClusterProfile:
    """Versions that end in ``~`` are deprecated."""
    spec = ClusterProfileSpec(
        provider_ref=LocalReference(name=provider),
        provider_config_ref=LocalReference(name=name),
        supported_versions=tuple(
            SupportedVersion(version=one.rstrip("~"), deprecated=one.endswith("~")) for one in versions
        ),
        supported_traits=tuple(SupportedTrait(trait=one) for one in traits),
        max_clusters=max_clusters,
    )
    return ClusterProfile(metadata=Metadata(name=name), spec=spec)


def a_provider(name: str, *, deleting: bool = False) -> ClusterProvider:
    metadata = Metadata(name=name, deletion_timestamp="2026-01-01T00:00:00Z" if deleting else "")
    return ClusterProvider(metadata=metadata, spec=ClusterProviderSpec(image="example/provider:1"))


def an_equivalence(*traits: str) -> TraitEquivalence:
    return TraitEquivalence(metadata=Metadata(name=traits[0]), spec=TraitEquivalenceSpec(traits=traits))


def a_cluster(
    name: str,
    *purposes: str,
    namespace: str = HERE,
    profile: str = "plain",
    tenancy: Tenancy = Tenancy.SHARED,
    claims: Iterable[str] | int = (),
    version: str = "",
    running: str = "",
    ready: Truth | None = None,
    warm: str = "",
    labels: Mapping[str, str] | None = None,
    deleting: bool = False,
) -> Cluster:
    uids = [f"other-{one}" for one in range(claims)] if isinstance(claims, int) else claims
    marks = {KUBERNETES_VERSION_LABEL: running, WARM_LABEL: warm}
    metadata = Metadata(
        name=name,
        namespace=namespace,
        uid=f"uid-of-{name}",
        labels={key: value for key, value in marks.items() if value} | dict(labels or {}),
        finalizers=tuple(map(claim_of, uids)),
        deletion_timestamp="2026-01-01T00:00:00Z" if deleting else "",
    )
    spec = ClusterSpec(
        profile=profile, tenancy=tenancy, purposes=purposes, kubernetes=KubernetesConfig(version=version)
    )
    return Cluster(metadata=metadata, spec=spec, status=None if ready is None else _status(ready))


def _status(ready: Truth) -> ClusterStatus:
    condition = Condition(type="Ready", status=ready, last_transition_time="", reason="Said", message="")
    return ClusterStatus(observed_generation=1, phase="", conditions=(condition,))


def a_catalogue(
    *objects: Purpose | ClusterProfile | TraitEquivalence | ClusterProvider,
    configuration: Configuration = DEFAULT_CONFIGURATION,
) -> Catalogue:
    return Catalogue(
        purposes=[one for one in objects if isinstance(one, Purpose)],
        profiles=[one for one in objects if isinstance(one, ClusterProfile)],
        equivalences=[one for one in objects if isinstance(one, TraitEquivalence)],
        providers=[one for one in objects if isinstance(one, ClusterProvider)],
        configuration=configuration,
    )


def a_fleet(catalogue: Catalogue, *clusters: Cluster) -> Fleet:
    """The clusters, sorted by what the catalogue's selectors look at."""
    return Fleet.of(clusters, labels=catalogue.labels, by_namespace=catalogue.by_namespace)


def ask_of(catalogue: Catalogue, request: ClusterRequest) -> Ask:
    ask = catalogue.ask(request.spec)
    assert isinstance(ask, Ask), ask
    return ask
