"""Everything that could have been the answer, each with the one reason why it was, or was not.

Clusters can be many. Those that matter (held, taken, fitting) are told of first and one by one; of the others only as
many as a person reads, and the rest is counted by reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from mooring.api.clusters import Cluster
from mooring.api.purposes import Strategy
from mooring.api.requests import ClusterRequest
from mooring.kube import ObjectKey, key_of
from mooring.scheduling.asking import Ask, Fit
from mooring.scheduling.catalogue import Catalogue, Suitable, Unsuitable
from mooring.scheduling.fleet import Fleet, Sort
from mooring.scheduling.plan import fit, serving

CANDIDATES_AT_MOST = 12


class Verdict(StrEnum):
    HELD = "Held"
    TAKEN = "Taken"
    FITS = "Fits"  # and another was preferred
    PASSED_OVER = "PassedOver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A cluster that exists."""

    cluster: str
    verdict: Verdict
    why: str
    profile: str
    version: str
    taken: int
    seats: int  # 0 for any number, or if that does not matter any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """Clusters that are not told of one by one."""

    count: int
    why: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileJudgement:
    """A profile that a new cluster could have, or could not."""

    profile: str
    provider: str
    rank: int  # 1 for the best; 0 if it does not fit
    version: str
    score: int  # optional traits that it has
    chosen: bool
    why: str


@dataclass(frozen=True, slots=True)
class _Seen:
    """A cluster under judgement."""

    key: ObjectKey
    cluster: Cluster
    sort: Sort | None
    taken: int
    suits: Fit


def judged_clusters(
    request: ClusterRequest,
    ask: Ask,
    catalogue: Catalogue,
    fleet: Fleet,
    *,
    taken: ObjectKey | None,
    held: bool,
    at_most: int = CANDIDATES_AT_MOST,
) -> tuple[tuple[Candidate, ...], tuple[Others, ...]]:
    """All clusters, judged; ``taken`` is the one that was decided on, and ``held`` whether that is history."""
    namespace = serving(request, ask) if catalogue.by_namespace else ""
    seen = [_seen(ask, catalogue, fleet, one) for one in fleet]
    best = next((one for one in seen if one.key == taken), None)
    found = [_candidate(ask, one, namespace, best=best, held=held) for one in seen]
    found.sort(key=lambda one: (list(Verdict).index(one.verdict), one.cluster))
    fitting = sum(one.verdict is not Verdict.PASSED_OVER for one in found)
    # A handful of reasons is worth more than twelve times the same one: if not all can be told of, they are counted.
    single = min(fitting, at_most) if len(found) > at_most else len(found)
    return tuple(found[:single]), tuple(_counted(found[single:]))


def _seen(ask: Ask, catalogue: Catalogue, fleet: Fleet, cluster: Cluster) -> _Seen:
    key = key_of(cluster)
    sort = fleet.sort_of(key)
    suits = Fit("it is being deleted") if sort is None else fit(ask, sort, catalogue)
    return _Seen(key, cluster, sort, fleet.taken(key), suits)


def _candidate(ask: Ask, one: _Seen, namespace: str, *, best: _Seen | None, held: bool) -> Candidate:
    verdict, why = _verdict(ask, one, namespace, best=best, held=held)
    return Candidate(
        cluster=str(one.key),
        verdict=verdict,
        why=why,
        profile=one.cluster.spec.profile,
        version=one.sort.version if one.sort is not None else one.cluster.spec.kubernetes.version,
        taken=one.taken,
        seats=one.suits.seats,
    )


