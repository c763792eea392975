"""The reconciler of AccessRequests: sees, decides (``plan``), and does one step.

Writes of a grant, in order: (1) our finalizer on the request; (2) the objects in the cluster; (3) the token, bound to a
Secret of its own there; (4) the Secret with the kubeconfig, which records all of that; (5) the request's status.
Stopped after any of them, the next run finds the finalizer but no record, looks at what is in the cluster, and goes on.
"""

from __future__ import annotations

from typing import Final

from mooring.api.access import AccessRequest
from mooring.api.marks import GRANT_FINALIZER, PROVIDER_LABEL
from mooring.entry.entrants import Entrant
from mooring.entry.policies import cluster_named
from mooring.kube import ObjectKey, key_of
from mooring.providers.sdk.access import responsible_for
from mooring.providers.sdk.granting import status
from mooring.providers.sdk.granting.keeping import Keeper
from mooring.providers.sdk.granting.making import Made, Maker, Visit, door_of, without
from mooring.providers.sdk.granting.plan import Open, Rest, Retire, Shut, Sight, Wait, is_entered, next_look, next_step
from mooring.providers.sdk.granting.reasons import Answered, Reason
from mooring.providers.sdk.granting.records import Record
from mooring.providers.sdk.granting.seen import AccessSeen
from mooring.providers.sdk.granting.telling import Teller
from mooring.providers.sdk.granting.translations import Translator, in_its_words
from mooring.providers.sdk.granting.trust import Trust
from mooring.runtime import Manager, Outcome, TryAgain

# Seconds after which a cluster is asked again for what it did not serve.
_LATER: Final = 60.0


