"""What would have to change for a request that was not granted.

Nothing here is canned: a change is proposed only after it was tried. A trait is left out of the request, a version is
changed, a purpose is dropped, and then it is planned again; what helps is told, the smallest change first.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from mooring.api.marks import RANDOMIZE_NAME_LABEL
from mooring.api.requests import ClusterRequest, ClusterRequestSpec
from mooring.api.versions import satisfies
from mooring.scheduling.asking import Ask, Unanswerable
from mooring.scheduling.candidates import is_full_up
from mooring.scheduling.catalogue import Catalogue, Offer, resolved
from mooring.scheduling.drafts import is_randomized, place_of
from mooring.scheduling.fleet import Fleet
from mooring.scheduling.plan import Make, Take, fit, plan
from mooring.scheduling.reasons import Reason
from mooring.scheduling.traits import REQUEST, Leaf, Source, Wanted, judged, purpose_source, told

_WAYS_AT_MOST = 4


class Who(StrEnum):
    """Who can do something about it."""

    REQUESTER = "requester"
    OWNER = "owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing that would help."""

    who: Who
    what: str


def remedies(request: ClusterRequest, refusal: Unanswerable, catalogue: Catalogue, fleet: Fleet) -> tuple[Remedy, ...]:
    """What would help against this refusal, the requester's own means first."""
    find = _BY_REASON.get(refusal.reason)
    found = [] if find is None else list(dict.fromkeys(find(request, catalogue, fleet)))
    found.sort(key=lambda one: list(Who).index(one.who))
    return tuple(found)


def _yours(what: str) -> Remedy:
    return Remedy(who=Who.REQUESTER, what=what)


def _owners(what: str) -> Remedy:
    return Remedy(who=Who.OWNER, what=what)


def _unknown_purpose(request: ClusterRequest, catalogue: Catalogue, _fleet: Fleet) -> Iterator[Remedy]:
    for name in request.spec.all_purposes:
        if name in catalogue.purposes:
            continue
        for near in difflib.get_close_matches(name, catalogue.purposes, n=1):
            yield _yours(f"Ask for the purpose {near}, if that is what was meant by {name}.")
        yield _owners(f"Create the Purpose {name}.")


def _missing_profile(request: ClusterRequest, catalogue: Catalogue, _fleet: Fleet) -> Iterator[Remedy]:
    ask = catalogue.ask(request.spec)
    if isinstance(ask, Unanswerable):
        return
    there = ", ".join(catalogue.offers) or "none yet"
    profile = ask.template.spec.profile
    for near in difflib.get_close_matches(profile, catalogue.offers, n=1):
        yield _owners(
            f"Write {near} instead of {profile} in spec.template.spec.profile of the Purpose {ask.template_of}."
        )
        return
    yield _owners(
        f"Change spec.template.spec.profile of the Purpose {ask.template_of} to a profile that exists: {there}."
    )


def _no_profiles(request: ClusterRequest, catalogue: Catalogue, fleet: Fleet) -> Iterator[Remedy]:
    for name in catalogue.silent_providers:
        yield _owners(f"See why the provider {name} has no profiles: 'kubectl describe clusterprovider {name}'.")
    if not catalogue.silent_providers:
        yield _owners("Start a provider of clusters: create its ClusterProvider, or publish a ClusterProfile.")
    yield from _no_fit(request, catalogue, fleet)


def _no_capacity(request: ClusterRequest, catalogue: Catalogue, fleet: Fleet) -> Iterator[Remedy]:
    ask = catalogue.ask(request.spec)
    if isinstance(ask, Unanswerable):
        return
    for one in catalogue.ranking(ask).suitable:
        if is_full_up(one, fleet):
            there = fleet.made_by(one.offer.name)
            yield _owners(
                f"Raise spec.maxClusters of the ClusterProfile {one.offer.name} to {there + 1} or more "
                f"(it is {one.offer.max_clusters}), or give back a cluster of it."
            )
    limits = [(name, catalogue.purposes[name].tenancy_count) for name in ask.purposes]
    if not ask.dedicated and any(limit for _, limit in limits) and _is_full_house(ask, catalogue, fleet):
        names = " and ".join(f"{name} (it is {limit})" for name, limit in limits if limit)
        yield _owners(f"Raise spec.tenancyCount of the Purpose {names}: clusters that suit have no seat left.")
    yield from _shared_instead(request, catalogue, fleet)


