"""Clusters of one sort, ordered by how many seats are taken: the right one is found without a search.

A rack has a row for each number of seats taken. A row knows its first cluster by name, and can give any by chance, in
steps that do not depend on how many clusters stand in it.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator

from mooring.kube import ObjectKey

_LITTER = 16  # what a heap may carry of clusters that left, beside as many as are there


class Row:
    """Clusters in which the same number of seats is taken."""

    __slots__ = ("_heap", "_line", "_place")

    def __init__(self) -> None:
        self._line: list[ObjectKey] = []
        self._place: dict[ObjectKey, int] = {}  # where each stands in the line
        self._heap: list[ObjectKey] = []  # may hold some that left, and some twice

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._line)

    def add(self, key: ObjectKey) -> None:
        if key not in self._place:
            self._place[key] = len(self._line)
            self._line.append(key)
            heapq.heappush(self._heap, key)

    def remove(self, key: ObjectKey) -> None:
        """The last in line takes the place of the one that leaves."""
        place, last = self._place.pop(key), self._line.pop()
        if last != key:
            self._line[place] = last
            self._place[last] = place
        if len(self._heap) > 2 * len(self._line) + _LITTER:
            self._heap = sorted(self._line)

    def first(self) -> ObjectKey:
        """The first by namespace and name."""
        while self._heap[0] not in self._place:
            heapq.heappop(self._heap)
        return self._heap[0]

    def at(self, chance: int) -> ObjectKey:
        """Any, chosen by a number. The order is fixed by what happened before, so it is as good as chance."""
        return self._line[chance % len(self._line)]


class Rack:
    """All clusters of one sort, in rows."""

    __slots__ = ("_counts", "_head", "_rows")

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}
        self._head: tuple[int, ObjectKey] | None = None  # the emptiest, as long as it is known
        self._counts: list[int] = []  # the numbers of seats that there is a row for, in order

    def __bool__(self) -> bool:
        return bool(self._rows)

    def add(self, key: ObjectKey, count: int) -> None:
        row = self._rows.get(count)
        if row is None:
            row = self._rows[count] = Row()
            insort(self._counts, count)
        row.add(key)
        if self._head is not None and (count, key) < self._head:
            self._head = (count, key)

    def remove(self, key: ObjectKey, count: int) -> None:
        if self._head is not None and self._head[1] == key:
            self._head = None
        row = self._rows[count]
        row.remove(key)
        if not row:
            del self._rows[count]
            del self._counts[bisect_left(self._counts, count)]

    def emptiest(self) -> tuple[int, ObjectKey] | None:
        """The cluster in which the fewest seats are taken, the first by name of several, and how many they are."""
        if self._head is None and self._counts:
            count = self._counts[0]
            self._head = (count, self._rows[count].first())
        return self._head

    def fullest(self, seats: int) -> int | None:
        """The largest number of seats that is taken in a cluster which still has one (0 seats: no limit)."""
        place = bisect_left(self._counts, seats) if seats else len(self._counts)
        return self._counts[place - 1] if place else None

    def row(self, count: int) -> Row:
        return self._rows[count]

    def free(self, seats: int) -> Iterator[tuple[int, Row]]:
        """The rows of clusters that have a seat left, emptiest first."""
        for count in self._counts:
            if seats and count >= seats:
                return
            yield count, self._rows[count]
