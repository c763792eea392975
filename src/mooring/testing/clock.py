"""A clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
import datetime
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

_SETTLE = 50  # turns of the event loop that work gets between two timers


@dataclass(order=True, slots=True)
class _Set:
    when: float
    number: int
    callback: Callable[[], None] = field(compare=False)
    off: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.off = True


class SimulatedClock:
    """Time that passes only by :meth:`advance`. Timers ring in their order, each at its own moment."""

    def __init__(self, start: datetime.datetime | None = None) -> None:
        self._start = start or datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        self._elapsed = 0.0
        self._timers: list[_Set] = []
        self._numbers = itertools.count()

    def now(self) -> datetime.datetime:
        return self._start + datetime.timedelta(seconds=self._elapsed)

    def elapsed(self) -> float:
        return self._elapsed

    def call_at(self, when: float, callback: Callable[[], None]) -> _Set:
        timer = _Set(when, next(self._numbers), callback)
        heapq.heappush(self._timers, timer)
        return timer

    async def sleep(self, seconds: float) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_at(self._elapsed + seconds, lambda: None if waiting.done() else waiting.set_result(None))
        try:
            await waiting
        finally:
            timer.cancel()

    async def advance(self, seconds: float) -> None:
        """Let so much time pass, with everything that happens in it."""
        if seconds < 0:
            raise ValueError("time does not go back")
        end = self._elapsed + seconds
        await self.settle()
        while self._timers and self._timers[0].when <= end:
            timer = heapq.heappop(self._timers)
            if timer.off:
                continue
            self._elapsed = max(self._elapsed, timer.when)
            timer.callback()
            await self.settle()
        self._elapsed = end
        await self.settle()

    async def settle(self) -> None:
        """Let everything run that can run without time passing (and without answers from elsewhere)."""
        for _ in range(_SETTLE):
            await asyncio.sleep(0)
