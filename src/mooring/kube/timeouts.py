"""How long to wait, and when to try again.

The rule of trying again: only what cannot do harm twice. A read always may. A write may when it surely never
left (no connection) or was surely turned away unread (429, 401). A write whose answer got lost is never
repeated here: its caller is told that the outcome is unknown, and looks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds. `request` is one try of one call, from sending to the last byte of the answer."""

    connect: float = 10.0
    request: float = 60.0
    # A healthy watch hears a bookmark about once a minute; three missed ones mean that nobody is there.
    watch_silence: float = 180.0


@dataclass(slots=True)
class Backoff:
    """Growing pauses with jitter, so that many who failed together do not come back together."""

    first: float
    longest: float
    growth: float = 2.0
    failures: int = 0

    def next_pause(self) -> float:
        pause = min(self.longest, self.first * self.growth ** min(self.failures, 30))
        self.failures += 1
        return pause * random.uniform(0.5, 1.0)  # noqa: S311 - spreading load, not guarding anything

    def reset(self) -> None:
        self.failures = 0
