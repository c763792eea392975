"""The strategies: which cluster each takes, told from names and seats alone."""

from __future__ import annotations

from collections import Counter

import pytest

from mooring.api.purposes import Strategy
from mooring.kube import ObjectKey
from mooring.scheduling.racks import Rack
from mooring.scheduling.strategies import chosen


def a_rack(**taken: int) -> Rack:
    rack = Rack()
    for name, count in taken.items():
        rack.add(ObjectKey("team", name), count)
    return rack


def choice(strategy: Strategy, *racks: tuple[Rack, int], uid: str = "u") -> str | None:
    found = chosen(strategy, racks, uid=uid)
    return None if found is None else found.name


CASES = {
    "one rack": ([({"a": 2, "b": 1, "c": 1, "d": 3}, 4)], "b", "d", "a"),
    "full ones do not count": ([({"a": 4, "b": 3, "c": 3, "d": 0}, 4)], "d", "b", "b"),
    "any number of seats": ([({"a": 7, "b": 100}, 0)], "a", "b", "a"),
    "several racks, equal": ([({"c": 1}, 4), ({"b": 1}, 4), ({"a": 2}, 2)], "b", "b", "b"),
    "several racks, each with its seats": ([({"a": 3}, 3), ({"b": 3}, 5), ({"c": 4}, 0)], "b", "c", "b"),
    "the second is better": ([({"a": 2}, 4), ({"b": 1, "c": 3}, 4)], "b", "c", "a"),
    "the first is better": ([({"b": 1, "c": 3}, 4), ({"a": 2}, 4)], "b", "c", "a"),
    "a rack that has become empty": ([({}, 4), ({"a": 0}, 1)], "a", "a", "a"),
    "all full": ([({"a": 2}, 2), ({"b": 1}, 1)], None, None, None),
    "nothing": ([], None, None, None),
}


@pytest.mark.parametrize(("racks", "balanced", "packed", "simple"), CASES.values(), ids=CASES)
def test_choices(
    racks: list[tuple[dict[str, int], int]], balanced: str | None, packed: str | None, simple: str | None
) -> None:
    given = [(a_rack(**taken), seats) for taken, seats in racks]
    assert choice(Strategy.BALANCED, *given) == balanced
    assert choice(Strategy.PACKED, *given) == packed
    assert choice(Strategy.SIMPLE, *given) == simple
    free = {name for taken, seats in racks for name, count in taken.items() if not seats or count < seats}
    assert {choice(Strategy.RANDOM, *given, uid=f"uid-{place}") for place in range(64)} == (free or {None})


def test_names_are_told_apart_by_their_namespace_first() -> None:
    rack = Rack()
    rack.add(ObjectKey("b", "a"), 0)
    rack.add(ObjectKey("a", "z"), 0)
    for strategy in (Strategy.BALANCED, Strategy.PACKED, Strategy.SIMPLE):
        assert chosen(strategy, [(rack, 0)], uid="u") == ObjectKey("a", "z")


def test_chance_is_fixed_by_the_uid_and_fair_to_all_clusters() -> None:
    racks = [(a_rack(a=0, b=1, c=1), 3), (a_rack(d=2, full=3), 3)]
    found = {f"uid-{place}": choice(Strategy.RANDOM, *racks, uid=f"uid-{place}") for place in range(2_000)}
    assert found == {uid: choice(Strategy.RANDOM, *racks, uid=uid) for uid in found}
    shares = Counter(found.values())
    assert set(shares) == {"a", "b", "c", "d"}
    assert min(shares.values()) > 350


def test_there_is_a_function_for_each_strategy() -> None:
    assert {choice(strategy, (a_rack(a=0), 1)) for strategy in Strategy} == {"a"}
