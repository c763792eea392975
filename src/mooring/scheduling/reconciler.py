"""Answering requests: look at what a request has, plan what it lacks, write it down.

A grant is four writes, in this order: the request's finalizer, the claim on the cluster, the Grant, the request's
status. Stopped after any of them, the next run finds what is there by the request's uid, and goes on (``standing``). A
request that cannot be answered is told so in its status, and wakes when what it lacks may have come (``wakes``).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import structlog

from mooring.api.claims import claim_on
from mooring.api.clusters import Cluster, Tenancy
from mooring.api.kinds import Metadata, as_document, owned_by
from mooring.api.marks import OPERATION_ANNOTATION, OPERATION_RECONCILE, REQUEST_FINALIZER
from mooring.api.references import ObjectReference
from mooring.api.requests import (
    ClusterRequest,
    ClusterRequestGrant,
    GrantedMetadata,
    GrantedRequest,
    GrantSpec,
    GrantStatus,
    RequestPhase,
)
from mooring.kube import ObjectKey, key_of, typed
from mooring.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from mooring.runtime import Manager, Outcome, TryAgain, Writer, with_finalizer
from mooring.runtime.clock import timestamp
from mooring.scheduling.asking import Ask, Unanswerable
from mooring.scheduling.desk import Desk, SeatLost
from mooring.scheduling.drafts import with_propagated
from mooring.scheduling.leaving import Leaving
from mooring.scheduling.lifetimes import Life, life_of
from mooring.scheduling.plan import Decision, Make, Take, made, plan
from mooring.scheduling.reasons import Reason
from mooring.scheduling.reporting import Reporter
from mooring.scheduling.seen import Seen, WaitsFor
from mooring.scheduling.standing import Standing, belongs_to, standing_of
from mooring.scheduling.status import Answer, status_of

log = structlog.get_logger(__name__)

_PLANS_AT_MOST = 10  # in one run, if seats are always taken by others in between
_LOOK_AGAIN = 30.0  # seconds, where nothing can be watched: a namespace that is missing, a quota

# Whose end may come with any cluster; others wait for rules, or for a seat if they share.
_NEED_CLUSTERS = {Reason.NO_CAPACITY, Reason.CLUSTER_CONFLICT, Reason.CLUSTER_TERMINATING, Reason.CLAIM_LOST}


class PlanAgain(TryAgain):
    """Somebody else was faster all the time."""


@dataclass(frozen=True, slots=True)
class _Home:
    """The cluster that a request has, with its claim on it."""

    cluster: Cluster
    prefix: str


class RequestReconciler:
    """The reconciler of ClusterRequests."""

    def __init__(self, manager: Manager, seen: Seen, desk: Desk) -> None:
        self._seen = seen
        self._desk = desk
        self._clock = manager.clock
        self._client = manager.client
        self._requests = Writer(manager.client, typed(ClusterRequest), seen.requests)
        self._grants = Writer(manager.client, typed(ClusterRequestGrant), seen.grants)
        self._clusters = Writer(manager.client, typed(Cluster), seen.clusters)
        self._leaving = Leaving(manager, seen, desk)
        self._reporter = Reporter(manager.recorder)

    async def reconcile(self, key: ObjectKey) -> Outcome:
        request = self._seen.requests.get(key)
        if request is None or request.metadata.deleting:
            self._seen.waiting.pop(key, None)
            return Outcome.await_change() if request is None else await self._leaving.leave(request)
        if not self._seen.is_ours(request):
            return Outcome.await_change()
        request = await self._noticed(request)
        begun, life = self._clock.elapsed(), life_of(request, self._clock.now())
        if life.over:
            return await self._end(request)
        answer, cluster = await self._answered(request)
        await self._tell(request, answer, cluster, life)
        pauses = [pause for pause in (life.next_look, self._pause(answer)) if pause is not None]
        if not pauses:
            return Outcome.await_change()
        return Outcome.requeue(after=max(0.0, min(pauses) - (self._clock.elapsed() - begun)))

    # -- answering ----------------------------------------------------------------------------------------------

    async def _answered(self, request: ClusterRequest) -> tuple[Answer, Cluster | None]:
        grant = await self._own_grant(request)
        standing = standing_of(request, grant, self._seen.held_by(request.metadata.uid))
        found = await self._at_home(request, standing) if standing.home is not None else await self._settled(request)
        if isinstance(found, Unanswerable):
            return self._waiting(request, found, standing), None
        if not standing.granted and not await self._granted(request, found):
            raise PlanAgain("the Grant names another cluster")
        for spare in standing.spare:
            await self._desk.leave(spare, request.metadata.uid)
        self._seen.waiting.pop(key_of(request), None)
        cluster = await self._propagated(request, found.cluster)
        return self._granted_answer(found, cluster), cluster

    async def _own_grant(self, request: ClusterRequest) -> ClusterRequestGrant | None:
        """The Grant of this very request; that of an earlier one of the same name is removed."""
        grant = self._seen.grants.get(key_of(request))
        if grant is None or belongs_to(grant, request):
            return grant
        try:
            await self._grants.delete(grant)
        except NotFound:
            self._seen.grants.deleted(grant)
        return None

    async def _settled(self, request: ClusterRequest) -> _Home | Unanswerable:
        """Find a cluster for a request that has none: plan, and plan again whenever the seat was lost meanwhile."""
        for _ in range(_PLANS_AT_MOST):
            catalogue = self._seen.catalogue
            decision = plan(request, catalogue, self._seen.fleet)
            if isinstance(decision, Unanswerable):
                return decision
            if REQUEST_FINALIZER not in request.metadata.finalizers:
                # Decide again afterwards: from the decision to the desk there must be no wait, else others would come
                # there first, for a cluster that nobody is making yet.
                request = await self._held(request)
                continue
            ask = catalogue.ask(request.spec)
            assert isinstance(ask, Ask)  # noqa: S101 - there is no decision on a request that cannot be asked
            try:
                return await self._seated(request, ask, decision, prefix=None)
            except SeatLost:
                continue
            except (Invalid, Forbidden, NotFound) as error:
                if catalogue is self._seen.catalogue:  # else the reason may be gone already
                    return _refused(error, decision, ask)
        raise PlanAgain("every seat was taken by others in between")

    async def _seated(self, request: ClusterRequest, ask: Ask, decision: Take | Make, *, prefix: str | None) -> _Home:
        """Carry out a decision. Until it is written, it is assumed, so that others decide with it."""
        uid, fleet = request.metadata.uid, self._seen.fleet
        if isinstance(decision, Make):
            key = key_of(decision.cluster)
            fleet.draft(decision.cluster, uid)
        else:
            key = decision.cluster
            fleet.assume(key, uid)
        try:
            if isinstance(decision, Make):
                cluster = await self._desk.make(decision.cluster, request, ask, prefix=prefix)
            else:
                cluster = await self._desk.take(key, request, ask)
        except BaseException:
            fleet.settle(key, uid)
            self._seen.seat_fell_free()  # others may have waited because of what was only assumed
            raise
        fleet.settle(key, uid)
        return _home(cluster, uid)

    async def _at_home(self, request: ClusterRequest, standing: Standing) -> _Home | Unanswerable:
        """Find the cluster that the request has; bring back what was lost of it."""
        home = standing.home
        assert home is not None  # noqa: S101
        cluster = self._seen.clusters.get(home)
        if cluster is not None and standing.claimed and (standing.signed or cluster.metadata.deleting):
            await self._held(request)
            return _Home(cluster, standing.prefix or "")
        if cluster is None:
            return await self._made_again(request, standing, home)
        if cluster.metadata.deleting:
            return Unanswerable(
                Reason.CLUSTER_TERMINATING,
                f"The cluster {home} of this request is being deleted by somebody. It is made again when it is gone.",
            )
        return await self._taken_back(request, standing, home)

    async def _taken_back(self, request: ClusterRequest, standing: Standing, home: ObjectKey) -> _Home | Unanswerable:
        # Noted before we ask, so that a seat that becomes free between the answer and our hearing of it is not missed.
        self._seen.waiting[key_of(request)] = WaitsFor.CLUSTERS
        request = await self._held(request)
        try:
            return _home(await self._desk.take_back(home, request, prefix=standing.prefix), request.metadata.uid)
        except SeatLost:
            cluster = self._seen.clusters.get(home)
            if cluster is not None:
                self._reporter.claim_lost(request, cluster)
            return Unanswerable(
                Reason.CLAIM_LOST,
                f"Somebody removed the claim of this request on the cluster {home}, and its seat or prefix is taken by "
                f"now. It is claimed again as soon as it is free; or delete this request and create another.",
            )

    async def _made_again(self, request: ClusterRequest, standing: Standing, home: ObjectKey) -> _Home | Unanswerable:
        """The cluster is gone, and the request is not: make it anew, under the same name."""
        if self._seen.fleet.get(home) is not None:
            return await self._taken_back(request, standing, home)  # another of its requests is about to make it
        request = await self._held(request)
        catalogue = self._seen.catalogue
        ask = catalogue.ask(request.spec)
        if isinstance(ask, Unanswerable):
            return ask
        decision: Decision = made(request, ask, catalogue, self._seen.fleet, place=home)
        if isinstance(decision, Unanswerable):
            return decision
        log.warning("the cluster of a request is gone; making it again", cluster=str(home))
        try:
            return await self._seated(request, ask, decision, prefix=standing.prefix)
        except SeatLost as error:
            raise PlanAgain(f"{home} came back") from error
        except (Invalid, Forbidden, NotFound) as error:
            if catalogue is not self._seen.catalogue:
                raise PlanAgain("the rules changed meanwhile") from error
            return _refused(error, decision, ask)

    async def _held(self, request: ClusterRequest) -> ClusterRequest:
        """The request with our finalizer: the first write, before anything is claimed for it."""
        finalizers = with_finalizer(request.metadata.finalizers, REQUEST_FINALIZER)
        if finalizers == request.metadata.finalizers:
            return request
        return await self._requests.save(request, _with(request, finalizers=finalizers), guarded=True)

    async def _granted(self, request: ClusterRequest, home: _Home) -> bool:
        """Write the Grant, which arbitrates; False if there is one for another cluster, and ours was given back."""
        body = as_document(_grant(request, home))
        try:
            await self._grants.create(body)
        except AlreadyExists:
            there = await self._client.get(
                typed(ClusterRequestGrant), request.metadata.name, namespace=request.metadata.namespace
            )
            self._seen.grants.wrote(there)
            wanted = ObjectKey(there.spec.cluster_ref.namespace, there.spec.cluster_ref.name)
            if belongs_to(there, request) and wanted == key_of(home.cluster):
                return True
            if belongs_to(there, request):
                await self._desk.leave(key_of(home.cluster), request.metadata.uid)
            return False
        return True

    async def _propagated(self, request: ClusterRequest, cluster: Cluster) -> Cluster:
        """Marks that are to be seen on the cluster as on the request, if it is the only one there."""
        if cluster.spec.tenancy is not Tenancy.EXCLUSIVE or cluster.metadata.deleting:
            return cluster
        wanted = with_propagated(cluster, request)
        return cluster if wanted == cluster else await self._clusters.save(cluster, wanted)

    # -- telling ------------------------------------------------------------------------------------------------

    def _granted_answer(self, home: _Home, cluster: Cluster) -> Answer:
        key = key_of(cluster)
        shared = f" Names of cluster-scoped things begin with {home.prefix} there." if home.prefix else ""
        return Answer(
            phase=RequestPhase.GRANTED,
            reason=Reason.GRANTED,
            message=f"The cluster {key} was granted.{shared}",
            cluster=key,
            prefix=home.prefix,
        )

    def _waiting(self, request: ClusterRequest, why: Unanswerable, standing: Standing) -> Answer:
        """Note what the request waits for, in the same step in which it was decided."""
        self._seen.waiting[key_of(request)] = self._needs(request, why.reason)
        phase = RequestPhase.DENIED if why.final and standing.home is None else RequestPhase.PENDING
        return Answer(phase=phase, reason=why.reason, message=why.message)

    def _needs(self, request: ClusterRequest, reason: Reason) -> WaitsFor:
        if reason in _NEED_CLUSTERS:
            return WaitsFor.CLUSTERS
        ask = self._seen.catalogue.ask(request.spec)
        return WaitsFor.SEATS if isinstance(ask, Ask) and not ask.dedicated else WaitsFor.RULES

    async def _tell(self, asked: ClusterRequest, answer: Answer, cluster: Cluster | None, life: Life) -> None:
        """Tell the request that was looked at, and not a later one of the same name.

        A grant is true whoever tells it. That there is none is true only as long as nobody else has granted it.
        """
        request = self._seen.requests.get(key_of(asked))
        if request is None or request.metadata.uid != asked.metadata.uid:
            return
        granted = answer.phase is RequestPhase.GRANTED
        if not granted and request.status != asked.status:
            raise PlanAgain("somebody else answered it meanwhile")
        status = status_of(request, answer, cluster=cluster, life=life, now=timestamp(self._clock.now()))
        if status is request.status:
            return
        await self._requests.save(request, msgspec.structs.replace(request, status=status), guarded=not granted)
        self._reporter.tell(request, status, life)

    async def _noticed(self, request: ClusterRequest) -> ClusterRequest:
        """Take the word to look at it now away again."""
        if request.metadata.annotations.get(OPERATION_ANNOTATION) != OPERATION_RECONCILE:
            return request
        annotations = {
            name: value for name, value in request.metadata.annotations.items() if name != OPERATION_ANNOTATION
        }
        return await self._requests.save(request, _with(request, annotations=annotations))

    async def _end(self, request: ClusterRequest) -> Outcome:
        """Its time is over, by what we know: a longer ttl that came meanwhile changes the revision."""
        try:
            await self._requests.delete(request, guarded=True)
        except NotFound:
            pass
        except Conflict:
            return Outcome.requeue(after=0.1)
        else:
            self._reporter.ended(request)
        return Outcome.await_change()

    def _pause(self, answer: Answer) -> float | None:
        unseen = answer.reason is Reason.INVALID_PURPOSE and answer.phase is RequestPhase.PENDING
        return _LOOK_AGAIN if unseen or answer.reason is Reason.NAMESPACE_NOT_FOUND else None


def _home(cluster: Cluster, uid: str) -> _Home:
    claim = claim_on(cluster.metadata, uid)
    if claim is None:
        raise SeatLost(f"no claim on {key_of(cluster)}")
    return _Home(cluster, claim.prefix)


def _grant(request: ClusterRequest, home: _Home) -> ClusterRequestGrant:
    own, place = request.metadata, key_of(home.cluster)
    snapshot = GrantedRequest(metadata=GrantedMetadata(name=own.name, namespace=own.namespace), spec=request.spec)
    return ClusterRequestGrant(
        metadata=Metadata(name=own.name, namespace=own.namespace, owner_references=(owned_by(request),)),
        spec=GrantSpec(cluster_ref=ObjectReference(name=place.name, namespace=place.namespace), prefix=home.prefix),
        status=GrantStatus(request=snapshot),
    )


def _refused(error: Invalid | Forbidden | NotFound, decision: Take | Make, ask: Ask) -> Unanswerable:
    """The server does not take the new cluster: the request's template cannot be used as it is."""
    if not isinstance(decision, Make):
        raise error
    place = key_of(decision.cluster)
    if isinstance(error, NotFound):
        return Unanswerable(
            Reason.NAMESPACE_NOT_FOUND,
            f"The namespace {place.namespace}, which the new cluster would be in, does not exist. Create it, or let "
            f"the purpose {ask.template_of or ask.purposes[0]} name another in spec.template.metadata.namespace.",
        )
    # What is forbidden (a quota, a namespace that is ending) may be allowed later.
    return Unanswerable(
        Reason.INVALID_PURPOSE,
        f"The API server refuses the cluster {place} that the purpose {ask.template_of or ask.purposes[0]} describes: "
        f"{error}",
        final=isinstance(error, Invalid),
    )


def _with(request: ClusterRequest, **metadata: object) -> ClusterRequest:
    return msgspec.structs.replace(request, metadata=msgspec.structs.replace(request.metadata, **metadata))
