"""A controller: changes become keys, keys become runs of one reconciler, on several workers.

Sources map what changed to the keys that care; the queue sees to it that a key is worked on once at a time. A
reconciler that fails is run again later and later; one that always fails holds up nobody but itself. Objects that are
annotated to be ignored (see ``predicates``) are not reconciled, whoever asks for it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog

from mooring.kube import Change, KubeError, ObjectKey
from mooring.kube.errors import Conflict
from mooring.runtime.clock import Clock
from mooring.runtime.leader import NotLeader
from mooring.runtime.metrics import Metrics
from mooring.runtime.predicates import Predicate, anything, is_ignored
from mooring.runtime.queue import Queue, QueueClosed
from mooring.runtime.reconcile import Outcome, Reconciler, Terminal, TryAgain
from mooring.runtime.store import Store

T = TypeVar("T")

log = structlog.get_logger(__name__)

WORKERS = 16


def own_key(change: Change[Any]) -> Iterable[ObjectKey]:
    """The object itself."""
    return (change.key,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Generic[T]):
    """Where keys come from: changes in a store that pass ``when``, mapped by ``keys``."""

    store: Store[T]
    keys: Callable[[Change[T]], Iterable[ObjectKey]] = own_key
    when: Predicate = anything


class Controller:
    """One reconciler and what wakes it."""

    def __init__(
        self, name: str, reconciler: Reconciler, sources: Sequence[Source[Any]], *, workers: int = WORKERS
    ) -> None:
        self.name = name
        self._reconciler = reconciler
        self._workers = workers
        self._numbers = itertools.count(1)
        self._queue: Queue[ObjectKey] | None = None
        self._own = [source.store for source in sources if source.keys is own_key]
        for source in sources:
            source.store.subscribe(self._listener(source))

    def open(self, clock: Clock, metrics: Metrics) -> None:
        """Begin to gather keys. A queue is made anew for each term of leadership."""
        self._queue = Queue(clock)
        metrics.introduce(self.name)
        metrics.depth.labels(self.name).set_function(self._depth)
        metrics.running.labels(self.name).set_function(self._running)

    async def work(self, clock: Clock, metrics: Metrics) -> None:
        """Run until the queue is closed and what was begun is ended. :meth:`open` comes first."""
        queue = self._queue
        if queue is None:
            raise RuntimeError(f"the controller {self.name} is not open")
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work(queue, clock, metrics))

    def close(self) -> None:
        """Take no more keys."""
        if self._queue is not None:
            self._queue.close()

    def enqueue(self, key: ObjectKey) -> None:
        """Have a key looked at, for a reason that no store knows."""
        if self._queue is not None:
            self._queue.add(key)

    @property
    def busy(self) -> bool:
        """Whether a key is due or being worked on. What waits for its time does not count."""
        return bool(self._depth() or self._running())

    def _listener(self, source: Source[T]) -> Callable[[Change[T]], None]:
        def listen(change: Change[T]) -> None:
            queue = self._queue
            if queue is not None and source.when(change):
                for key in source.keys(change):
                    queue.add(key)

        return listen

    def _depth(self) -> float:
        return 0 if self._queue is None else len(self._queue)

    def _running(self) -> float:
        return 0 if self._queue is None else self._queue.running

    async def _work(self, queue: Queue[ObjectKey], clock: Clock, metrics: Metrics) -> None:
        latency, duration = metrics.latency.labels(self.name), metrics.duration.labels(self.name)
        while True:
            try:
                key, waited = await queue.get()
            except QueueClosed:
                return
            latency.observe(waited)
            begun = clock.elapsed()
            try:
                result = await self._run(queue, key)
            except BaseException:
                queue.done(key)
                raise
            duration.observe(clock.elapsed() - begun)
            metrics.reconciles.labels(self.name, result).inc()
            if result == "failed":
                metrics.retries.labels(self.name).inc()

    async def _run(self, queue: Queue[ObjectKey], key: ObjectKey) -> str:
        """One reconcile, and what becomes of the key after it."""
        if any(is_ignored(store.get(key)) for store in self._own):
            queue.done(key)
            return "ignored"
        with structlog.contextvars.bound_contextvars(controller=self.name, key=str(key), reconcile=next(self._numbers)):
            try:
                outcome = await self._reconciler.reconcile(key)
            except NotLeader as error:
                log.warning("a write was refused; taking no more keys", reason=str(error))
                queue.close()  # nobody here may write any more
                queue.done(key)
                return "terminal"
            except Terminal as error:
                log.warning("waiting for a change", reason=str(error))
                queue.done(key)
                return "terminal"
            except Exception as error:
                self._tell(error, queue.failed(key))
                return "failed"
            return _ended(queue, key, outcome)

    def _tell(self, error: Exception, pause: float) -> None:
        if isinstance(error, Conflict | TryAgain):
            log.debug("looking again", reason=str(error), pause=pause)
        elif isinstance(error, KubeError):
            log.warning("the API server did not do it; trying again", error=str(error), pause=pause)
        else:
            log.error("reconciling failed; trying again", exc_info=error, pause=pause)


def _ended(queue: Queue[ObjectKey], key: ObjectKey, outcome: Outcome) -> str:
    queue.done(key, after=outcome.after)
    return "ok" if outcome.after is None else "requeued"
