"""Anchors and aliases of one document: what each name stands for, and how much of a document may come from them.

A document of a few lines can name a billion nodes. The bound is upstream's, so that what it takes is taken here: up to
400,000 nodes, 99 of 100 may come from aliases; from 4,000,000 on 10 of 100; and evenly between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

_FEW, _MANY = 400_000, 4_000_000
_MOST, _LEAST = 0.99, 0.10
_HARMLESS_ALIASED, _HARMLESS_NODES = 100, 1000


class Refused(Exception):
    """Well-formed, and yet not to be taken."""


@dataclass(slots=True)
class Unfinished:
    """A list or mapping that has not ended: its items, or its keys and values in turn."""

    is_map: bool
    in_flow: bool  # between brackets or braces
    anchor: str | None
    began: int  # how many nodes there were before it
    items: list[Any]
    height: int = 0  # of the highest thing inside

    @property
    def wants_key(self) -> bool:
        return self.is_map and not len(self.items) & 1


@dataclass(frozen=True, slots=True)
class Named:
    """What an anchor stands for. A scalar is kept as it was written: it means one thing as a key and one as a value."""

    value: Any
    weight: int = 1
    height: int = 0
    is_scalar: bool = True


class Anchors:
    """The names that were given so far, and the count of nodes."""

    def __init__(self) -> None:
        self.nodes = 1
        self._aliased = 0
        self._names: dict[str, Named | Unfinished] = {}

    def scalar(self, name: str, event: Any) -> None:
        self._names[name] = Named(event)

    def begun(self, one: Unfinished) -> None:
        if one.anchor is not None:
            self._names[one.anchor] = one

    def ended(self, one: Unfinished, value: Any) -> None:
        """It is whole now; if nobody inside has taken its name."""
        if one.anchor is not None and self._names[one.anchor] is one:
            self._names[one.anchor] = Named(value, self.nodes - one.began, one.height + 1, is_scalar=False)

    def called(self, name: str) -> Named:
        """What an alias names. From here on, that counts as much as if it were written out."""
        named = self._names.get(name)
        if named is None:
            raise Refused(f"*{name} names an anchor that is nowhere above")
        if isinstance(named, Unfinished):
            raise Refused(f"*{name} stands inside of what it names")
        self.nodes += 1 + named.weight
        self._aliased += named.weight
        if self._too_much():
            raise Refused("too much of this document comes from aliases: write it out, or split it")
        return named

    def _too_much(self) -> bool:
        if self._aliased <= _HARMLESS_ALIASED or self.nodes <= _HARMLESS_NODES:
            return False
        way = (min(max(self.nodes, _FEW), _MANY) - _FEW) / (_MANY - _FEW)
        return self._aliased / self.nodes > _MOST - (_MOST - _LEAST) * way


def copied(value: Any) -> Any:
    """A copy all the way down, without recursion: a change in one place must not be a change in all."""
    top = value.copy()
    waiting: list[Any] = [top]
    kinds: Final = (dict, list)
    while waiting:
        one = waiting.pop()
        for place, inner in one.items() if one.__class__ is dict else enumerate(one):
            if inner.__class__ in kinds:
                one[place] = inner = inner.copy()
                waiting.append(inner)
    return top
