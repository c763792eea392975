"""Requests answered on paper: each decision is applied to the fleet before the next one is made.

What scheduling does with an API server is done here to values: claims, prefixes and new clusters included. Warm pools
are taken from and not refilled, and nobody gives anything back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from mooring.api.claims import Claim, claimants, with_claims
from mooring.api.clusters import Cluster
from mooring.api.requests import ClusterRequest, RequestPhase
from mooring.api.selectors import matches
from mooring.kube import ObjectKey, key_of
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION, Configuration
from mooring.scheduling.fleet import Fleet
from mooring.scheduling.manifests import Manifests
from mooring.scheduling.plan import Make, Take, plan
from mooring.scheduling.story import Outcome, Story, foreseen, story

Chosen = Callable[[ObjectKey], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How one request fared."""

    request: str
    outcome: Outcome
    story: Story | None = None  # for those that were to be explained: as of the moment of the decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """How all requests fared, in order, and the clusters at the end."""

    answers: tuple[Answer, ...]
    clusters: tuple[Cluster, ...]


def simulated(
    world: Manifests,
    configuration: Configuration = DEFAULT_CONFIGURATION,
    *,
    explained: Chosen = lambda _: False,
) -> Simulation:
    """Answer the requests one after another. ``explained`` says whose story is to be told."""
    catalogue = Catalogue(
        purposes=world.purposes,
        profiles=world.profiles,
        equivalences=world.equivalences,
        providers=world.providers,
        configuration=configuration,
    )
    fleet = Fleet.of(world.clusters, labels=catalogue.labels, by_namespace=catalogue.by_namespace)
    holders = {uid for one in world.clusters for uid in claimants(one.metadata)}
    answers = tuple(
        _answer(one, catalogue, fleet, holds=one.metadata.uid in holders, explain=explained(key_of(one)))
        for one in world.requests
    )
    return Simulation(answers=answers, clusters=tuple(sorted(fleet, key=key_of)))


def _answer(request: ClusterRequest, catalogue: Catalogue, fleet: Fleet, *, holds: bool, explain: bool) -> Answer:
    told = story(request, catalogue, fleet, on_paper=True) if explain or holds else None
    if told is not None and told.outcome.held:
        outcome = told.outcome
    elif request.metadata.deleting:
        outcome = _left_alone("Leaving", "The request is being deleted.")
    elif not _is_ours(request, catalogue):
        outcome = _left_alone("NotSelected", "The configuration selects other requests by their labels.")
    else:
        outcome = _decided(request, catalogue, fleet)
    return Answer(request=str(key_of(request)), outcome=outcome, story=told if explain else None)


def _decided(request: ClusterRequest, catalogue: Catalogue, fleet: Fleet) -> Outcome:
    decision = plan(request, catalogue, fleet)
    outcome = foreseen(request, catalogue.ask(request.spec), decision, fleet)
    if outcome.phase is RequestPhase.GRANTED and isinstance(decision, Take | Make):
        cluster = decision.cluster if isinstance(decision, Make) else fleet.get(decision.cluster)
        if cluster is not None:
            fleet.put(_claimed(cluster, request, outcome.prefix))
    return outcome


def _claimed(cluster: Cluster, request: ClusterRequest, prefix: str) -> Cluster:
    metadata = request.metadata
    claim = Claim(uid=metadata.uid, namespace=metadata.namespace, name=metadata.name, prefix=prefix)
    return msgspec.structs.replace(cluster, metadata=with_claims(cluster.metadata, [claim]))


def _is_ours(request: ClusterRequest, catalogue: Catalogue) -> bool:
    selector = catalogue.configuration.requests
    return selector is None or matches(selector, request.metadata.labels)


def _left_alone(reason: str, message: str) -> Outcome:
    return Outcome(phase=RequestPhase.PENDING, reason=reason, message=message)
