"""The reconciler of Clusters: looks up what is ordered, asks the provider for the next step, and tells what came of it.

A cluster and its configuration are held by our finalizers before the provider is asked to make anything, and the
cluster is let go when the provider says that nothing is left. In between it may be asked any number of times: stopped
anywhere, the next run begins anew.
"""

from __future__ import annotations

from typing import Any

import msgspec
import structlog

from mooring.api.clusters import Cluster, ClusterPhase, ClusterProfile, ClusterStatus
from mooring.api.conditions import READY, Truth, found
from mooring.api.kinds import Metadata
from mooring.api.marks import OPERATION_ANNOTATION, OPERATION_RECONCILE
from mooring.kube import ObjectKey, key_of, typed
from mooring.kube.errors import Conflict, NotFound
from mooring.providers.sdk.asking import Pauses, ProviderFailed, asked
from mooring.providers.sdk.drift import Drift
from mooring.providers.sdk.granting.leaving import Leaver, StillThere
from mooring.providers.sdk.holding import Holding
from mooring.providers.sdk.naming import cluster_finalizer
from mooring.providers.sdk.ordering import last_order_of, order_of
from mooring.providers.sdk.provider import Refused, State
from mooring.providers.sdk.scrubbing import secret_in
from mooring.providers.sdk.seen import Seen
from mooring.providers.sdk.status import (
    DELETING,
    FOREIGN_FINALIZERS,
    WAITING,
    Report,
    failed,
    holders_in_words,
    marks_of,
    refused,
    reported,
    status_of,
    version_in,
)
from mooring.runtime import Manager, Outcome, TryAgain, Writer, with_finalizer, without_finalizer
from mooring.runtime.clock import timestamp

log = structlog.get_logger(__name__)

_TRIES = 4  # of a status that others keep changing
_SOONEST = 0.01  # seconds: a provider that wants to be asked again at once would keep a processor busy
_GOING = Report(truth=Truth.FALSE, reason=DELETING, message="The cluster is being deleted.")


