"""The queue of a controller: which keys are due, and when the others will be.

Guarantees:
    A key is in the queue at most once, and never handed out while it is being worked on; what is added meanwhile comes
    once more afterwards. Keys come out in the order they went in, so one that fails all the time delays nobody: it
    waits outside, longer and longer.
    A change brings a waiting key forward, but not sooner than a second after its last failure. Without that, a
    reconciler that writes and then fails would wake itself by its own write, at full speed.

Assumptions: one event loop.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mooring.runtime.clock import Clock, Timer

K = TypeVar("K")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 300.0
_COOLING = 1.0  # seconds after a failure before a change may bring the key back


@dataclass(slots=True)
class _Waiting:
    """A key that failed, or that is to be looked at later."""

    timer: Timer
    due: float


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last: float = 0.0


@dataclass(eq=False)
class Queue(Generic[K]):
    """Keys in, keys out. ``spread`` draws the jitter: a number from 0 to 1."""

    clock: Clock
    spread: Callable[[], float] = random.random
    _due: deque[K] = field(default_factory=deque)
    _since: dict[K, float] = field(default_factory=dict)  # queued keys and when they became due
    _running: set[K] = field(default_factory=set)
    _again: set[K] = field(default_factory=set)  # running keys that are due once more
    _waiting: dict[K, _Waiting] = field(default_factory=dict)
    _failures: dict[K, _Failures] = field(default_factory=dict)
    _takers: deque[asyncio.Future[None]] = field(default_factory=deque)
    _closed: bool = False

    def __len__(self) -> int:
        return len(self._due)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, key: K) -> None:
        """The key is due: something changed."""
        if key in self._running:
            self._again.add(key)
            return
        if key in self._since:
            return
        failed = self._failures.get(key)
        now = self.clock.elapsed()
        if failed is not None and now < failed.last + _COOLING:
            self._wait(key, failed.last + _COOLING)
            return
        self._call_off(key)
        self._make_due(key)

    async def get(self) -> tuple[K, float]:
        """The next key and how long it has waited; the caller must call :meth:`done` or :meth:`failed` for it."""
        while not self._due:
            if self._closed:
                raise QueueClosed
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                self._pass_on(taker)
                raise
        if self._closed:
            raise QueueClosed
        key = self._due.popleft()
        self._running.add(key)
        return key, self.clock.elapsed() - self._since.pop(key)

    def done(self, key: K, *, after: float | None = None) -> None:
        """The work on this key ended well; look again ``after`` so many seconds, if given."""
        self._failures.pop(key, None)
        self._leave(key, None if after is None else self.clock.elapsed() + after)

    def failed(self, key: K) -> float:
        """The work on this key failed: it is due again after the returned pause, or a bit after a change."""
        failures = self._failures.setdefault(key, _Failures())
        failures.last = self.clock.elapsed()
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures.count, 30)) * (0.5 + 0.5 * self.spread())
        failures.count += 1
        self._leave(key, failures.last + pause)
        return pause

    def close(self) -> None:
        """Hand out nothing more. What runs may still be ended."""
        self._closed = True
        for waiting in self._waiting.values():
            waiting.timer.cancel()
        self._waiting.clear()
        self._due.clear()
        self._since.clear()
        for taker in self._takers:
            if not taker.done():
                taker.set_result(None)

    def _leave(self, key: K, due: float | None) -> None:
        self._running.discard(key)
        self._call_off(key)
        if due is not None:
            self._wait(key, due)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _wait(self, key: K, due: float) -> None:
        if self._closed:
            return
        known = self._waiting.get(key)
        if known is not None and known.due <= due:
            return
        self._call_off(key)
        self._waiting[key] = _Waiting(self.clock.call_at(due, lambda: self._ripen(key)), due)

    def _ripen(self, key: K) -> None:
        self._waiting.pop(key, None)
        if key in self._running:
            self._again.add(key)
        elif key not in self._since:
            self._make_due(key)

    def _make_due(self, key: K) -> None:
        if self._closed:
            return
        self._due.append(key)
        self._since[key] = self.clock.elapsed()
        self._wake_one()

    def _call_off(self, key: K) -> None:
        known = self._waiting.pop(key, None)
        if known is not None:
            known.timer.cancel()

    def _wake_one(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _pass_on(self, taker: asyncio.Future[None]) -> None:
        """A taker that gives up leaves no trace; one that was woken and cancelled at once must not swallow the call."""
        if taker.done() and not taker.cancelled():
            self._wake_one()
        else:
            self._takers.remove(taker)


class QueueClosed(Exception):
    """There will be no more keys."""
