"""Time, as a thing that is handed in.

Queue, timers, lease and expiry all read this one clock, so a test can hand in another and move it by hand
(``mooring.testing.clock``).
"""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will happen, unless it is called off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> datetime.datetime:
        """What the calendar says, in UTC. May be set back; good for timestamps and for times that others wrote."""

    def elapsed(self) -> float:
        """Seconds since some moment. Never goes back, and goes on while the machine sleeps."""

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call back when :meth:`elapsed` has reached ``when``."""

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The clock of the machine. ``elapsed`` is CLOCK_BOOTTIME: a lease runs out also while a laptop is closed."""

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    def elapsed(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(max(0.0, when - self.elapsed()), callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
