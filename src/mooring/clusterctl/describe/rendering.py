"""The tree as text: the table that clusterctl prints, in both of its forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from mooring.clusterctl.describe.ages import age
from mooring.clusterctl.describe.conditions import NEGATIVE, READY, Condition
from mooring.clusterctl.describe.nodes import Node, Role, Shown
from mooring.clusterctl.describe.painting import Colour, Paint
from mooring.clusterctl.describe.rows import (
    condition_of,
    conditions_shown,
    in_order,
    numbers_of,
    place_of,
    title_of,
    version_of,
)
from mooring.clusterctl.describe.tables import laid_out
from mooring.clusterctl.describe.tree import Tree

_HEADER: Final = (
    "NAME",
    "REPLICAS",
    "AVAILABLE",
    "READY",
    "UP TO DATE",
    "STATUS",
    "REASON",
    "SINCE",
    "MESSAGE",
)
_OLD_HEADER: Final = ("NAME", "READY", "SEVERITY", "REASON", "SINCE", "MESSAGE")
_INNER, _LAST, _INDENT, _PIPE = "├─", "└─", "  ", "│ "
_FILLER: Final = " " * 10
_WIDEST: Final = 100  # bytes of a message in one line
_SPACE: Final = re.compile(r"[\t\n\f\r ]+")
# Python's strip takes a few control characters for spaces, too.
_BLANKS: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

# Messages are anybody's text, and must not speak to the terminal.
_TAMED: Final = str.maketrans({"\x1b": "␛", "\x9b": "␛["})

Row = Sequence[str]


def as_text(tree: Tree, *, now: datetime, paint: Paint = Paint()) -> str:  # noqa: B008 - frozen
    """The whole table, or the one that there was for the conditions of v1beta1."""
    if tree.options.old:
        return laid_out(_OLD_HEADER, list(_OldDrawing(tree, now, paint).rows("", tree.root)), gap=1)
    return laid_out(_HEADER, list(_Drawing(tree, now, paint).rows("", tree.root)), gap=2)


class _Drawing:
    """Rows, from the top down."""

    def __init__(self, tree: Tree, now: datetime, paint: Paint) -> None:
        self._tree, self._now, self._paint = tree, now, paint
        self._last = tree.root
        while below := in_order(tree, self._last):
            self._last = below[-1]

    def rows(self, prefix: str, node: Node) -> Iterator[Row]:
        yield from self._of_node(prefix, node)
        yield from self._of_conditions(prefix, node)
        below = in_order(self._tree, node)
        for index, child in enumerate(below):
            yield from self.rows(_below(prefix, last=index == len(below) - 1), child)

    def _of_node(self, prefix: str, node: Node) -> Iterator[Row]:
        numbers, condition = numbers_of(node), condition_of(node)
        counted = [_number(one) for one in (numbers.available, numbers.ready, numbers.up_to_date)]
        status, reason, since, message = self._said(condition, negative=False)
        if node.role is Role.GROUP:
            message = self._members(node)
        if node.shown is not Shown.NONE:  # its conditions follow, one by one
            status = reason = since = message = ""
        first, *more = message.split("\n")
        yield (self._name(prefix, node), numbers.replicas, *counted, status, reason, since, first)
        if more:
            beside = self._paint(Colour.GRAY, self._beside(node))
            yield from ((beside, *[""] * 7, line) for line in more)

    def _of_conditions(self, prefix: str, node: Node) -> Iterator[Row]:
        shown = [_tamed(one) for one in conditions_shown(node)]
        for index, one in enumerate(shown):
            place = _below(self._before_conditions(prefix, node), last=index == len(shown) - 1)
            name = self._paint(Colour.GRAY, place) + self._paint(Colour.CYAN, one.type)
            status, reason, since, message = self._said(one, negative=one.type in NEGATIVE)
            first, *more = message.split("\n")
            yield (name, "", "", "", "", status, reason, since, first)
            beside = place.removesuffix(_INNER) + _PIPE if place.endswith(_INNER) else place.removesuffix(_LAST)
            yield from ((self._paint(Colour.GRAY, beside), *[""] * 7, line) for line in more)

    def _before_conditions(self, prefix: str, node: Node) -> str:
        """Conditions stand to the right, and leave the line to those below the node alone."""
        return prefix + (_PIPE if self._tree.below(node) else _INDENT) + _FILLER

    def _said(self, condition: Condition | None, *, negative: bool) -> tuple[str, str, str, str]:
        if condition is None:
            return "", "", "", ""
        condition = _tamed(condition)
        status = self._paint(_colour(condition.status, negative=negative), condition.status)
        return status, condition.reason, age(condition.since, self._now), wrapped(condition.message)

    def _members(self, node: Node) -> str:
        first = ", ".join(node.items[:2])
        return self._paint(Colour.GRAY, f"See {first}, ..." if len(node.items) > 2 else f"See {first}")

    def _name(self, prefix: str, node: Node) -> str:
        return self._paint(Colour.GRAY, prefix) + self._title(node)

    def _title(self, node: Node) -> str:
        match node.role:
            case Role.GROUP:
                return self._paint(Colour.BOLD_WHITE, title_of(node))
            case Role.VIRTUAL:
                return title_of(node)
        deleted = f"{self._paint(Colour.RED, '!! DELETED !!')} " if node.is_deleting else ""
        version = version_of(node)
        behind = "" if version is None else f", {version}"
        return f"{deleted}{node.kind} {self._paint(Colour.BOLD, place_of(node))}{behind}"

    def _beside(self, node: Node) -> str:
        """What stands in front of the further lines of a message."""
        if node.uid == self._last.uid:
            return ""
        beside = _PIPE if self._tree.below(node) else ""
        while (parent := self._tree.above(node)) is not None and parent.uid != node.uid:
            below = in_order(self._tree, parent)
            is_last = bool(below) and below[-1].uid == node.uid
            beside = (_PIPE if below and not is_last else _INDENT) + beside
            node = parent
        return beside


class _OldDrawing(_Drawing):
    """The form for conditions of v1beta1: with a severity, and without numbers."""

    def _of_node(self, prefix: str, node: Node) -> Iterator[Row]:
        ready = node.ready
        cells = self._old(ready) if ready is not None else [self._paint(Colour.GRAY, "")] * 3 + ["", ""]
        if node.role is Role.GROUP:
            cells[-1] = self._members(node)
        yield (self._name(prefix, node), *cells)

    def _of_conditions(self, prefix: str, node: Node) -> Iterator[Row]:
        if node.shown is Shown.NONE:
            return
        shown = sorted((_tamed(one) for one in node.conditions if one.type != READY), key=lambda one: one.type)
        for index, one in enumerate(shown):
            place = _below(self._before_conditions(prefix, node), last=index == len(shown) - 1)
            yield (self._paint(Colour.GRAY, place) + self._paint(Colour.CYAN, one.type), *self._old(one))

    def _old(self, one: Condition) -> list[str]:
        one, colour = _tamed(one), _old_colour(one)
        texts = [self._paint(colour, text) for text in (one.status, one.severity, one.reason)]
        return [*texts, age(one.since, self._now), _cut(one.message)]


def _tamed(one: Condition) -> Condition:
    texts = {name: getattr(one, name).translate(_TAMED) for name in ("type", "status", "reason", "message", "severity")}
    return replace(one, **texts)


def _below(prefix: str, *, last: bool) -> str:
    carried = prefix.replace(_INNER, _PIPE).replace(_LAST, _INDENT)
    return carried + (_LAST if last else _INNER)


def _number(count: int | None) -> str:
    return "" if count is None else str(count)


def _colour(status: str, *, negative: bool) -> Colour:
    good, bad = (Colour.RED, Colour.GREEN) if negative else (Colour.GREEN, Colour.RED)
    return {"True": good, "False": bad, "Unknown": Colour.YELLOW}.get(status, Colour.GRAY)


def _old_colour(one: Condition) -> Colour:
    if one.status not in ("False", "Unknown"):
        return Colour.GREEN if one.is_true else Colour.GRAY
    return {"Error": Colour.RED, "Warning": Colour.YELLOW}.get(one.severity, Colour.WHITE)


def _cut(message: str) -> str:
    raw = message.encode()
    return f"{raw[:_WIDEST].decode(errors='surrogateescape')} ..." if len(raw) > _WIDEST else message


def wrapped(message: str) -> str:
    """A message in lines that fit: its own line breaks stay, and what follows a bullet is indented."""
    return "\n".join(line for paragraph in message.split("\n") for line in _wrapped(paragraph))


def _wrapped(paragraph: str) -> Iterator[str]:
    line = " " * (len(paragraph) - len(paragraph.lstrip(" ")))
    indent = line + (_INDENT if paragraph.strip(_BLANKS).startswith("* ") else "")
    for word in _SPACE.split(paragraph):
        if len(line.encode()) + len(word.encode()) < _WIDEST:
            line += f" {word}" if line.strip(_BLANKS) else word
        else:
            yield line
            line = indent + word
    yield line
