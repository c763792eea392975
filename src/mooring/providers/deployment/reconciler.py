"""The reconciler of ClusterProviders: has the init command run, then the run command, and tells how they are.

It works on a ground (``grounds``) and knows nothing of Pods or processes. A provider is held by our finalizer before
anything is made for it, and let go when nothing is left. Stopped anywhere, the next run begins anew.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from mooring.api.clusters import ClusterProfile
from mooring.api.conditions import READY, Truth, found
from mooring.api.kinds import Metadata
from mooring.api.marks import OPERATION_ANNOTATION, OPERATION_RECONCILE, PROVIDER_FINALIZER
from mooring.api.providers import ClusterProvider, ClusterProviderStatus
from mooring.api.references import ObjectReference
from mooring.kube import ObjectKey, key_of, typed
from mooring.kube.errors import ApiError, Conflict, NotFound, ServerError, TooManyRequests
from mooring.providers.deployment import status
from mooring.providers.deployment.contract import Unfit
from mooring.providers.deployment.grounds import Ground, Progress
from mooring.providers.deployment.reasons import UNINSTALL_FAILED, UNINSTALLED, UNINSTALLING
from mooring.providers.deployment.seen import Seen
from mooring.providers.deployment.status import Report, Said, status_of
from mooring.providers.sdk.asking import Pauses
from mooring.runtime import Manager, Outcome, Writer, with_finalizer, without_finalizer
from mooring.runtime.clock import timestamp

_PASSING = (Conflict, ServerError, TooManyRequests)  # not worth a word: they are tried again at once


class ProviderReconciler:
    """For all providers of one installation."""

    def __init__(self, manager: Manager, seen: Seen, ground: Ground) -> None:
        self._seen = seen
        self._ground = ground
        self._clock = manager.clock
        self._recorder = manager.recorder
        self._writer = Writer(manager.client, typed(ClusterProvider), seen.providers)
        self._profiles = Writer(manager.client, typed(ClusterProfile), seen.profiles)
        self._pauses = Pauses()
        self.told: dict[ObjectKey, ClusterProviderStatus] = {}  # as we last wrote it

    def begin_anew(self) -> None:
        """Another replica may have worked since: what we remember is old."""
        self.told.clear()

    async def reconcile(self, key: ObjectKey) -> Outcome:
        provider = self._seen.providers.get(key)
        if provider is None:
            self._forget(key)
            return Outcome.await_change()
        provider = await self._noticed(provider)
        if provider.metadata.deleting:
            return await self._end(provider)
        provider = await self._held(provider)
        report, look_again = await self._deployed(provider)
        await self._tell(provider, report)
        return self._next_look(key, report, look_again)

    # -- deploying ----------------------------------------------------------------------------------------------

    async def _deployed(self, provider: ClusterProvider) -> tuple[Report, float | None]:
        """Bring it a step nearer to being at work. What cannot be done is told, and looked at again."""
        metrics = _metrics_before(provider)
        try:
            init = await self._ground.initialised(provider)
        except (Unfit, ApiError) as error:
            said = status.init_not_created(_why(error))
            return Report(initialized=said, ready=status.ready(None), metrics=metrics), self._pause(provider, said)
        initialized = status.initialized(init)
        if not init.done:
            return Report(initialized=initialized, ready=status.ready(None), metrics=metrics), init.look_again
        try:
            run = await self._ground.running(provider)
        except (Unfit, ApiError) as error:
            said = status.not_installed(_why(error))
            return Report(initialized=initialized, ready=said, metrics=metrics), self._pause(provider, said)
        metrics = self._ground.metrics(provider)
        return Report(initialized=initialized, ready=status.ready(run), metrics=metrics), _sooner(init, run)

    def _pause(self, provider: ClusterProvider, said: Said) -> float:
        return self._pauses.next(key_of(provider), said.reason)

    def _next_look(self, key: ObjectKey, report: Report, look_again: float | None) -> Outcome:
        if report.ready.truth is Truth.TRUE:
            self._pauses.forget(key)
        return Outcome.await_change() if look_again is None else Outcome.requeue(after=look_again)

    # -- ending -------------------------------------------------------------------------------------------------

    async def _end(self, provider: ClusterProvider) -> Outcome:
        key = key_of(provider)
        if PROVIDER_FINALIZER not in provider.metadata.finalizers:
            self._forget(key)
            return Outcome.await_change()  # it was never begun, or others have it now
        clusters = await self._seen.clusters_of(key.name)
        if clusters:
            return await self._stay(provider, clusters)
        if not _is_going(provider):
            await self._tell(provider, Report(ready=status.going(), uninstalled=status.uninstalling()))
        try:
            gone = await self._ground.remove(provider)
            if gone:
                await self._take_back_profiles(key.name)
        except (Unfit, ApiError) as error:
            failed = status.not_uninstalled(_why(error))
            await self._tell(provider, Report(ready=status.going(), uninstalled=failed))
            return Outcome.requeue(after=self._pause(provider, failed))
        if not gone:
            await self._tell(provider, Report(ready=status.going(), uninstalled=status.uninstalling()))
            return Outcome.requeue(after=self._pause(provider, status.uninstalling()))
        await self._let_go(provider)
        return Outcome.await_change()

    async def _stay(self, provider: ClusterProvider, clusters: list[ObjectKey]) -> Outcome:
        """Nobody else can remove its clusters: so it works on until the last one is gone."""
        report, look_again = await self._deployed(_before_deletion(provider))
        remain = status.clusters_remain(clusters)
        await self._tell(provider, dataclasses.replace(report, uninstalled=remain))
        return self._next_look(key_of(provider), report, look_again)

    async def _take_back_profiles(self, provider: str) -> None:
        """A profile that is left behind would promise clusters that nobody makes."""
        for profile in self._seen.profiles_of(provider):
            try:
                await self._profiles.delete(profile, guarded=True)
            except NotFound:
                self._seen.profiles.deleted(profile)

    async def _let_go(self, provider: ClusterProvider) -> None:
        there = self._seen.providers.get(key_of(provider))
        if there is not None and there.metadata.uid == provider.metadata.uid:
            finalizers = without_finalizer(there.metadata.finalizers, PROVIDER_FINALIZER)
            try:
                # Guarded: a list is written whole, and others write in it, too.
                await self._writer.save(there, _with(there, finalizers=finalizers), guarded=True)
            except NotFound:
                self._seen.providers.deleted(there)
        self._forget(key_of(provider))

    def _forget(self, key: ObjectKey) -> None:
        self._pauses.forget(key)
        self.told.pop(key, None)

    # -- writing ------------------------------------------------------------------------------------------------

    async def _noticed(self, provider: ClusterProvider) -> ClusterProvider:
        """Take the word to look at it now away again."""
        annotations = dict(provider.metadata.annotations)
        if annotations.get(OPERATION_ANNOTATION) != OPERATION_RECONCILE:
            return provider
        del annotations[OPERATION_ANNOTATION]
        return await self._writer.save(provider, _with(provider, annotations=annotations))

    async def _held(self, provider: ClusterProvider) -> ClusterProvider:
        finalizers = with_finalizer(provider.metadata.finalizers, PROVIDER_FINALIZER)
        if finalizers == provider.metadata.finalizers:
            return provider
        return await self._writer.save(provider, _with(provider, finalizers=finalizers), guarded=True)

    async def _tell(self, provider: ClusterProvider, report: Report) -> None:
        """Write down how it is, if that is news."""
        key = key_of(provider)
        there = self._seen.providers.get(key)
        if there is None or there.metadata.uid != provider.metadata.uid:
            return
        if there.metadata.generation != provider.metadata.generation:
            return  # the report speaks of what is no longer asked for; the change has woken us already
        told = status_of(there, report, self._seen.profiles_of(key.name), now=self._now())
        self.told[key] = told
        try:
            await self._writer.save(there, msgspec.structs.replace(there, status=told), guarded=True)
        except NotFound:
            self._seen.providers.deleted(there)
            return
        except BaseException:
            self.told.pop(key, None)
            raise
        self._announce(there, told)

    def _now(self) -> str:
        return timestamp(self._clock.now())

    def _announce(self, before: ClusterProvider, told: ClusterProviderStatus) -> None:
        """An event when the standing of a provider changes, and not when it is only described anew."""
        for kind in (READY, UNINSTALLED):
            old = None if before.status is None else found(before.status.conditions, kind)
            new = found(told.conditions, kind)
            if new is None or (old is not None and (old.status, old.reason) == (new.status, new.reason)):
                continue
            if new.status is not Truth.UNKNOWN:
                api = ClusterProvider.API
                self._recorder.tell(
                    before,
                    api.api_version,
                    api.kind,
                    reason=new.reason,
                    action="Deploy",
                    note=new.message,
                    warning=new.status is Truth.FALSE and not before.metadata.deleting,
                )


def _why(error: Unfit | ApiError) -> str:
    """In words for the status; what passes by itself is none of them, and is raised again."""
    if isinstance(error, _PASSING):
        raise error
    return str(error) if isinstance(error, Unfit) else f"The API server refuses it: {error.message}"


def _before_deletion(provider: ClusterProvider) -> ClusterProvider:
    """With the generation of its spec: servers count the deletion as a change, and nothing is to be done for that."""
    return _with(provider, generation=provider.metadata.generation - 1)


def _metrics_before(provider: ClusterProvider) -> ObjectReference | None:
    """Where its metrics were: they stay there until the run command is set up anew."""
    known = None if provider.status is None else provider.status.metrics
    return None if known is None else known.service_ref


def _sooner(*looks: Progress) -> float | None:
    times = [one.look_again for one in looks if one.look_again is not None]
    return min(times) if times else None


def _is_going(provider: ClusterProvider) -> bool:
    """Whether its status tells already that it is being uninstalled, however that goes."""
    said = None if provider.status is None else found(provider.status.conditions, UNINSTALLED)
    return said is not None and said.reason in (UNINSTALLING, UNINSTALL_FAILED)


def _with(provider: ClusterProvider, **metadata: Any) -> ClusterProvider:
    changed: Metadata = msgspec.structs.replace(provider.metadata, **metadata)
    return msgspec.structs.replace(provider, metadata=changed)
