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


def timestamp(moment: datetime.datetime) -> str:
    """A moment as Kubernetes writes it."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Timer(Protocol):
    """Something that will happen, unless it is called off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> datetime.datetime:
        """What the calendar says, in UTC. May be set back; good for timestamps and for times that others wrote."""

    def elapsed(self) -> float:
        """Seconds since some moment. Never goes back, and goes on while the machine sleeps."""

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call back when :meth:`elapsed` has reached ``when``; or sooner, if the calendar was set forward meanwhile."""

    async def sleep(self, seconds: float) -> None: ...


# The event loop's own clock stands still while the machine sleeps, and nobody tells when the calendar is set: far-off
# timers look again this often (seconds).
_LONGEST_NAP = 60.0


class _Alarm:
    """A timer that rings by :meth:`SystemClock.elapsed`, or before that if the calendar was set forward by as much: who
    waits may wait for a moment that somebody has written down, such as the end of a token. Who does not looks once in
    vain."""

    __slots__ = ("_callback", "_clock", "_moment", "_nap", "_when")

    def __init__(self, clock: SystemClock, when: float, callback: Callable[[], None]) -> None:
        self._clock, self._when, self._callback = clock, when, callback
        self._moment = clock.now().timestamp() + when - clock.elapsed()
        self._doze()

    def cancel(self) -> None:
        self._nap.cancel()

    def _doze(self) -> None:
        left = max(0.0, self._when - self._clock.elapsed())
        self._nap = asyncio.get_running_loop().call_later(min(left, _LONGEST_NAP), self._wake)

    def _wake(self) -> None:
        if self._clock.elapsed() < self._when and self._clock.now().timestamp() < self._moment:
            self._doze()
        else:
            self._callback()


class SystemClock:
    """The clock of the machine. ``elapsed`` is CLOCK_BOOTTIME: a lease runs out also while a laptop is closed."""

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    def elapsed(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        return _Alarm(self, when, callback)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
