"""How waiting looks: a bar on a terminal, a line now and then in a log. Always on stderr.

Draws what `mooring.controlplane.progress` says. Nothing is imported or printed before there is something to
tell, so a command that finds everything in place pays nothing for being able to show how far it is.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mooring.controlplane.progress import Progress, Unit

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

_SECONDS_BETWEEN_LINES = 10.0


@contextlib.contextmanager
def showing_progress() -> Iterator[Progress]:
    """Someone to tell how the work goes, in the form that suits where stderr leads to."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    bar = Bar()
    try:
        yield bar
    finally:
        bar.close()


class Lines:
    """For a log: each step and note is a line, and every ten seconds one says how far the step is."""

    def __init__(self) -> None:
        self._step = ""
        self._told_at = time.monotonic()

    def step(self, what: str) -> None:
        self._step = what
        self._say(what)

    def advance(self, done: int, total: int | None, *, unit: Unit, detail: str = "") -> None:
        if time.monotonic() - self._told_at >= _SECONDS_BETWEEN_LINES:
            self._say(f"{self._step}: {amount(done, total, unit)} {detail}".rstrip())

    def note(self, text: str) -> None:
        self._say(text)

    def _say(self, text: str) -> None:
        self._told_at = time.monotonic()
        print(text, file=sys.stderr, flush=True)


class Bar:
    """For a person at a terminal: the current step as a bar below the notes."""

    def __init__(self) -> None:
        self._bars: Bars | None = None

    def step(self, what: str) -> None:
        bars = self._drawn()
        for task in bars.task_ids:
            bars.remove_task(task)
        bars.add_task(what, total=None, amount="", detail="")

    def advance(self, done: int, total: int | None, *, unit: Unit, detail: str = "") -> None:
        bars = self._drawn()
        for task in bars.task_ids:
            bars.update(task, completed=done, total=total, amount=amount(done, total, unit), detail=detail[-60:])

    def note(self, text: str) -> None:
        self._drawn().console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        if self._bars is not None:
            self._bars.stop()

    def _drawn(self) -> Bars:
        if self._bars is None:
            self._bars = _new_bars()
            self._bars.start()
        return self._bars


def _new_bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console: Console = Console(stderr=True)
    # Names and addresses may hold square brackets, which are not meant as markup.
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[amount]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=console,
        transient=True,
    )


def amount(done: int, total: int | None, unit: Unit) -> str:
    """How far, in words: ``12 of 106 MB``, ``31 modules``."""
    if unit is Unit.BYTES:
        done, total, name = done // 1_000_000, None if total is None else total // 1_000_000, "MB"
    else:
        name = str(unit)
    return f"{done} {name}" if total is None else f"{done} of {total} {name}"