class Granter:
    """For one instance of a provider."""

    def __init__(self, manager: Manager, seen: AccessSeen, keeper: Keeper, maker: Maker, trust: Trust) -> None:
        self._seen = seen
        self._maker = maker
        self._trust = trust
        self._clock = manager.clock
        self._recorder = manager.recorder
        self._keeper = keeper
        self._teller = Teller(manager, seen)
        self.translator = Translator(maker)
        self.suspects: set[str] = set()  # uids of requests whose doors were seen to be damaged
        self.under_way: set[str] = set()  # uids of requests whose doors are just being opened

    async def reconcile(self, key: ObjectKey) -> Outcome:
        request = self._seen.requests.get(key)
        if request is None:
            self.translator.forget(key)
            return Outcome.await_change()
        visit = self._visit(request)
        if request.metadata.deleting:
            return await self._end(request, visit)
        if visit is None or not (self._is_asked(visit) or self._may_be_open(request)):
            return Outcome.await_change()
        try:
            return await self._answer(visit)
        except Answered as answer:
            if answer.denied:
                # Something else may have been asked for, and given, before.
                there = self._visit(self._seen.requests.get(key) or request) or visit
                return await self._shut(Shut(reason=answer.reason, message=str(answer)), there)
            await self._tell_pending(visit, answer.reason, str(answer))
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

    def _is_asked(self, visit: Visit) -> bool:
        """Anybody may have written the labels: they are no more than a hint to look."""
        return responsible_for(visit.request, self._seen.sdk.name, profile=visit.cluster.spec.profile)

    def _may_be_open(self, request: AccessRequest) -> bool:
        """Whether something of ours may be in the cluster. The finalizer alone does not tell: anybody can remove it."""
        is_held = GRANT_FINALIZER in request.metadata.finalizers
        return is_held or self._keeper.keeps(request) or request.metadata.uid in self.suspects

    # -- granting -----------------------------------------------------------------------------------------------

    async def _answer(self, visit: Visit) -> Outcome:
        sight = await self._sight(visit)
        match next_step(sight):
            case Shut() as step:
                outcome = await self._shut(step, visit)
                # What the cluster does not serve it may serve later, without a word to us.
                return Outcome.requeue(after=_LATER) if sight.gaps else outcome
            case Wait() as step:
                if step.void:
                    await self._keeper.remove(visit.request)
                await self._tell_pending(visit, step.reason, step.message)
                return Outcome.await_change()
            case Open() as step:
                return await self._open(step, visit, sight)
            case Retire() as step:
                return await self._retire(step, visit, sight.valid)
            case Rest() as step:
                await self._trust.establish(visit)  # which may have ended without a word
                await self._settle(visit, await self._teller.held(visit.request))
                return self._at(step.until)

    def _at(self, moment: float | None) -> Outcome:
        return Outcome.await_change() if moment is None else Outcome.requeue(after=max(0.0, moment - self._now()))

    async def _sight(self, visit: Visit) -> Sight:
        request = visit.request
        entrant = await self._seen.entrant(request)
        verdict = await self._seen.judged(request, visit.cluster, visit.profile)
        if verdict.ask_creator:
            verdict = await self._seen.creators_say(request, visit.cluster)
        record = self._keeper.record(request, entrant)
        enters = verdict.allowed and is_entered(request, visit.cluster)
        translated = await self.translator.translated(visit) if enters else None
        gaps = translated.trouble if translated is not None else ""
        if gaps and record is not None and record.generation == request.metadata.generation:
            # It was served when access was granted: a cluster that does not tell everything takes nothing away.
            raise Answered(Reason.UNFIT, gaps)
        door, trouble = (None, gaps) if gaps else door_of(in_its_words(request, translated), entrant)
        return Sight(
            request=request,
            cluster=visit.cluster,
            verdict=verdict,
            record=record,
            door=door,
            trouble=trouble,
            gaps=bool(gaps),
            suspect=request.metadata.uid in self.suspects,
            spoiled=await self._keeper.is_spoiled(request, entrant),
            now=self._now(),
        )

    async def _open(self, step: Open, visit: Visit, sight: Sight) -> Outcome:
        if sight.door is None:
            raise TypeError("what cannot be made is not opened")
        await self._keeper.check(visit.request, ask=not step.fresh and sight.record is None)
        uid = visit.request.metadata.uid
        self.under_way.add(uid)
        try:
            request = await self._teller.held(visit.request)
            held = Visit(request=request, cluster=visit.cluster, profile=visit.profile)
            await self._establish(held, sight, step)
            made = await self._maker.open(step, held, sight.door, sight.valid, now=sight.now)
            await self._write_down(made, held, sight.door.entrant)
        finally:
            self.under_way.discard(uid)
        self.suspects.discard(uid)
        await self._settle(visit, request)
        return self._at(next_look(request, made.record))

    async def _establish(self, visit: Visit, sight: Sight, step: Open) -> None:
        """Have its identity provider trusted, if it wants one. Whatever goes wrong: what is asked for no more ends."""
        try:
            await self._trust.establish(visit)
        except Exception:
            if step.mend and sight.door is not None:
                await self._maker.withdraw(visit, sight.door)
                if sight.record is not None and sight.record.issue and not sight.door.account:
                    await self._keeper.remove(visit.request)  # its token is dead
            raise

    async def _write_down(self, made: Made, visit: Visit, entrant: Entrant) -> None:
        if made.kubeconfig is None:
            await self._keeper.note(visit.request, made.record)
            return
        try:
            await self._keeper.write(visit.request, made.record, made.kubeconfig)
        except Answered:
            # Nobody gets to see this one.
            await self._maker.retire(visit, entrant, [made.record.issue] if made.record.issue else [])
            raise

    async def _settle(self, visit: Visit, request: AccessRequest) -> None:
        """All is done: say so, and that what was asked for has been heard."""
        await self._teller.noticed(visit.request)
        translated = self.translator.remembered(request)
        await self._teller.tell(request, status.granted, translated=translated.message if translated else "")

    async def _retire(self, step: Retire, visit: Visit, record: Record | None) -> Outcome:
        if record is not None:
            await self._maker.retire(visit, await self._seen.entrant(visit.request), step.issues)
            await self._keeper.note(visit.request, without(record, step.issues))
        return Outcome.requeue(after=0.0)

    # -- closing ------------------------------------------------------------------------------------------------

    async def _shut(self, step: Shut, visit: Visit) -> Outcome:
        """Nothing is left in the cluster, nor of the kubeconfig; the request stays, and says why."""
        request = visit.request
        if self._may_be_open(request):
            # First what can be done in any case: nobody finds the kubeconfig any more.
            await self._keeper.remove(request)
            try:
                await self._close(visit)
            except Answered as answer:
                message = f"{step.message} It is not ended in the cluster yet. {answer}"
                await self._teller.tell(request, status.denied, answer.reason, message)
                raise TryAgain(str(answer)) from None
            self.suspects.discard(request.metadata.uid)
            await self._teller.let_go(request)
            self._announce(request, step)
        await self._teller.tell(request, status.denied, step.reason, step.message)
        return Outcome.await_change()

    def _announce(self, request: AccessRequest, step: Shut) -> None:
        api, note = AccessRequest.API, f"Access was taken back: {step.message}"
        self._recorder.tell(
            request, api.api_version, api.kind, reason=step.reason, action="Close", note=note, warning=True
        )

    async def _close(self, visit: Visit) -> None:
        await self._maker.close(visit, await self._seen.entrant(visit.request))
        await self._trust.withdraw(visit)

    async def _end(self, request: AccessRequest, visit: Visit | None) -> Outcome:
        if not self._may_be_open(request):
            return Outcome.await_change()
        if visit is None:
            return await self._end_without_cluster(request)
        try:
            await self._close(visit)
        except Answered as answer:
            # A cluster that is gone took the door along, and need not answer any more.
            if not await self._seen.is_gone(key_of(visit.cluster), visit.cluster.metadata.uid):
                await self._tell_pending(visit, answer.reason, str(answer))
                raise TryAgain(str(answer)) from None
        self.suspects.discard(request.metadata.uid)
        await self._keeper.remove(request)  # its owner would take it along, too, but not at once
        await self._teller.let_go(request)
        return Outcome.await_change()

    async def _end_without_cluster(self, request: AccessRequest) -> Outcome:
        """The cluster is gone, and took along what was made there; or it is somebody else's matter."""
        named = cluster_named(request)
        # The other label may be gone, and then nobody else would let go of it.
        ours = request.metadata.labels.get(PROVIDER_LABEL) == self._seen.sdk.name
        if ours and (named is None or await self._seen.is_gone(named)):
            await self._teller.let_go(request)
        return Outcome.await_change()

    async def _tell_pending(self, visit: Visit, reason: str, message: str) -> None:
        record = self._keeper.record(visit.request, await self._seen.entrant(visit.request))
        await self._teller.tell(visit.request, status.pending, reason, message, has_secret=record is not None)

    def _now(self) -> float:
        return self._clock.now().timestamp()
