"""The manager: runs controllers on shared stores, under a lease if there is one, and stops them in good order.

A *term* is the time from getting the lease to losing it or being asked to stop. It begins with empty stores, lists
everything, and only then lets controllers work. Asked to stop, it takes no more keys, finishes what runs, and gives the
lease back. Having lost the lease it drops everything and becomes a candidate again.

*Background jobs* run beside the controllers for the time of a term: a sweep now and then, or the telling of events.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Self, TypeVar

import structlog

from mooring import __version__
from mooring.kube import Client, Connection, Interrupted, Relisted, Resource, Timeouts, Undecodable, watching
from mooring.runtime.clock import Clock, SystemClock
from mooring.runtime.controller import Controller
from mooring.runtime.leader import Leader, LeadershipLost, LeaseSettings
from mooring.runtime.metrics import Metrics
from mooring.runtime.recorder import Recorder
from mooring.runtime.scopes import Scope
from mooring.runtime.store import IndexFunction, Store

T = TypeVar("T")

log = structlog.get_logger(__name__)

USER_AGENT = f"mooring/{__version__}"
GRACE = 30.0  # seconds that running reconciles have to end

Job = Callable[[], Awaitable[None]]

_PAUSE = 1.0  # seconds before a background job that failed begins again


@dataclass(frozen=True, slots=True)
class _Watched(Generic[T]):
    resource: Resource[T]
    scope: Scope
    store: Store[T]
    listed: asyncio.Event


class Manager:
    """Open it with ``async with``, ask it for stores, add controllers, and :meth:`run`."""

    def __init__(
        self,
        connection: Connection,
        *,
        identity: str,
        lease: LeaseSettings | None = None,
        clock: Clock | None = None,
        grace: float = GRACE,
        user_agent: str = USER_AGENT,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.metrics = Metrics()
        self._grace = grace
        self._lease_client: Client | None = None
        self.leader: Leader | None = None
        if lease is not None:
            # A renewal that hangs must leave time for another one, on another connection.
            patience = Timeouts(connect=lease.deadline / 3, request=lease.deadline / 2)
            self._lease_client = Client(connection, user_agent=user_agent, timeouts=patience)
            self.leader = Leader(self._lease_client, lease, self.clock, identity=identity)
        guard = None if self.leader is None else self.leader.guard
        self.client = Client(connection, user_agent=user_agent, guard=guard, heard=self.metrics.heard)
        self._watched: dict[tuple[str, Any, Scope], _Watched[Any]] = {}
        self._controllers: list[Controller] = []
        self._jobs: list[Job] = []
        self.recorder = Recorder(self.client, self.clock, controller="mooring", instance=identity)
        self.background(self.recorder.run)
        self._stopping = asyncio.Event()
        self._open = contextlib.AsyncExitStack()
        self._at_work = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self.client)
        if self._lease_client is not None:
            await self._open.enter_async_context(self._lease_client)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def store(
        self,
        resource: Resource[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        indexes: Mapping[str, IndexFunction[T]] | None = None,
    ) -> Store[T]:
        """The store of a kind. Whoever asks for the same gets the same, with everybody's indexes."""
        scope = Scope(namespace=namespace, label_selector=label_selector, field_selector=field_selector)
        shared = (resource.path(), resource.decode_as, scope)
        watched = self._watched.get(shared)
        if watched is None:
            store: Store[T] = Store(admits=scope.admits)
            watched = self._watched[shared] = _Watched(resource, scope, store, asyncio.Event())
            self.metrics.undecodable.labels(resource.kind).set_function(partial(self._unreadable, resource.kind))
        for name, function in (indexes or {}).items():
            watched.store.index(name, function)
        return watched.store

    def _unreadable(self, kind: str) -> float:
        stores = [watched.store for watched in self._watched.values() if watched.resource.kind == kind]
        return sum(len(store.undecodable) for store in stores)

    def add(self, controller: Controller) -> None:
        self._controllers.append(controller)
        self.metrics.introduce(controller.name)

    @property
    def controllers(self) -> Sequence[Controller]:
        return tuple(self._controllers)

    def background(self, job: Job) -> None:
        """Run the job in every term, from when controllers work until the last reconcile has ended; then cancel it.

        One that fails is logged and begins again after a pause; one that ends is not run again in this term.
        """
        self._jobs.append(job)

    @property
    def working(self) -> bool:
        """Whether all stores are filled and controllers run."""
        return self._at_work.is_set()

    async def until_working(self) -> None:
        await self._at_work.wait()

    @property
    def ready(self) -> bool:
        """Whether this process does what it should: work, or wait for its turn."""
        return self.working or (self.leader is not None and not self.leader.leading and not self._stopping.is_set())

    def stop(self) -> None:
        """Ask :meth:`run` to end: running reconciles are finished first."""
        self._stopping.set()

    async def run(self) -> None:
        """Work, term after term, until :meth:`stop`. Raises what cannot be mended by trying again."""
        while not self._stopping.is_set():
            try:
                if self.leader is None or await self._until_stopped(self.leader.acquire()):
                    await self._term()
            except LeadershipLost as error:
                log.warning("no longer leading; a candidate again", reason=str(error))
            finally:
                if self.leader is not None:
                    await self.leader.release()

    async def _term(self) -> None:
        self._begin_anew()
        self.metrics.leading.set(1)
        vital = [asyncio.create_task(self._feed(watched)) for watched in self._watched.values()]
        if self.leader is not None:
            vital.append(asyncio.create_task(self.leader.keep()))
        work: list[asyncio.Task[None]] = []
        jobs: list[asyncio.Task[None]] = []
        try:
            if await self._until_stopped(self._listed(), *vital):
                work = [
                    asyncio.create_task(controller.work(self.clock, self.metrics)) for controller in self._controllers
                ]
                jobs = [asyncio.create_task(self._persist(job)) for job in self._jobs]
                self._at_work.set()
                log.info("working", controllers=[controller.name for controller in self._controllers])
                if await self._until_stopped(asyncio.Event().wait(), *vital, *work):
                    raise LeadershipLost("A write was refused.")  # else no controller ends by itself
            await self._finish(work)
        finally:
            self._at_work.clear()
            self.metrics.leading.set(0)
            await _cancel([*work, *jobs, *vital])

    async def _finish(self, work: list[asyncio.Task[None]]) -> None:
        """Let running reconciles end; the lease is still renewed meanwhile."""
        for controller in self._controllers:
            controller.close()
        if work:
            _, late = await asyncio.wait(work, timeout=self._grace)
            if late:
                log.warning("some reconciles did not end in time and are cut off", seconds=self._grace)

    async def _persist(self, job: Job) -> None:
        """Run the job to its end, however often it fails."""
        while True:
            try:
                return await job()
            except Exception as error:
                name = getattr(job, "__qualname__", repr(job))
                log.error("a background job failed; it begins again", job=name, pause=_PAUSE, exc_info=error)
            await self.clock.sleep(_PAUSE)

    def _begin_anew(self) -> None:
        for watched in self._watched.values():
            watched.store.clear()
            watched.listed.clear()
        for controller in self._controllers:
            controller.open(self.clock, self.metrics)

    async def _listed(self) -> None:
        for watched in self._watched.values():
            await watched.listed.wait()

    async def _feed(self, watched: _Watched[T]) -> None:
        scope, kind = watched.scope, watched.resource.kind
        events = watching(
            self.client,
            watched.resource,
            namespace=scope.namespace,
            label_selector=scope.label_selector,
            field_selector=scope.field_selector,
            known=watched.store.get,
        )
        async with contextlib.aclosing(events):
            async for event in events:
                watched.store.apply(event)
                match event:
                    case Relisted():
                        for lost in event.undecodable:
                            log.error(
                                "an object cannot be read and is skipped", kind=kind, key=str(lost.key), why=lost.error
                            )
                        watched.listed.set()
                    case Undecodable():
                        log.error(
                            "an object cannot be read and is skipped", kind=kind, key=str(event.key), why=event.error
                        )
                    case Interrupted():
                        log.warning("the watch is interrupted", kind=kind, error=str(event.error), pause=event.pause)

    async def _until_stopped(self, wanted: Any, *others: asyncio.Task[None]) -> bool:
        """Wait for what is wanted; False if we are asked to stop before. Fails if one of the others ends."""
        task, asked = asyncio.ensure_future(wanted), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({task, asked, *others}, return_when=asyncio.FIRST_COMPLETED)
            for other in others:
                if other.done():
                    other.result()  # raises what ended it
            if asked.done():
                return False
            if task.done():
                task.result()
            return True
        finally:
            await _cancel([task, asked])


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
