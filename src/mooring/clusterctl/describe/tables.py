"""A table of text as clusterctl lays it out: columns as wide as their widest cell, and two spaces behind it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Final

_ESCAPES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\].*?(?:\x1b\\|\x07)")
_ESCAPE, _END = "\x1b", "\x1b[0m"
_TAB: Final = " " * 8
_NO_WIDTH: Final = frozenset({"Cc", "Mn", "Me", "Cf", "Zl", "Zp"})
_WIDE: Final = (
    (0x2630, 0x2637),
    (0x268A, 0x268F),
    (0x2FFC, 0x2FFF),
    (0x31E4, 0x31EF),
    (0x4DC0, 0x4DFF),
    (0xFA6E, 0xFAFF),
    (0x16FF2, 0x16FF6),
    (0x187F8, 0x187FF),
    (0x18CFF, 0x18D1E),
    (0x18D80, 0x18DF2),
    (0x1D300, 0x1D356),
    (0x1D360, 0x1D376),
    (0x1F1E6, 0x1F1FF),  # letters that make flags
    (0x1F6D8, 0x1F6DC),
    (0x1FA70, 0x1FAFF),
    (0x20000, 0x2FFFD),
    (0x30000, 0x3FFFD),
)


def laid_out(header: Sequence[str], rows: Sequence[Sequence[str]], *, gap: int) -> str:
    """The table; ``gap`` is the number of spaces behind a row's widest cell, where the header leaves one.

    With a gap of more than one, clusterctl ends the colours of a cell once more behind its spaces, and so do we.
    """
    broken = [[cell.replace("\t", _TAB).split("\n") for cell in row] for row in rows]
    widths = [
        max(width(title) + 1, *(width(line) + gap for row in broken for line in row[column]))
        for column, title in enumerate(header)
    ]
    end = _END if gap > 1 else ""
    lines = [_line(header, widths), *(line for row in broken for line in _lines(row, widths, end=end))]
    return "".join(f"{line}\n" for line in lines)


def _lines(row: Sequence[Sequence[str]], widths: Sequence[int], *, end: str) -> Iterator[str]:
    """One per line of its longest cell; those that would be empty are left out."""
    for index, cells in enumerate(zip_longest(*row, fillvalue="")):
        if index == 0 or any(cells):
            yield _line(cells, widths, end=end)


def _line(cells: Sequence[str], widths: Sequence[int], *, end: str = "") -> str:
    return "".join(
        f"{cell}{' ' * (wide - width(cell))}{end if _ESCAPE in cell else ''}"
        for cell, wide in zip(cells, widths, strict=True)
    )


@lru_cache(4096)
def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if _ESCAPE in text:
        text = _ESCAPES.sub("", text)
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(map(_width, text))


def _width(character: str) -> int:
    kind = unicodedata.category(character)
    if kind in _NO_WIDTH:
        return 0
    if kind == "Cn" or unicodedata.east_asian_width(character) == "N":
        # Not known, or not known to be wide, when this Python was made: symbols and ideographs are.
        return 2 if any(first <= ord(character) <= last for first, last in _WIDE) else 1
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
