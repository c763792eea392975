"""The one contract of all controllers: key in, outcome out.

Why a reconciler was woken is not its business, and not an argument: it looks at the world and decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from mooring.kube import ObjectKey


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to happen with this key now."""

    after: float | None = None

    @classmethod
    def await_change(cls) -> Self:
        """Nothing, until something changes."""
        return cls()

    @classmethod
    def requeue(cls, *, after: float) -> Self:
        """Look again after so many seconds, or when something changes."""
        return cls(max(0.0, after))


class TryAgain(Exception):
    """Not now, and no fault of anybody: look again, later and later. The message is for those who debug."""


class Terminal(Exception):
    """Trying again would not help: wait until something changes. The message is for the log."""


class Reconciler(Protocol):
    """A controller's decision. Called for one key at a time, never twice at once for the same one.

    Raising means: try again, later and later; :class:`TryAgain` says so without alarm. :class:`Terminal` means: don't.
    """

    async def reconcile(self, key: ObjectKey) -> Outcome: ...
