"""Why a request stands where it stands, told from beginning to end.

A story is plain data: text, JSON and pages render the same fields. It is made of the functions that decide
(``plan``, ``fit``, ``Catalogue.ranking``), so it cannot tell anything else than what scheduling does. Neighbours:
``candidates`` judges what there is, ``remedies`` finds out what would have to change, ``telling`` writes it all down.
"""

from __future__ import annotations

from dataclasses import dataclass

from mooring.api.claims import claim_on, claimants, prefixes_on
from mooring.api.clusters import Cluster
from mooring.api.conditions import READY, found
from mooring.api.marks import OPERATION_ANNOTATION, OPERATION_IGNORE
from mooring.api.requests import ClusterRequest, ClusterRequestGrant, RequestPhase
from mooring.api.selectors import matches
from mooring.kube import ObjectKey, key_of
from mooring.scheduling.asking import Ask, Unanswerable
from mooring.scheduling.candidates import (
    CANDIDATES_AT_MOST,
    Candidate,
    Others,
    ProfileJudgement,
    judged_clusters,
    judged_profiles,
)
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.fleet import Fleet
from mooring.scheduling.plan import Decision, Make, Take, plan
from mooring.scheduling.prefixes import granted_prefix
from mooring.scheduling.reasons import Reason
from mooring.scheduling.remedies import Remedy, remedies
from mooring.scheduling.traits import Equivalences, Leaf, Wanted, told


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTrait:
    """One wish, whoever it came from."""

    wish: str  # in words
    required: bool
    asked_by: tuple[str, ...]
    same_as: tuple[str, ...]  # other names of the traits in it, by the equivalences that are defined


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the request amounts to, once its purposes have had their say."""

    purposes: tuple[str, ...]
    dedicated: bool
    dedicated_by: str
    version: str  # empty for any
    version_by: str
    seats: int  # 0 for any number
    strategy: str
    traits: tuple[AskedTrait, ...]
    selectors: int  # how many must match the labels of a cluster
    profile: str  # the one that a purpose insists on; empty for any
    template_of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where it ends."""

    phase: RequestPhase
    reason: str
    message: str
    cluster: str = ""
    prefix: str = ""
    new: bool = False  # the cluster is, or would be, made for it
    warm: bool = False  # it was kept ready
    held: bool = False  # the claim is made; otherwise this is what would be decided now
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All of it."""

    request: str
    purposes: tuple[str, ...]  # as they were written
    asked: Asked | None  # None if it cannot even be said
    clusters: int  # how many there are
    candidates: tuple[Candidate, ...]
    others: tuple[Others, ...]
    profiles: tuple[ProfileJudgement, ...]
    outcome: Outcome
    notes: tuple[str, ...]
    remedies: tuple[Remedy, ...]


def story(
    request: ClusterRequest,
    catalogue: Catalogue,
    fleet: Fleet,
    *,
    grant: ClusterRequestGrant | None = None,
    on_paper: bool = False,
    at_most: int = CANDIDATES_AT_MOST,
) -> Story:
    """Tell it. ``grant`` is the request's own, if it has one; ``at_most`` clusters are told of one by one.

    ``on_paper``: nobody was to answer the request, so its status says nothing.
    """
    holding = held_by(request, fleet, grant)
    ask = catalogue.ask(request.spec)
    decision = Take(holding) if holding is not None else plan(request, catalogue, fleet)
    outcome = _held(request, holding, fleet, grant) if holding is not None else foreseen(request, ask, decision, fleet)
    candidates: tuple[Candidate, ...] = ()
    others: tuple[Others, ...] = ()
    profiles: tuple[ProfileJudgement, ...] = ()
    if isinstance(ask, Ask):
        taken = decision.cluster if isinstance(decision, Take) else None
        candidates, others = judged_clusters(
            request, ask, catalogue, fleet, taken=taken, held=holding is not None, at_most=at_most
        )
        profiles = judged_profiles(ask, catalogue, fleet, made=isinstance(decision, Make))
    return Story(
        request=str(key_of(request)),
        purposes=request.spec.all_purposes,
        asked=_asked(ask, catalogue.equivalences) if isinstance(ask, Ask) else None,
        clusters=len(fleet),
        candidates=candidates,
        others=others,
        profiles=profiles,
        outcome=outcome,
        notes=_notes(request, catalogue, fleet, outcome, holding, on_paper=on_paper),
        remedies=remedies(request, decision, catalogue, fleet) if isinstance(decision, Unanswerable) else (),
    )


def held_by(request: ClusterRequest, fleet: Fleet, grant: ClusterRequestGrant | None = None) -> ObjectKey | None:
    """The cluster that the request holds: its grant's, else the one with its claim."""
    if grant is not None:
        return ObjectKey(grant.spec.cluster_ref.namespace, grant.spec.cluster_ref.name)
    uid = request.metadata.uid
    return next((key_of(one) for one in fleet if uid and uid in claimants(one.metadata)), None)


def foreseen(request: ClusterRequest, ask: Ask | Unanswerable, decision: Decision, fleet: Fleet) -> Outcome:
    """What the decision means for the request, the prefix that it gets included."""
    if isinstance(decision, Unanswerable):
        return refused(decision)
    cluster = decision.cluster if isinstance(decision, Make) else fleet.get(decision.cluster)
    if cluster is None or not isinstance(ask, Ask):
        raise LookupError("a decision names a cluster of the fleet that it was made on")
    try:
        prefix = (
            ""
            if ask.dedicated
            else granted_prefix(request.spec.prefix, prefixes_on(cluster.metadata), uid=request.metadata.uid)
        )
    except ValueError as error:
        return refused(Unanswerable(Reason.NO_CAPACITY, f"On the cluster {key_of(cluster)}, {error}."))
    return Outcome(
        phase=RequestPhase.GRANTED,
        reason=Reason.GRANTED,
        message=_told_decision(ask, decision, cluster, fleet),
        cluster=str(key_of(cluster)),
        prefix=prefix,
        new=isinstance(decision, Make),
        warm=isinstance(decision, Take) and decision.warm,
    )