def _is_full_house(ask: Ask, catalogue: Catalogue, fleet: Fleet) -> bool:
    """Whether there are clusters that suit, so that seats are what is missing."""
    return any(not fit(ask, sort, catalogue).misfit and rack for sort, rack in fleet.racks(ask.purposes[0]).items())


def _shared_instead(request: ClusterRequest, catalogue: Catalogue, fleet: Fleet) -> Iterator[Remedy]:
    ask = catalogue.ask(request.spec)
    if isinstance(ask, Ask) and ask.dedicated:
        answer = plan(_respecified(request, msgspec.structs.replace(request.spec, dedicated=False)), catalogue, fleet)
        if isinstance(answer, Take):
            yield _yours(f"Ask with spec.dedicated: false, and share the cluster {answer.cluster}.")


def _clash(request: ClusterRequest, catalogue: Catalogue, fleet: Fleet) -> Iterator[Remedy]:
    purposes = request.spec.all_purposes
    for name in purposes:
        rest = tuple(one for one in purposes if one != name)
        if rest and _granted(
            request, msgspec.structs.replace(request.spec, purpose="", purposes=rest), catalogue, fleet
        ):
            yield _yours(f"Ask for {' and '.join(rest)} here, and for {name} in a request of its own.")
    yield _owners(f"Let the templates of the Purposes {' and '.join(purposes)} agree, or drop what they differ in.")


def _name_is_taken(request: ClusterRequest, catalogue: Catalogue, _fleet: Fleet) -> Iterator[Remedy]:
    ask = catalogue.ask(request.spec)
    place = None if isinstance(ask, Unanswerable) else place_of(request, ask)
    if isinstance(ask, Unanswerable) or isinstance(place, Unanswerable) or place is None:
        return
    hashed = ask.dedicated or ask.seats or ask.template.metadata.generate_name
    if hashed and not is_randomized(request.metadata.labels):
        yield _yours(f'Create the request anew with the label {RANDOMIZE_NAME_LABEL}: "true", or under another name.')
    purpose = ask.template_of or ask.purposes[0]
    if not hashed:
        yield _owners(f"Set spec.template.metadata.generateName of the Purpose {purpose}, so that names differ.")
    yield _owners(f"Delete the cluster {place}, if nobody needs it.")


def _leaving(request: ClusterRequest, catalogue: Catalogue, _fleet: Fleet) -> Iterator[Remedy]:
    ask = catalogue.ask(request.spec)
    place = None if isinstance(ask, Unanswerable) else place_of(request, ask)
    if place is not None and not isinstance(place, Unanswerable):
        yield _yours(f"Wait until the cluster {place} is gone; 'kubectl describe cluster' tells what holds it.")


# -- nothing fits ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Way:
    """What would have to change for one profile to fit."""

    offer: Offer
    traits: tuple[Wanted, ...]
    version: str  # that would have to be asked for instead; empty if the one that is asked for will do
    profile: str  # that the template would have to let go of

    @property
    def length(self) -> int:
        return len(self.traits) + bool(self.version) + bool(self.profile)


def _no_fit(request: ClusterRequest, catalogue: Catalogue, fleet: Fleet) -> Iterator[Remedy]:
    ask = catalogue.ask(request.spec)
    if isinstance(ask, Unanswerable):
        return
    ways = [way for one in catalogue.ranking(ask).unsuitable if (way := _way(ask, one.offer)) is not None]
    length = min((way.length for way in ways), default=0)
    shortest = [way for way in ways if way.length == length]
    for same in _together(shortest)[:_WAYS_AT_MOST]:
        yield _told_way(request, ask, same, catalogue)
    # Who has nothing but traits against it would be helped by a profile that has them.
    for way in [one for one in shortest if one.traits and not one.profile][:1]:
        missing = [one for one in way.traits if isinstance(one, Leaf) and not one.negated]
        if len(missing) == len(way.traits):
            traits = " and ".join(one.spelled[0] for one in missing)
            yield _owners(f"Offer a profile that is like {way.offer.name} and has {traits} as well.")


