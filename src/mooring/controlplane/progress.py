"""How long work tells the person who waits for it: steps, how far the step is, and remarks.

The words are defined here, where the work is done; the CLI draws them (a bar on a terminal, a line now and
then in a log). Whoever calls this room from a program passes `Silent()` or something of its own.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Unit(StrEnum):
    """What is being counted."""

    BYTES = "bytes"
    MODULES = "modules"
    PACKAGES = "packages"


class Progress(Protocol):
    """Someone who is told how the work goes."""

    def step(self, what: str) -> None:
        """A new step begins, and the one before it is over."""

    def advance(self, done: int, total: int | None, *, unit: Unit, detail: str = "") -> None:
        """The current step is this far; a total of None means that nobody knows it yet."""

    def note(self, text: str) -> None:
        """Something that a person wants to know, whatever step it happens in."""


class Silent:
    """Nobody waits."""

    def step(self, what: str) -> None: ...

    def advance(self, done: int, total: int | None, *, unit: Unit, detail: str = "") -> None: ...

    def note(self, text: str) -> None: ...
