"""Text for people to read: nothing of it does anything to a terminal, and what belongs together is aligned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def printable(text: str) -> str:
    """A line that does nothing to a terminal but to be read: traits and messages are written by strangers."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows of text with their columns below each other."""
    table = [[printable(cell) for cell in row] for row in rows]
    if not table:
        return []
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
