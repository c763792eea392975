"""In which order components are written and installed: the Namespace, then cert-manager's objects, then the rest.

cert-manager's come early so that it sees a Certificate before the webhooks and definitions that it injects the CA into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.objects import group_of, kind_of

if TYPE_CHECKING:
    from mooring.kube import Object

_BLOCK: Final = 20


def in_order(objects: list[Object]) -> list[Object]:
    """The objects, ordered.

    The other clusterctl says of two of cert-manager's objects that each comes before the other, and leaves it to a
    stable sort what becomes of that. So that a diff of both outputs is empty, this walks the same way: insertion in
    blocks of twenty, then merging neighbours in place (symmetric merge, after Kim and Kutzner).
    """
    ordered = list(objects)
    _Sorting(ordered, _comes_first).sort()
    return ordered


def _comes_first(one: Object, other: Object) -> bool:
    if kind_of(one) == "Namespace":
        return True
    if kind_of(other) == "Namespace":
        return False
    return group_of(one) == "cert-manager.io"


class _Sorting:
    """One sort in place, of a list by a relation that need not be an order."""

    def __init__(self, items: list[Object], before: Callable[[Object, Object], bool]) -> None:
        self._items = items
        self._relation = before

    def sort(self) -> None:
        count = len(self._items)
        for start in range(0, count, _BLOCK):
            self._insert(start, min(start + _BLOCK, count))
        width = _BLOCK
        while width < count:
            for start in range(0, count - width, 2 * width):
                self._merge(start, start + width, min(start + 2 * width, count))
            width *= 2

    def _before(self, one: int, other: int) -> bool:
        return self._relation(self._items[one], self._items[other])

    def _insert(self, start: int, end: int) -> None:
        for index in range(start + 1, end):
            place = index
            while place > start and self._before(place, place - 1):
                self._items[place - 1], self._items[place] = self._items[place], self._items[place - 1]
                place -= 1

    def _merge(self, start: int, middle: int, end: int) -> None:
        """Merge two ordered neighbours: each step cuts the work in two halves that do not touch."""
        if middle - start == 1:
            place = _first(middle, end, lambda index: not self._before(index, start))
            self._rotate(start, middle, place)
            return
        if end - middle == 1:
            place = _first(start, middle, lambda index: self._before(middle, index))
            self._rotate(place, middle, end)
            return
        half, total = (start + end) // 2, (start + end) // 2 + middle
        low, high = (total - end, half) if middle > half else (start, middle)
        cut = _first(low, high, lambda index: self._before(total - 1 - index, index))
        twin = total - cut
        if cut < middle < twin:
            self._rotate(cut, middle, twin)
        if start < cut < half:
            self._merge(start, cut, half)
        if half < twin < end:
            self._merge(half, twin, end)

    def _rotate(self, start: int, middle: int, end: int) -> None:
        self._items[start:end] = self._items[middle:end] + self._items[start:middle]


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first index for which this holds, found by halving."""
    while low < high:
        index = (low + high) // 2
        if holds(index):
            high = index
        else:
            low = index + 1
    return low
