"""Which of several clusters that suit: one function for each strategy.

Each is given the racks that suit, with the seats that a cluster has there (0: any number), and finds the cluster
without looking at all of them. Equal ones are told apart by name, so the same fleet gives the same answer.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Final

from mooring.api.purposes import Strategy
from mooring.kube import ObjectKey
from mooring.scheduling.racks import Rack

Racks = Sequence[tuple[Rack, int]]


def chosen(strategy: Strategy, racks: Racks, *, uid: str) -> ObjectKey | None:
    """The cluster to take a seat in; None if no seat is left. ``uid`` stands for chance."""
    return _STRATEGIES[strategy](racks, uid)


def _balanced(racks: Racks, _uid: str) -> ObjectKey | None:
    best: tuple[int, ObjectKey] | None = None
    for rack, seats in racks:
        one = rack.emptiest()
        if one is not None and (not seats or one[0] < seats) and (best is None or one < best):
            best = one
    return None if best is None else best[1]


def _packed(racks: Racks, _uid: str) -> ObjectKey | None:
    best: tuple[int, ObjectKey] | None = None
    for rack, seats in racks:
        count = rack.fullest(seats)
        if count is None or (best is not None and count < -best[0]):
            continue
        one = (-count, rack.row(count).first())
        if best is None or one < best:
            best = one
    return None if best is None else best[1]


def _simple(racks: Racks, _uid: str) -> ObjectKey | None:
    return min((row.first() for rack, seats in racks for _, row in rack.free(seats)), default=None)


def _random(racks: Racks, uid: str) -> ObjectKey | None:
    rows = [row for rack, seats in racks for _, row in rack.free(seats)]
    if not rows:
        return None
    chance = zlib.crc32(uid.encode()) % sum(len(row) for row in rows)
    for row in rows:
        if chance < len(row):
            return row.at(chance)
        chance -= len(row)
    return None


_STRATEGIES: Final[dict[Strategy, Callable[[Racks, str], ObjectKey | None]]] = {
    Strategy.BALANCED: _balanced,
    Strategy.PACKED: _packed,
    Strategy.SIMPLE: _simple,
    Strategy.RANDOM: _random,
}