def _verdict(ask: Ask, one: _Seen, namespace: str, *, best: _Seen | None, held: bool) -> tuple[Verdict, str]:
    if best is not None and one.key == best.key:
        return (Verdict.HELD, "the request holds it") if held else (Verdict.TAKEN, _why_taken(ask, one))
    if one.suits.misfit:
        return Verdict.PASSED_OVER, one.suits.misfit
    if one.sort is not None and one.sort.namespace != namespace:
        return Verdict.PASSED_OVER, f"it serves requests of the namespace {one.sort.namespace} only"
    if one.suits.seats and one.taken >= one.suits.seats:
        seats = one.suits.seats
        return Verdict.PASSED_OVER, "its only seat is taken" if seats == 1 else f"all its {seats} seats are taken"
    if best is None:
        return Verdict.FITS, "it would fit"
    return Verdict.FITS, "it would fit as well" if held else _why_not_preferred(ask, one, best)


def _why_taken(ask: Ask, one: _Seen) -> str:
    if one.suits.misfit or one.sort is None:
        return "it has the name of the new cluster, and nobody holds it"
    if one.sort.warm:
        return f"it is kept ready for {one.sort.warm}"
    return _STRATEGY_WORDS[ask.strategy]


_STRATEGY_WORDS = {
    Strategy.BALANCED: "Balanced: of those that fit, it has the fewest requests",
    Strategy.PACKED: "Packed: it is the fullest that still has a seat",
    Strategy.SIMPLE: "Simple: it is the first that fits",
    Strategy.RANDOM: "Random: it was drawn from those that fit",
}


def _why_not_preferred(ask: Ask, one: _Seen, best: _Seen) -> str:
    """In the order in which ``plan`` looks at it."""
    if best.sort is None or one.sort is None:
        return "it fits, and another was preferred"
    if one.sort.warm and not best.sort.warm:
        return "it is kept ready, and a seat in a cluster that is in use comes first"
    if best.sort.healthy and not one.sort.healthy:
        return "it fits, and is not healthy while another is"
    if one.suits.score < best.suits.score:
        return f"it fits, with fewer of the optional traits ({one.suits.score} instead of {best.suits.score})"
    return f"it fits, and {ask.strategy} preferred {best.key}"


def _counted(found: list[Candidate]) -> Iterator[Others]:
    by_reason: dict[str, list[Candidate]] = {}
    for one in found:
        by_reason.setdefault(one.why, []).append(one)
    for why, some in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        yield Others(count=len(some), why=why, example=some[0].cluster)


def judged_profiles(ask: Ask, catalogue: Catalogue, fleet: Fleet, *, made: bool) -> tuple[ProfileJudgement, ...]:
    """All profiles, the best first; ``made`` if a new cluster is what was decided on."""
    ranking = catalogue.ranking(ask)
    judgements: list[ProfileJudgement] = []
    chosen = False
    for rank, one in enumerate(ranking.suitable, start=1):
        full = is_full_up(one, fleet)
        choose = made and not full and not chosen
        judgements.append(_suitable(one, rank, full=full, chosen=choose, after=chosen, fleet=fleet))
        chosen = chosen or choose
    return (*judgements, *(_unsuitable(one) for one in ranking.unsuitable))


def is_full_up(one: Suitable, fleet: Fleet) -> bool:
    """Whether the profile fits and may have no further cluster."""
    return bool(one.offer.max_clusters) and fleet.made_by(one.offer.name) >= one.offer.max_clusters


def _suitable(one: Suitable, rank: int, *, full: bool, chosen: bool, after: bool, fleet: Fleet) -> ProfileJudgement:
    if full:
        why = f"it fits, and is full: {fleet.made_by(one.offer.name)} of {one.offer.max_clusters} clusters"
    elif chosen:
        why = "the best of those that fit"
    else:
        why = "it fits, and a better one was chosen" if after else "it fits"
    return ProfileJudgement(
        profile=one.offer.name,
        provider=one.offer.provider,
        rank=rank,
        version=one.version,
        score=one.score,
        chosen=chosen,
        why=why,
    )


def _unsuitable(one: Unsuitable) -> ProfileJudgement:
    return ProfileJudgement(
        profile=one.offer.name, provider=one.offer.provider, rank=0, version="", score=0, chosen=False, why=one.why
    )
