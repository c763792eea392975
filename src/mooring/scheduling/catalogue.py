"""What can be had: purposes, profiles, equivalences and configuration, as of one moment.

A catalogue never changes; when one of its sources does, another is made, and everything that was remembered goes with
the old one. It answers two questions: what a request asks for, and which profiles a new cluster for it could be made
by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mooring.api.clusters import ClusterProfile
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, PurposeSpec, TraitEquivalence
from mooring.api.requests import ClusterRequestSpec
from mooring.api.selectors import LabelSelector
from mooring.api.versions import Version, is_full, satisfies
from mooring.scheduling.asking import Ask, Unanswerable, asked
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION, Configuration, Scope
from mooring.scheduling.traits import Equivalences, judged, offered_by, told

_ASKS_AT_MOST = 10_000  # remembered at a time: requests are written by anybody


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A profile, in the form in which decisions read it."""

    name: str
    provider: str
    versions: tuple[tuple[str, bool], ...]  # newest first, each with whether it is deprecated
    traits: frozenset[str]  # canonical
    max_clusters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suitable:
    """A profile that could make what is asked for, and the version it would be (empty: the provider's choice)."""

    offer: Offer
    version: str
    score: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsuitable:
    """A profile that could not, and why."""

    offer: Offer
    why: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """All profiles there are, judged: the best first."""

    suitable: tuple[Suitable, ...]
    unsuitable: tuple[Unsuitable, ...]


class Catalogue:
    """Made from objects; asked by ``plan`` and by those who explain it."""

    def __init__(
        self,
        *,
        purposes: Iterable[Purpose] = (),
        profiles: Iterable[ClusterProfile] = (),
        equivalences: Iterable[TraitEquivalence] = (),
        providers: Iterable[ClusterProvider] = (),
        configuration: Configuration = DEFAULT_CONFIGURATION,
    ) -> None:
        self.configuration = configuration
        self.equivalences = Equivalences.of(one.spec.traits for one in equivalences)
        own = {one.metadata.name: one.spec for one in purposes}
        self.purposes: Mapping[str, PurposeSpec] = {**configuration.purposes, **own}
        self.offers: Mapping[str, Offer] = {
            one.metadata.name: self._offer(one) for one in sorted(profiles, key=lambda one: one.metadata.name)
        }
        published = {offer.provider for offer in self.offers.values()}
        named = {one.metadata.name for one in providers if not one.metadata.deleting}
        self.silent_providers: tuple[str, ...] = tuple(sorted(named - published))
        self._asks: dict[object, Ask | Unanswerable] = {}

    @property
    def by_namespace(self) -> bool:
        """Whether clusters serve only requests of one namespace."""
        return self.configuration.scope is Scope.NAMESPACED

    @property
    def labels(self) -> frozenset[str]:
        """The labels of clusters that some selector asks for."""
        selectors = [self.configuration.clusters, *(one.selector for one in self.purposes.values())]
        return frozenset(key for one in selectors if one is not None for key in _keys(one))

    def ask(self, spec: ClusterRequestSpec) -> Ask | Unanswerable:
        """What a request asks for; equal requests get the same object."""
        key = (spec.purpose, spec.purposes, spec.dedicated, spec.kubernetes.version, spec.traits)
        known = self._asks.get(key)
        if known is None:
            if len(self._asks) >= _ASKS_AT_MOST:
                self._asks.clear()
            known = self._asks[key] = asked(
                spec,
                self.purposes,
                self.equivalences,
                strategy=self.configuration.strategy,
                clusters=self.configuration.clusters,
            )
        return known

    def ranking(self, ask: Ask) -> Ranking:
        """All profiles, judged for a new cluster."""
        known = ask.remembered.get("ranking")
        if known is None:
            known = ask.remembered["ranking"] = self._ranked(ask)
        ranking: Ranking = known
        return ranking

    def traits_of(self, profile: str) -> frozenset[str]:
        """What clusters of this profile have; nothing, if there is no such profile (any more)."""
        offer = self.offers.get(profile)
        return frozenset() if offer is None else offer.traits

    def _offer(self, profile: ClusterProfile) -> Offer:
        spec = profile.spec
        versions = [one for one in spec.supported_versions if _readable(one.version)]
        versions.sort(key=lambda one: Version.parse(one.version), reverse=True)
        return Offer(
            name=profile.metadata.name,
            provider=spec.provider_ref.name,
            versions=tuple((one.version, one.deprecated) for one in versions),
            traits=offered_by((one.key for one in spec.supported_traits), self.equivalences),
            max_clusters=spec.max_clusters,
        )

    def _ranked(self, ask: Ask) -> Ranking:
        judged_offers = [self._judged(ask, offer) for offer in self.offers.values()]
        suitable = [one for one in judged_offers if isinstance(one, Suitable)]
        # Sorted from the last criterion to the first: sorting keeps the order of what is equal.
        suitable.sort(key=lambda one: one.offer.name)
        suitable.sort(key=lambda one: _newness(one.version), reverse=True)
        suitable.sort(key=lambda one: one.score, reverse=True)
        return Ranking(tuple(suitable), tuple(one for one in judged_offers if isinstance(one, Unsuitable)))

    def _judged(self, ask: Ask, offer: Offer) -> Suitable | Unsuitable:
        profile = ask.template.spec.profile
        if profile and offer.name != profile:
            return Unsuitable(offer=offer, why=f"the purpose {ask.template_of} wants the profile {profile}")
        verdict = judged(ask.wanted, offer.traits)
        if verdict.unmet:
            missing = " and ".join(told(one) for one in verdict.unmet)
            return Unsuitable(offer=offer, why=f"it does not satisfy the required traits: {missing}")
        version = resolved(ask.new_version, offer)
        if version is None:
            return Unsuitable(offer=offer, why=_no_version(ask.new_version, offer))
        return Suitable(offer=offer, version=version, score=verdict.score)


def resolved(wanted: str, offer: Offer) -> str | None:
    """The newest version that satisfies what is wanted; deprecated ones only if asked for in full. None: there is none.

    A profile that lists no versions leaves them to its provider: it takes any, as upstream's kind provider does.
    """
    if not offer.versions:
        return wanted if not wanted or is_full(wanted) else ""
    full = bool(wanted) and is_full(wanted)
    for version, deprecated in offer.versions:
        if satisfies(wanted, version) and (full or not deprecated):
            return version
    return None


def _no_version(wanted: str, offer: Offer) -> str:
    there = ", ".join(version + (" (deprecated)" if old else "") for version, old in offer.versions)
    if not wanted:
        return f"all its versions are deprecated ({there}); ask for one of them in full"
    if any(satisfies(wanted, version) for version, _ in offer.versions):
        return f"its versions {wanted} are deprecated ({there}); ask for one of them in full"
    return f"it has no version {wanted} (it has {there})"


def _newness(version: str) -> tuple[bool, Version | None]:
    return (True, Version.parse(version)) if version else (False, None)


def _readable(version: str) -> bool:
    try:
        Version.parse(version)
    except ValueError:
        return False
    return True


def _keys(selector: LabelSelector) -> Iterable[str]:
    yield from selector.match_labels
    for one in selector.match_expressions:
        yield one.key