class ClusterReconciler:
    """For one instance of a provider."""

    def __init__(self, manager: Manager, seen: Seen, drift: Drift, holding: Holding, leaver: Leaver) -> None:
        self._seen = seen
        self._drift = drift
        self._holding = holding
        self._leaver = leaver
        self._clock = manager.clock
        self._client = manager.client
        self._recorder = manager.recorder
        self._writer = Writer(manager.client, typed(Cluster), seen.clusters)
        self._finalizer = cluster_finalizer(seen.provider.config)
        self._pauses = Pauses()
        self._running: dict[ObjectKey, tuple[str, str]] = {}  # uid and version; the label tells it after a restart

    def begin_anew(self) -> None:
        """What we remember may be old: another replica may have worked on the clusters since."""
        self._drift.clear()
        self._running.clear()

    async def reconcile(self, key: ObjectKey) -> Outcome:
        cluster = self._seen.clusters.get(key)
        profile = None if cluster is None else self._seen.profile_of(cluster)
        if cluster is None or profile is None:
            self._forget(key)
            return Outcome.await_change()
        cluster = await self._noticed(cluster)
        if cluster.metadata.deleting:
            return await self._end(cluster, profile)
        return await self._make(cluster, profile)

    # -- making -------------------------------------------------------------------------------------------------

    async def _make(self, cluster: Cluster, profile: ClusterProfile) -> Outcome:
        provider = self._seen.provider
        try:
            order, refusal = order_of(cluster, profile, self._seen, running=self._runs(cluster))
            begun = self._finalizer in cluster.metadata.finalizers
            await self._holding.hold(profile.spec.provider_config_ref.name, begun=begun)
            cluster = await self._held(cluster)
            state = await asked(provider, provider.ensure(order))
        except Refused as error:
            await self._tell(cluster, refused(str(error), error.reason))
            return Outcome.await_change()
        except ProviderFailed as error:
            await self._tell(cluster, failed(str(error)))
            raise TryAgain(str(error)) from None
        if state.version:
            self._running[key_of(cluster)] = (cluster.metadata.uid, state.version)
        self._look_for_secrets(cluster, state)
        report = reported(state) if refusal is None else refused(str(refusal), refusal.reason, state)
        await self._tell(cluster, report)
        return self._next_look(key_of(cluster), state, report)

    def _next_look(self, key: ObjectKey, state: State, report: Report) -> Outcome:
        if state.look_again is not None:
            return Outcome.requeue(after=max(_SOONEST, state.look_again))
        if state.ready:
            self._pauses.forget(key)
            return Outcome.requeue(after=self._seen.provider.ask_again)  # who cannot tell of a loss is asked for it
        return Outcome.requeue(after=self._pauses.next(key, report.reason))

    def _runs(self, cluster: Cluster) -> str:
        """The version that the cluster was last seen to run. Anybody can change a label: it is the second best."""
        uid, version = self._running.get(key_of(cluster), ("", ""))
        return version if uid == cluster.metadata.uid else version_in(cluster.metadata)

    # -- ending -------------------------------------------------------------------------------------------------

    async def _end(self, cluster: Cluster, profile: ClusterProfile) -> Outcome:
        key, provider = key_of(cluster), self._seen.provider
        holders = holders_in_words(cluster.metadata, but=self._finalizer)
        if holders:
            await self._tell(cluster, _waiting(holders))
            return Outcome.await_change()
        if self._finalizer not in cluster.metadata.finalizers:
            self._forget(key)
            return Outcome.await_change()  # nobody holds it: it is as good as gone
        try:
            order = last_order_of(cluster, profile, self._seen, running=self._runs(cluster))
            if not _is_going(cluster):
                await self._tell(cluster, _GOING)
            if provider.keeps_clusters:
                await self._leave(cluster, profile)
            gone = await asked(provider, provider.delete(order))
        except Refused as error:
            await self._tell(cluster, refused(str(error), error.reason))
            return Outcome.await_change()
        except (ProviderFailed, StillThere) as error:
            await self._tell(cluster, failed(str(error)))
            raise TryAgain(str(error)) from None
        if not gone:
            await self._tell(cluster, _GOING)
            return Outcome.requeue(after=self._pauses.next(key, DELETING))
        await self._let_go(cluster)
        return Outcome.await_change()

    async def _leave(self, cluster: Cluster, profile: ClusterProfile) -> None:
        """Take what is ours out of a cluster that stays; when that has been in vain for long, say what is left."""
        try:
            await self._leaver.leave(cluster, profile)
        except StillThere as error:
            if not error.given_up:
                raise
            self._record(cluster, reason="LeftBehind", note=str(error), warning=True)

    async def _let_go(self, cluster: Cluster) -> None:
        there = self._seen.clusters.get(key_of(cluster))
        if there is not None and there.metadata.uid == cluster.metadata.uid:
            self._drift.forget(key_of(cluster))
            finalizers = without_finalizer(there.metadata.finalizers, self._finalizer)
            try:
                # Guarded: a list is written whole, and others write in it, too.
                await self._writer.save(there, _with(there, finalizers=finalizers), guarded=True)
            except NotFound:
                self._seen.clusters.deleted(there)
        self._forget(key_of(cluster))

    def _forget(self, key: ObjectKey) -> None:
        self._drift.forget(key)
        self._pauses.forget(key)
        self._running.pop(key, None)

    # -- writing ------------------------------------------------------------------------------------------------

    async def _noticed(self, cluster: Cluster) -> Cluster:
        """Take the word to look at it now away again."""
        annotations = dict(cluster.metadata.annotations)
        if annotations.get(OPERATION_ANNOTATION) != OPERATION_RECONCILE:
            return cluster
        del annotations[OPERATION_ANNOTATION]
        return await self._writer.save(cluster, _with(cluster, annotations=annotations))

    async def _held(self, cluster: Cluster) -> Cluster:
        """With our finalizer on it: nothing is made before."""
        finalizers = with_finalizer(cluster.metadata.finalizers, self._finalizer)
        if finalizers == cluster.metadata.finalizers:
            return cluster
        held = _with(cluster, finalizers=finalizers)
        self._drift.expect(key_of(cluster), cluster, held)
        return await self._writer.save(cluster, held, guarded=True)

    async def _tell(self, cluster: Cluster, report: Report) -> None:
        """Write down what is known of a cluster. Others write on it, too: then once more, on what is there now."""
        key = key_of(cluster)
        there = self._seen.clusters.get(key)
        for _ in range(_TRIES):
            if there is None or there.metadata.uid != cluster.metadata.uid:
                return
            try:
                await self._write(there, report, generation=cluster.metadata.generation)
            except Conflict:
                there = await self._look(key)
            else:
                return
        raise TryAgain("others keep changing it")

    async def _look(self, key: ObjectKey) -> Cluster | None:
        try:
            return await self._client.get(typed(Cluster), key.name, namespace=key.namespace)
        except NotFound:
            return None

    async def _write(self, there: Cluster, report: Report, *, generation: int) -> None:
        key = key_of(there)
        status = status_of(there, report, generation=generation, now=self._now())
        metadata = marks_of(there.metadata, report, provider=self._seen.name)
        marked = msgspec.structs.replace(there, metadata=metadata)
        self._drift.expect(key, there, marked, msgspec.structs.replace(marked, status=status))
        try:
            written = await self._writer.save(there, marked, guarded=True)
            told = msgspec.structs.replace(written, status=status)
            written = await self._writer.save(written, told, guarded=True)
        except NotFound:
            self._drift.forget(key)
            return
        except BaseException:
            self._drift.forget(key)
            raise
        self._drift.expect(key, written)
        self._announce(there, status)

    def _now(self) -> str:
        return timestamp(self._clock.now())

    # -- telling people -----------------------------------------------------------------------------------------

    def _announce(self, before: Cluster, status: ClusterStatus) -> None:
        """An event when the standing of a cluster changes, and not when it is only described anew."""
        old = found(before.status.conditions, READY) if before.status is not None else None
        new = found(status.conditions, READY)
        if new is None or (old is not None and (old.status, old.reason) == (new.status, new.reason)):
            return
        got_ready = new.status is Truth.TRUE
        is_bad = new.status is Truth.FALSE and new.reason not in (DELETING, WAITING)
        if got_ready or is_bad or new.reason == DELETING:
            note = new.message or f"The cluster is {status.phase}."
            self._record(before, reason=new.reason, note=note, warning=is_bad)

    def _look_for_secrets(self, cluster: Cluster, state: State) -> None:
        where = secret_in(state.note)
        if where is not None:
            log.error("the provider's note looks like it holds a credential and is not written", field=where)
            note = f"The provider wanted to note something at {where} that looks like a credential; it was not written."
            self._record(cluster, reason="SecretNotWritten", note=note, warning=True)

    def _record(self, cluster: Cluster, *, reason: str, note: str, warning: bool) -> None:
        api = Cluster.API
        self._recorder.tell(
            cluster, api.api_version, api.kind, reason=reason, action="Reconcile", note=note, warning=warning
        )


def _waiting(holders: str) -> Report:
    message = f"The cluster is to be deleted, and is still held by {holders}."
    return Report(truth=Truth.FALSE, reason=WAITING, message=message, waits_for=holders)


def _is_going(cluster: Cluster) -> bool:
    """Whether its status tells already that its end has begun, however that goes."""
    status = cluster.status
    return (
        status is not None
        and status.phase == ClusterPhase.TERMINATING
        and found(status.conditions, FOREIGN_FINALIZERS) is None
    )


def _with(cluster: Cluster, **metadata: Any) -> Cluster:
    changed: Metadata = msgspec.structs.replace(cluster.metadata, **metadata)
    return msgspec.structs.replace(cluster, metadata=changed)
