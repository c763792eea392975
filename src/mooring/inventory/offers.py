"""What can be had: profiles in rows, and the providers behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mooring.api.clusters import Cluster, ClusterProfile, SupportedVersion
from mooring.api.conditions import READY, Truth, found
from mooring.api.marks import PROVIDER_LABEL
from mooring.api.providers import ClusterProvider, ProviderPhase
from mooring.api.versions import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A version that a profile offers."""

    version: str
    deprecated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """A profile at a glance."""

    name: str
    provider: str
    config: str
    versions: tuple[Offered, ...]  # the newest first
    traits: tuple[str, ...]
    clusters: int | None  # None if clusters could not be read
    max_clusters: int  # 0: any number
    created: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """A provider at a glance. One that nobody declared, and that only publishes profiles, has no more than those."""

    name: str
    declared: bool  # whether there is a ClusterProvider
    phase: str
    ready: str
    reason: str
    message: str
    image: str
    profiles: tuple[str, ...]
    clusters: int | None  # None if clusters could not be read
    created: str


def profile_rows(profiles: Iterable[ClusterProfile], clusters: Iterable[Cluster] | None) -> list[ProfileRow]:
    """All profiles, by name, with how many clusters each of them has made."""
    made = None if clusters is None else Counter(one.spec.profile for one in clusters)
    return [
        ProfileRow(
            name=one.metadata.name,
            provider=one.spec.provider_ref.name,
            config=one.spec.provider_config_ref.name,
            versions=_newest_first(one.spec.supported_versions),
            traits=tuple(sorted(trait.key for trait in one.spec.supported_traits)),
            clusters=None if made is None else made[one.metadata.name],
            max_clusters=one.spec.max_clusters,
            created=one.metadata.creation_timestamp,
        )
        for one in sorted(profiles, key=lambda one: one.metadata.name)
    ]


def _newest_first(versions: Iterable[SupportedVersion]) -> tuple[Offered, ...]:
    """Those that cannot be read as a version come last, as they are."""
    readable, others = [], []
    for one in versions:
        offered = Offered(version=one.version, deprecated=one.deprecated)
        try:
            readable.append((Version.parse(one.version), offered))
        except ValueError:
            others.append(offered)
    readable.sort(key=lambda pair: pair[0], reverse=True)
    return (*(offered for _, offered in readable), *others)


def provider_rows(
    providers: Iterable[ClusterProvider],
    profiles: Iterable[ClusterProfile],
    clusters: Iterable[Cluster] | None,
) -> list[ProviderRow]:
    """All providers by name: those that are declared, and those that only publish profiles."""
    offers: dict[str, list[str]] = {}
    for one in profiles:
        offers.setdefault(one.spec.provider_ref.name, []).append(one.metadata.name)
    declared = {one.metadata.name: one for one in providers}
    made = None if clusters is None else _made_by(clusters, offers)
    return [
        _provider_row(name, declared.get(name), sorted(offers.get(name, ())), None if made is None else made[name])
        for name in sorted(declared.keys() | offers.keys())
    ]


def _made_by(clusters: Iterable[Cluster], offers: dict[str, list[str]]) -> Counter[str]:
    """Of a cluster whose profile is gone, the label still tells who made it."""
    by_profile = {profile: provider for provider, names in offers.items() for profile in names}
    return Counter(by_profile.get(one.spec.profile) or one.metadata.labels.get(PROVIDER_LABEL, "") for one in clusters)


def _provider_row(
    name: str, provider: ClusterProvider | None, profiles: Sequence[str], clusters: int | None
) -> ProviderRow:
    metadata = provider.metadata if provider is not None else None
    status = provider.status if provider is not None else None
    leaving = metadata is not None and metadata.deleting
    return ProviderRow(
        name=name,
        declared=provider is not None,
        phase=str(ProviderPhase.UNINSTALLING) if leaving else status.phase if status is not None else "",
        ready=_ready(provider),
        reason=status.reason if status is not None else "",
        message=status.message if status is not None else "",
        image=provider.spec.image if provider is not None else "",
        profiles=tuple(profiles),
        clusters=clusters,
        created=metadata.creation_timestamp if metadata is not None else "",
    )


def _ready(provider: ClusterProvider | None) -> str:
    """As its condition says; controllers that write none have a field of their own."""
    if provider is None or provider.status is None:
        return ""
    condition = found(provider.status.conditions, READY)
    return str(condition.status if condition is not None else Truth.TRUE if provider.status.ready else Truth.FALSE)
