"""A bar: what is measured, its floor, and what must be reached. Prints and keeps the results."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

RUNS = 5


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    value: float
    unit: str
    floor: float | None
    ratio: float | None
    must: str
    holds: bool
    runs: int


@dataclass(frozen=True, slots=True)
class Limit:
    """What a ratio (or, where there is none, a value) must reach."""

    text: str
    at_most: float | None = None
    at_least: float | None = None

    def holds(self, figure: float) -> bool:
        return (self.at_most is None or figure <= self.at_most) and (self.at_least is None or figure >= self.at_least)


Measure = Callable[[int], Awaitable[float]]


async def take_turns(name: str, subject: Measure, floor: Measure, *, runs: int = RUNS) -> tuple[float, float]:
    """Medians of subject and floor; who goes first changes from turn to turn."""
    seen: dict[Measure, list[float]] = {subject: [], floor: []}
    for turn in range(runs):
        for measure in (floor, subject) if turn % 2 == 0 else (subject, floor):
            seen[measure].append(await measure(turn))
        told = f"{name}: turn {turn + 1} of {runs}: {seen[subject][-1]:.3f} (floor {seen[floor][-1]:.3f})"
        print(told, file=sys.stderr, flush=True)
    return statistics.median(seen[subject]), statistics.median(seen[floor])


def compared(name: str, value: float, floor: float, unit: str, limit: Limit, *, runs: int = RUNS) -> Result:
    """A result whose ratio to the floor counts."""
    ratio = value / floor
    return Result(name, value, unit, floor, ratio, limit.text, limit.holds(ratio), runs)


def table(results: list[Result]) -> str:
    header = ("name", "value", "unit", "floor", "ratio", "must", "holds", "runs")
    rows = [header, *(tuple(_cell(field) for field in asdict(result).values()) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def keep(results: list[Result], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return "-" if value is None else str(value)