def refused(why: Unanswerable) -> Outcome:
    phase = RequestPhase.DENIED if why.final else RequestPhase.PENDING
    return Outcome(phase=phase, reason=why.reason, message=why.message)


def _told_decision(ask: Ask, decision: Take | Make, cluster: Cluster, fleet: Fleet) -> str:
    key = key_of(cluster)
    if isinstance(decision, Make):
        version = decision.chosen.version
        told_version = f" with Kubernetes {version}" if version else ""
        return f"A new cluster {key} is made by the profile {decision.chosen.offer.name}{told_version}."
    if decision.warm:
        return f"The cluster {key}, which was kept ready, is handed over."
    there = fleet.taken(key)
    if not there:
        return f"The cluster {key}, which nobody holds, is taken."
    return f"A seat in the cluster {key} is taken, beside {there} other request{'s' if there > 1 else ''}."


def _held(request: ClusterRequest, holding: ObjectKey, fleet: Fleet, grant: ClusterRequestGrant | None) -> Outcome:
    cluster = fleet.get(holding)
    claim = None if cluster is None else claim_on(cluster.metadata, request.metadata.uid)
    prefix = grant.spec.prefix if grant is not None else claim.prefix if claim is not None else ""
    return Outcome(
        phase=RequestPhase.GRANTED,
        reason=Reason.GRANTED,
        message=f"It holds the cluster {holding}.",
        cluster=str(holding),
        prefix=prefix,
        held=True,
        since="" if grant is None else grant.metadata.creation_timestamp,
    )


def _asked(ask: Ask, equivalences: Equivalences) -> Asked:
    version = ask.new_version
    return Asked(
        purposes=ask.purposes,
        dedicated=ask.dedicated,
        dedicated_by=ask.dedicated_by,
        version=version,
        version_by="" if not version else "the request" if ask.version else f"purpose {ask.template_of}, if it is new",
        seats=ask.seats,
        strategy=ask.strategy,
        traits=tuple(_asked_trait(one, equivalences) for one in ask.wanted),
        selectors=len(ask.selectors),
        profile=ask.template.spec.profile,
        template_of=ask.template_of,
    )


def _asked_trait(wanted: Wanted, equivalences: Equivalences) -> AskedTrait:
    leaves = list(leaves_of(wanted))
    written = {name for leaf in leaves for name in leaf.spelled}
    same = sorted({name for leaf in leaves for name in equivalences.members(leaf.trait)} - written)
    return AskedTrait(
        wish=told(wanted).removesuffix(", if possible"),
        required=not wanted.optional,
        asked_by=wanted.sources if isinstance(wanted, Leaf) else (wanted.source,),
        same_as=tuple(same),
    )


def leaves_of(wanted: Wanted) -> list[Leaf]:
    """The traits in a wish, however it is built."""
    if isinstance(wanted, Leaf):
        return [wanted]
    return [leaf for part in wanted.parts for leaf in leaves_of(part)]


def _notes(
    request: ClusterRequest,
    catalogue: Catalogue,
    fleet: Fleet,
    outcome: Outcome,
    holding: ObjectKey | None,
    *,
    on_paper: bool,
) -> tuple[str, ...]:
    """What a reader would otherwise stumble over: a status that says something else, a cluster that is gone."""
    notes: list[str] = []
    metadata, status = request.metadata, request.status
    if metadata.deleting:
        notes.append("The request is being deleted: it gives back what it holds, and gets nothing new.")
    if metadata.annotations.get(OPERATION_ANNOTATION) == OPERATION_IGNORE:
        notes.append(
            f"It has the annotation {OPERATION_ANNOTATION}: {OPERATION_IGNORE}, so scheduling leaves it alone."
        )
    selector = catalogue.configuration.requests
    if selector is not None and not matches(selector, metadata.labels):
        notes.append("The configuration selects other requests by their labels, so scheduling leaves this one alone.")
    if holding is not None:
        notes += _held_notes(request, fleet, holding)
    elif not on_paper and not metadata.deleting:
        notes += _answer_notes(status.phase if status else "", status.reason if status else "", outcome)
    return tuple(notes)


def _held_notes(request: ClusterRequest, fleet: Fleet, holding: ObjectKey) -> list[str]:
    cluster = fleet.get(holding)
    if cluster is None:
        return [f"The cluster {holding} does not exist (any more); scheduling makes it anew under the same name."]
    notes = []
    if request.metadata.uid not in claimants(cluster.metadata):
        notes.append(
            f"Its claim is missing on the cluster {holding}; scheduling restores it if the seat is still free."
        )
    if cluster.metadata.deleting:
        notes.append(f"The cluster {holding} is being deleted.")
    ready = found(cluster.status.conditions, READY) if cluster.status is not None else None
    if ready is None or ready.status != "True":
        said = ready.message or ready.reason if ready is not None else "its provider has not said anything yet"
        notes.append(f"The cluster {holding} is not ready: {said}.".replace("..", "."))
    return notes


def _answer_notes(phase: str, reason: str, outcome: Outcome) -> list[str]:
    if not phase:
        return ["No answer is written yet. If that stays so, no scheduling is at work: see 'mooring status'."]
    if (phase, reason) != (outcome.phase, outcome.reason):
        return [
            f"Its status still says {phase}{f' ({reason})' if reason else ''}; what is told here is what would be "
            f"decided now."
        ]
    return []
