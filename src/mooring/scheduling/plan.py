"""The decision: which cluster a request gets. A function of values, without waiting, clock or chance.

The same function answers requests for real, in dry runs, in simulations and in the tests of its properties; whoever
wants to know *why* asks the functions that it is made of (``fit``, ``Catalogue.ranking``).

In this order: a seat in a cluster that is in use, a cluster that is kept ready, a new one on the best profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mooring.api.clusters import Cluster, Tenancy
from mooring.api.marks import RANDOMIZE_NAME_LABEL
from mooring.api.purposes import Strategy
from mooring.api.requests import ClusterRequest
from mooring.api.selectors import matches
from mooring.api.versions import satisfies
from mooring.kube import ObjectKey
from mooring.scheduling.asking import Ask, Fit, Unanswerable, smallest
from mooring.scheduling.catalogue import Catalogue, Suitable
from mooring.scheduling.drafts import drafted, names_are_counted, place_of
from mooring.scheduling.fleet import Fleet, Sort
from mooring.scheduling.racks import Rack
from mooring.scheduling.reasons import Reason
from mooring.scheduling.strategies import chosen
from mooring.scheduling.traits import judged, told

_REASONS_AT_MOST = 5  # profiles that a message tells about


@dataclass(frozen=True, slots=True)
class Take:
    """A seat in a cluster that exists; ``warm``: one that is kept ready, and is handed over."""

    cluster: ObjectKey
    warm: bool = False


@dataclass(frozen=True, slots=True)
class Make:
    """A new cluster."""

    cluster: Cluster
    chosen: Suitable


Decision = Take | Make | Unanswerable


def plan(request: ClusterRequest, catalogue: Catalogue, fleet: Fleet) -> Decision:
    """Decide. The request holds nothing yet."""
    ask = catalogue.ask(request.spec)
    if isinstance(ask, Unanswerable):
        return ask
    uid, namespace = request.metadata.uid, serving(request, ask)
    for warm in (False, True):
        for racks in suiting(ask, catalogue, fleet, namespace=namespace, warm=warm):
            # Of those that are kept ready, one that others are about to take is filled before the next is begun.
            found = chosen(Strategy.PACKED if warm else ask.strategy, racks, uid=uid)
            if found is not None:
                return Take(found, warm)
    return made(request, ask, catalogue, fleet)


def made(
    request: ClusterRequest, ask: Ask, catalogue: Catalogue, fleet: Fleet, *, place: ObjectKey | None = None
) -> Decision:
    """Decide on a new cluster; with ``place``, on one that was lost and comes back under its old name."""
    named = place or place_of(request, ask)
    if isinstance(named, Unanswerable):
        return named
    best = best_profile(ask, catalogue, fleet)
    there = fleet.get(named)
    if there is not None:
        answer = _occupied(ask, named, there, catalogue, fleet)
        if isinstance(answer, Unanswerable) and isinstance(best, Unanswerable) and best.final:
            return best  # what it would come to once the name is free
        return answer
    if isinstance(best, Unanswerable):
        return best
    # Demanded only if somebody asked for it. Else it is for whoever makes or owns the cluster, today and later.
    demanded = best.version if ask.new_version else ""
    draft = drafted(request, ask, place=named, profile=best.offer.name, version=demanded)
    return Make(draft, best)


def serving(request: ClusterRequest, ask: Ask) -> str:
    """The namespace that clusters for this request are in, where clusters serve one namespace only."""
    return ask.template.metadata.namespace or request.metadata.namespace


def suiting(
    ask: Ask, catalogue: Catalogue, fleet: Fleet, *, namespace: str, warm: bool
) -> Sequence[Sequence[tuple[Rack, int]]]:
    """Racks that suit, each with its seats, in groups: healthy ones first, then by optional traits.

    Found out anew only when a sort has come; a rack that has become empty does no harm.
    """
    if ask.dedicated and not warm:
        return ()
    where = namespace if catalogue.by_namespace else ""
    known = ask.remembered.get((where, warm))
    if known is None or known[0] is not fleet or known[1] != fleet.edition:
        known = ask.remembered[where, warm] = (fleet, fleet.edition, _grouped(ask, catalogue, fleet, where, warm))
    groups: Sequence[Sequence[tuple[Rack, int]]] = known[2]
    return groups


def _grouped(ask: Ask, catalogue: Catalogue, fleet: Fleet, namespace: str, warm: bool) -> list[list[tuple[Rack, int]]]:
    groups: dict[tuple[bool, int], list[tuple[Rack, int]]] = {}
    for sort, rack in fleet.racks(ask.purposes[0]).items():
        if bool(sort.warm) is warm and sort.namespace == namespace:
            suits = fit(ask, sort, catalogue)
            if not suits.misfit:
                groups.setdefault((not sort.healthy, -suits.score), []).append((rack, suits.seats))
    return [groups[rank] for rank in sorted(groups)]


def fit(ask: Ask, sort: Sort, catalogue: Catalogue) -> Fit:
    """How clusters of this sort suit: the one place that says so, for decisions and for their stories."""
    known = ask.fits.get(sort)
    if known is None:
        known = ask.fits[sort] = _fit(ask, sort, catalogue)
    return known


def _fit(ask: Ask, sort: Sort, catalogue: Catalogue) -> Fit:
    if ask.dedicated and not sort.warm:
        return Fit("the request wants a cluster of its own")
    if sort.tenancy is not ask.tenancy:
        return Fit(
            "it serves one request only"
            if sort.tenancy is Tenancy.EXCLUSIVE
            else "it may be shared, and the request wants a cluster of its own"
        )
    missing = [name for name in ask.purposes if name not in sort.purposes]
    if missing:
        return Fit(f"it is not meant for {' and '.join(missing)}")
    if not all(matches(selector, sort.labels) for selector in ask.selectors):
        return Fit("its labels do not match the selector of the purpose or of the configuration")
    verdict = judged(ask.wanted, catalogue.traits_of(sort.profile))
    if verdict.unmet:
        return Fit(f"its profile {sort.profile} does not satisfy {' and '.join(map(told, verdict.unmet))}")
    if not satisfies(ask.version, sort.version):
        return Fit(f"its version {sort.version or '(not known yet)'} is not {ask.version}")
    known = (catalogue.purposes[name].tenancy_count for name in sort.purposes if name in catalogue.purposes)
    return Fit(score=verdict.score, seats=1 if ask.dedicated else smallest((ask.seats, *known)))


def has_seat(ask: Ask, sort: Sort, catalogue: Catalogue, *, taken: int) -> bool:
    """Whether a cluster of this sort still suits, and has a seat beside those that are taken."""
    suits = fit(ask, sort, catalogue)
    return not suits.misfit and (not suits.seats or taken < suits.seats)


def best_profile(ask: Ask, catalogue: Catalogue, fleet: Fleet) -> Suitable | Unanswerable:
    """The profile of a new cluster: the best that has room."""
    ranking = catalogue.ranking(ask)
    full: list[str] = []
    for one in ranking.suitable:
        if not one.offer.max_clusters or fleet.made_by(one.offer.name) < one.offer.max_clusters:
            return one
        full.append(f"{one.offer.name} ({one.offer.max_clusters} of {one.offer.max_clusters})")
    if full:
        return Unanswerable(
            Reason.NO_CAPACITY,
            f"All profiles that fit are full: {', '.join(full)}. The request goes on when a cluster of them is given "
            f"back, or when the owner of the platform raises their limit.",
        )
    return _hopeless(ask, catalogue)


def _hopeless(ask: Ask, catalogue: Catalogue) -> Unanswerable:
    profile = ask.template.spec.profile
    if profile and profile not in catalogue.offers:
        return Unanswerable(
            Reason.PROFILE_NOT_FOUND,
            f"The purpose {ask.template_of} wants the profile {profile}, which does not exist. The request goes on as "
            f"soon as a provider publishes it.",
        )
    if catalogue.silent_providers:
        return Unanswerable(
            Reason.NO_PROFILES_YET,
            f"No profile fits, and the provider {catalogue.silent_providers[0]} has not published its profiles yet. "
            f"The request is planned again when it has.",
        )
    if not catalogue.offers:
        return Unanswerable(
            Reason.NO_PROFILES_YET,
            "There are no profiles yet: no provider of clusters is at work. The request is planned again when one is.",
        )
    unsuitable = catalogue.ranking(ask).unsuitable
    told_of = [f"{one.offer.name}: {one.why}" for one in unsuitable[:_REASONS_AT_MOST]]
    more = f"; and {len(unsuitable) - _REASONS_AT_MOST} more" if len(unsuitable) > _REASONS_AT_MOST else ""
    return Unanswerable(
        Reason.NO_FITTING_PROFILE,
        f"No profile of any provider can satisfy this request ({'; '.join(told_of)}{more}). Ask for less in a new "
        f"request; this one is planned again when profiles or purposes change.",
        final=True,
    )


def _occupied(ask: Ask, place: ObjectKey, there: Cluster, catalogue: Catalogue, fleet: Fleet) -> Decision:
    """The name that the new cluster would have is taken."""
    if there.metadata.deleting:
        return Unanswerable(
            Reason.CLUSTER_TERMINATING,
            f"The cluster {place}, whose name the new one will have, is still being deleted. The request goes on when "
            f"it is gone.",
        )
    sort = fleet.sort_of(place)
    if sort is not None and not fleet.taken(place):
        # Nobody's, and of just the form that we would make: a creation that was interrupted, or a person's offer.
        same = there.spec.tenancy is ask.tenancy and set(ask.purposes) <= set(there.spec.purposes)
        runs = not sort.version or satisfies(ask.version, sort.version)  # not known yet: its provider's choice
        if same and runs and not judged(ask.wanted, catalogue.traits_of(sort.profile)).unmet:
            return Take(place)
    return Unanswerable(
        Reason.CLUSTER_CONFLICT,
        f"The name {place} of the new cluster is taken by one that this request cannot have. {_another_name(ask)}",
    )


def _another_name(ask: Ask) -> str:
    owner = (
        f"the owner of the platform set spec.template.metadata.generateName of the purpose "
        f"{ask.template_of or ask.purposes[0]}."
    )
    if not names_are_counted(ask):
        return f"Let {owner}"
    return f'Create the request anew with the label {RANDOMIZE_NAME_LABEL}: "true", or let {owner}'
