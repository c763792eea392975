"""How long a request lives: ``spec.ttl``, counted from its creation. Pure: the time comes in as a value."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from mooring.api.durations import seconds_of
from mooring.api.requests import ClusterRequest

_WARN_AT = 0.2  # of its life before the end …
_WARN_AT_MOST = 86_400.0  # … but not longer than a day before


@dataclass(frozen=True, slots=True)
class Life:
    """What is left. Without a ttl, everything is None."""

    ends: datetime.datetime | None = None
    left: float | None = None  # seconds; negative when it is over
    warning: float = 0.0  # seconds before the end at which a warning is due

    @property
    def over(self) -> bool:
        return self.left is not None and self.left <= 0

    @property
    def ending(self) -> bool:
        """Whether it is time to warn."""
        return self.left is not None and self.left <= self.warning

    @property
    def next_look(self) -> float | None:
        """Seconds until something about it changes; None: never."""
        if self.left is None:
            return None
        return max(0.0, self.left if self.ending else self.left - self.warning)


def life_of(request: ClusterRequest, now: datetime.datetime) -> Life:
    """The life of a request. A ttl that cannot be read, which the server refuses, is none."""
    try:
        ttl = seconds_of(request.spec.ttl) if request.spec.ttl else 0.0
        born = datetime.datetime.fromisoformat(request.metadata.creation_timestamp)
        ends = born + datetime.timedelta(seconds=ttl)
    except (ValueError, OverflowError):
        return Life()
    if ttl <= 0:
        return Life()
    return Life(ends, (ends - now).total_seconds(), min(_WARN_AT * ttl, _WARN_AT_MOST))
