"""Text in columns, laid out as the other clusterctl has it: Go's tabwriter, with its filter for HTML on.

A cell ends at a tab. Cells of consecutive lines are a column, and what is behind the last tab of a line is in none. A
``<`` or ``&`` begins a tag or an entity that takes up no room, or one place; if it never ends, neither do cells and
lines in it. That is odd, and what somebody sees who compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_GAP: Final = 2
_PART: Final = re.compile(r"<[^>]*>?|&[^;]*;?|[\t\v\n\f]|[^<&\t\v\n\f]+")

Cell = tuple[str, int]  # the text, and how wide it is


def aligned(text: str) -> str:
    """The text with spaces in place of its tabs."""
    return "\n".join(_laid_out(_lines(text), ()))


def _lines(text: str) -> list[list[Cell]]:
    lines: list[list[Cell]] = [[]]
    cell, width = "", 0
    for part in _PART.findall(text):
        if part in "\t\v\n\f":
            lines[-1].append((cell, width))
            cell, width = "", 0
            if part in "\n\f":
                lines.append([])
        else:
            cell += part
            width += {"<": 0, "&": 1}.get(part[0], len(part))
    lines[-1].append((cell, width))
    return lines


def _laid_out(lines: Sequence[Sequence[Cell]], widths: tuple[int, ...]) -> list[str]:
    """The lines, of whose columns the first have these widths."""
    column, done = len(widths), 0
    told: list[str] = []
    while done < len(lines):
        end = done
        while end < len(lines) and column < len(lines[end]) - 1:
            end += 1
        if end == done:
            told.append(_told(lines[done], widths))
            done += 1
            continue
        width = max(line[column][1] for line in lines[done:end]) + _GAP
        told += _laid_out(lines[done:end], (*widths, width))
        done = end
    return told


def _told(line: Sequence[Cell], widths: Sequence[int]) -> str:
    padding = [" " * max(0, room - width) for (_, width), room in zip(line, widths, strict=False)]
    return "".join(text + gap for (text, _), gap in zip(line, [*padding, *[""] * len(line)], strict=False))