def _together(ways: Sequence[_Way]) -> list[list[_Way]]:
    """Profiles that need the same change, side by side."""
    groups: dict[object, list[_Way]] = {}
    for way in ways:
        groups.setdefault((way.traits, way.version, way.profile), []).append(way)
    return list(groups.values())


def _way(ask: Ask, offer: Offer) -> _Way | None:
    wanted_profile = ask.template.spec.profile
    unmet = judged(ask.wanted, offer.traits).unmet
    version = ""
    if resolved(ask.new_version, offer) is None:
        version = _other_version(ask.new_version, offer)
        if not version:
            return None
    return _Way(offer, unmet, version, wanted_profile if wanted_profile not in ("", offer.name) else "")


def _other_version(wanted: str, offer: Offer) -> str:
    """What to ask for instead: a deprecated one that satisfies, in full; else the newest."""
    fitting = [version for version, _ in offer.versions if wanted and satisfies(wanted, version)]
    current = [version for version, deprecated in offer.versions if not deprecated]
    return next(iter(fitting or current or [version for version, _ in offer.versions]), "")


def _told_way(request: ClusterRequest, ask: Ask, same: Sequence[_Way], catalogue: Catalogue) -> Remedy:
    way = same[0]
    insisting = [_insisting(request, ask, one, catalogue) for one in way.traits]
    changes = [
        f"without {told(one)} (required by {' and '.join(sources)})"
        for one, sources in zip(way.traits, insisting, strict=True)
    ]
    by_owner = bool(way.profile) or any(sources != [REQUEST] for sources in insisting)
    if way.version:
        changes.append(f"with version {way.version}" + (f" instead of {ask.new_version}" if ask.new_version else ""))
        by_owner = by_owner or bool(ask.new_version and not ask.version)
    if way.profile:
        changes.append(f"without the profile {way.profile} in the template of the Purpose {ask.template_of}")
    names = " and ".join(one.offer.name for one in same)
    text = f"{' and '.join(changes)}, the profile{'s' if len(same) > 1 else ''} {names} would do."
    return (_owners if by_owner else _yours)(text[0].upper() + text[1:])


def _insisting(request: ClusterRequest, ask: Ask, wanted: Wanted, catalogue: Catalogue) -> list[Source]:
    """Who requires it: one who only prefers it need not be asked to let it go."""
    if not isinstance(wanted, Leaf):
        return [wanted.source]
    said = [(REQUEST, request.spec.traits)]
    said += [(purpose_source(name), catalogue.purposes[name].traits) for name in ask.purposes]
    return [
        source
        for source, wishes in said
        if any(not one.optional and catalogue.equivalences.canonical(one.key) == wanted.trait for one in wishes)
    ]


def _granted(request: ClusterRequest, spec: ClusterRequestSpec, catalogue: Catalogue, fleet: Fleet) -> bool:
    return isinstance(plan(_respecified(request, spec), catalogue, fleet), Take | Make)


def _respecified(request: ClusterRequest, spec: ClusterRequestSpec) -> ClusterRequest:
    return msgspec.structs.replace(request, spec=spec)


_BY_REASON: dict[Reason, Callable[[ClusterRequest, Catalogue, Fleet], Iterator[Remedy]]] = {
    Reason.PURPOSE_NOT_FOUND: _unknown_purpose,
    Reason.PROFILE_NOT_FOUND: _missing_profile,
    Reason.NO_PROFILES_YET: _no_profiles,
    Reason.NO_CAPACITY: _no_capacity,
    Reason.PURPOSES_CLASH: _clash,
    Reason.CLUSTER_CONFLICT: _name_is_taken,
    Reason.CLUSTER_TERMINATING: _leaving,
    Reason.NO_FITTING_PROFILE: _no_fit,
}
