"""Colours, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Colour(Enum):
    """How a terminal is told: where it begins, and where it ends."""

    GRAY = ("90", "0")
    RED = ("31", "0")
    GREEN = ("32", "0")
    YELLOW = ("33", "0")
    CYAN = ("36", "0")
    WHITE = ("37", "0")
    BOLD = ("1", "22")
    BOLD_WHITE = ("37;1", "0;22")


@dataclass(frozen=True, slots=True)
class Paint:
    """Paints, if there is colour."""

    colours: bool = False

    def __call__(self, colour: Colour, text: str) -> str:
        if not self.colours:
            return text
        begin, end = colour.value
        return f"\x1b[{begin}m{text}\x1b[{end}m"


def wants_colour(environ: Mapping[str, str], *, terminal: bool) -> bool:
    """What holds when nobody says otherwise."""
    return terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
