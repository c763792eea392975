"""The reconciler of AccessRequests: sees, decides (``plan``), and does one step.

Writes of a grant, in order: (1) our finalizer on the request; (2) the objects in the cluster; (3) the token, bound to a
Secret of its own there; (4) the Secret with the kubeconfig, which records all of that; (5) the request's status.
Stopped after any of them, the next run finds the finalizer but no record, looks at what is in the cluster, and goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.api.access import AccessRequest, AccessRequestStatus
from mooring.api.marks import GRANT_FINALIZER, OPERATION_ANNOTATION, OPERATION_RECONCILE, OPERATION_ROTATE
from mooring.entry.doors import Door, Unfit, oidc_door, token_door
from mooring.entry.entrants import Entrant
from mooring.entry.looking import is_whole
from mooring.entry.opening import Part
from mooring.entry.policies import cluster_named, judged, request_named
from mooring.kube import Object, ObjectKey, key_of, typed
from mooring.kube.errors import NotFound
from mooring.providers.sdk.access import responsible_for
from mooring.providers.sdk.granting import status
from mooring.providers.sdk.granting.keeping import Keeper
from mooring.providers.sdk.granting.making import Maker, Visit
from mooring.providers.sdk.granting.plan import Open, Rest, Retire, Shut, Sight, Wait, next_step
from mooring.providers.sdk.granting.reasons import Answered
from mooring.providers.sdk.granting.seen import AccessSeen
from mooring.providers.sdk.granting.trust import Trust
from mooring.runtime import Manager, Outcome, TryAgain, Writer, with_finalizer, without_finalizer
from mooring.runtime.clock import timestamp


class Granter:
    """For one instance of a provider."""

    def __init__(self, manager: Manager, seen: AccessSeen, maker: Maker, trust: Trust) -> None:
        self._seen = seen
        self._maker = maker
        self._trust = trust
        self._client = manager.client
        self._clock = manager.clock
        self._recorder = manager.recorder
        self._keeper = Keeper(manager.client, seen)
        self._writer = Writer(manager.client, typed(AccessRequest), seen.requests)
        self.suspects: set[str] = set()  # uids of requests whose doors were seen to be damaged

    async def reconcile(self, key: ObjectKey) -> Outcome:
        request = self._seen.requests.get(key)
        if request is None:
            return Outcome.await_change()
        visit = self._visit(request)
        if request.metadata.deleting:
            return await self._end(request, visit)
        # Anybody may have written the labels: they are no more than a hint to look.
        if visit is None or not responsible_for(request, self._seen.sdk.name, profile=visit.cluster.spec.profile):
            return Outcome.await_change()
        try:
            return await self._answer(visit)
        except Answered as answer:
            how = status.denied if answer.denied else status.pending
            await self._tell(visit, how, answer.reason, str(answer))
            if answer.final:
                return Outcome.await_change()
            raise TryAgain(str(answer)) from None

    def _visit(self, request: AccessRequest) -> Visit | None:
        """Where it leads, if that is one of our clusters."""
        named = cluster_named(request)
        cluster = None if named is None else self._seen.clusters.get(named)
        profile = None if cluster is None else self._seen.sdk.profile_of(cluster)
        if cluster is None or profile is None:
            return None
        return Visit(request=request, cluster=cluster, profile=profile)

    # -- granting -----------------------------------------------------------------------------------------------

    async def _answer(self, visit: Visit) -> Outcome:
        sight = await self._sight(visit)
        match next_step(sight):
            case Shut() as step:
                return await self._shut(step, visit, sight)
            case Wait() as step:
                await self._tell(visit, status.pending, step.reason, step.message)
                return Outcome.await_change()
            case Open() as step:
                return await self._open(step, visit, sight)
            case Retire():
                return await self._retire(visit, sight)
            case Rest() as step:
                await self._noticed(visit)
                await self._tell_granted(visit)
                return Outcome.await_change() if step.until is None else self._at(step.until)

    def _at(self, moment: float) -> Outcome:
        return Outcome.requeue(after=moment - self._now())

    async def _sight(self, visit: Visit) -> Sight:
        request = visit.request
        holds = await self._seen.holds(request_named(request), visit.cluster)
        door, trouble = _door(request, self._entrant(request, await self._seen.installation()))
        return Sight(
            request=request,
            cluster=visit.cluster,
            verdict=judged(request, visit.cluster, visit.profile, holds=holds),
            record=self._keeper.record(request),
            door=door,
            trouble=trouble,
            suspect=request.metadata.uid in self.suspects,
            now=self._now(),
        )

    def _entrant(self, request: AccessRequest, installation: str) -> Entrant:
        sdk = self._seen.sdk
        return Entrant(
            installation=installation,
            environment=sdk.environment,
            provider=sdk.name,
            key=key_of(request),
            uid=request.metadata.uid,
        )

    async def _open(self, step: Open, visit: Visit, sight: Sight) -> Outcome:
        if sight.door is None:
            raise TypeError("what cannot be made is not opened")
        if sight.verdict.ask_creator:
            raise NotImplementedError
        self._keeper.check(visit.request)
        visit = await self._held(visit)
        if visit.request.spec.oidc is not None:
            await self._trust.establish(visit)
        made = await self._maker.open(step, visit, sight.door, sight.record, now=sight.now)
        if made.kubeconfig is not None:
            await self._keeper.write(visit.request, made.record, made.kubeconfig)
        else:
            await self._keeper.note(visit.request, made.record)
        self.suspects.discard(visit.request.metadata.uid)
        await self._noticed(visit)
        await self._tell_granted(visit)
        return Outcome.requeue(after=0.0) if made.record.issue else Outcome.await_change()

    async def _retire(self, visit: Visit, sight: Sight) -> Outcome:
        if sight.record is not None:
            await self._maker.retire(visit, sight.record.retiring)
            await self._keeper.note(visit.request, msgspec.structs.replace(sight.record, retiring="", retire_at=0.0))
        return Outcome.requeue(after=0.0)

    # -- looked at from outside ---------------------------------------------------------------------------------

    async def is_damaged(self, request: AccessRequest, parts: Mapping[Part, Object]) -> bool:
        """Whether what is in the cluster is not what a granted request should have there."""
        if request.metadata.deleting or self._keeper.record(request) is None:
            return False
        door, _ = _door(request, self._entrant(request, await self._seen.installation()))
        return door is not None and not is_whole(door, parts)

    def issues_of(self, request: AccessRequest) -> list[str]:
        """The tokens of a request that are recorded."""
        record = self._keeper.record(request)
        return [] if record is None else [one for one in (record.issue, record.retiring) if one]

    # -- closing ------------------------------------------------------------------------------------------------

    async def _shut(self, step: Shut, visit: Visit, sight: Sight) -> Outcome:
        """Nothing is left in the cluster, nor of the kubeconfig; the request stays, and says why."""
        if GRANT_FINALIZER in visit.request.metadata.finalizers:
            await self._close(visit)
            await self._keeper.remove(visit.request)
            await self._let_go(visit.request)
            self._announce(visit.request, step)
        if not step.told:
            await self._tell(visit, status.denied, step.reason, step.message)
        return Outcome.await_change()

    def _announce(self, request: AccessRequest, step: Shut) -> None:
        api, note = AccessRequest.API, f"Access was taken back: {step.message}"
        self._recorder.tell(
            request, api.api_version, api.kind, reason=step.reason, action="Close", note=note, warning=True
        )

    async def _close(self, visit: Visit) -> None:
        await self._maker.close(visit, self._entrant(visit.request, await self._seen.installation()))
        if visit.request.spec.oidc is not None:
            await self._trust.withdraw(visit)

    async def _end(self, request: AccessRequest, visit: Visit | None) -> Outcome:
        if GRANT_FINALIZER not in request.metadata.finalizers:
            return Outcome.await_change()
        if visit is None:
            return await self._end_without_cluster(request)
        try:
            await self._close(visit)
        except Answered as answer:
            # A cluster that is on its way out takes the door along, and need not answer any more.
            if not await self._seen.is_gone(key_of(visit.cluster), visit.cluster.metadata.uid):
                await self._tell(visit, status.pending, answer.reason, str(answer))
                raise TryAgain(str(answer)) from None
        await self._let_go(request)
        return Outcome.await_change()

    async def _end_without_cluster(self, request: AccessRequest) -> Outcome:
        """The cluster is gone, and took along what was made there; or it is somebody else's matter."""
        named = cluster_named(request)
        ours = responsible_for(request, self._seen.sdk.name)
        if ours and (named is None or await self._seen.is_gone(named)):
            await self._let_go(request)
        return Outcome.await_change()

    async def _let_go(self, request: AccessRequest) -> None:
        there = self._seen.requests.get(key_of(request))
        if there is None or there.metadata.uid != request.metadata.uid:
            return
        finalizers = without_finalizer(there.metadata.finalizers, GRANT_FINALIZER)
        try:
            await self._writer.save(there, _with(there, finalizers=finalizers), guarded=True)
        except NotFound:
            self._seen.requests.deleted(there)

    # -- writing ------------------------------------------------------------------------------------------------

    async def _held(self, visit: Visit) -> Visit:
        """With our finalizer on it: nothing is made before."""
        request = visit.request
        finalizers = with_finalizer(request.metadata.finalizers, GRANT_FINALIZER)
        if finalizers != request.metadata.finalizers:
            request = await self._writer.save(request, _with(request, finalizers=finalizers), guarded=True)
        return Visit(request=request, cluster=visit.cluster, profile=visit.profile)

    async def _noticed(self, visit: Visit) -> None:
        """Take the word to look at it, or to rotate, away again."""
        request = self._seen.requests.get(visit.key) or visit.request
        annotations = dict(request.metadata.annotations)
        if annotations.get(OPERATION_ANNOTATION) in (OPERATION_RECONCILE, OPERATION_ROTATE):
            del annotations[OPERATION_ANNOTATION]
            await self._writer.save(request, _with(request, annotations=annotations))

    async def _tell_granted(self, visit: Visit) -> None:
        await self._save_status(visit, lambda there: status.granted(there, now=self._timestamp()))

    async def _tell(self, visit: Visit, how: Any, reason: str, message: str) -> None:
        await self._save_status(visit, lambda there: how(there, reason, message, now=self._timestamp()))

    async def _save_status(self, visit: Visit, new: Any) -> None:
        there = self._seen.requests.get(visit.key)
        if there is None or there.metadata.uid != visit.request.metadata.uid:
            return
        told: AccessRequestStatus = new(there)
        if told is not there.status:
            await self._writer.save(there, msgspec.structs.replace(there, status=told))

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _timestamp(self) -> str:
        return timestamp(self._clock.now())


def _door(request: AccessRequest, entrant: Entrant) -> tuple[Door | None, str]:
    spec = request.spec
    try:
        if spec.token is not None:
            return token_door(entrant, spec.token), ""
        if spec.oidc is not None:
            return oidc_door(entrant, spec.oidc), ""
    except Unfit as error:
        return None, str(error)
    return None, "Exactly one of spec.token and spec.oidc must be set."


def _with(request: AccessRequest, **fields: Any) -> AccessRequest:
    return msgspec.structs.replace(request, metadata=msgspec.structs.replace(request.metadata, **fields))
