"""Rows and racks: the first, the fullest and any, whatever came and went before."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.kube import ObjectKey
from mooring.scheduling.racks import Rack, Row

KEYS = [ObjectKey(namespace, name) for namespace in ("a", "b") for name in ("v", "w", "x", "y", "z")]


def test_the_first_of_a_row_is_the_first_by_namespace_and_name() -> None:
    row = Row()
    for key in reversed(KEYS):
        row.add(key)
    assert row.first() == KEYS[0]
    row.remove(KEYS[0])
    assert row.first() == KEYS[1]
    row.add(KEYS[0])
    assert row.first() == KEYS[0]


def test_adding_twice_is_adding_once() -> None:
    row = Row()
    row.add(KEYS[0])
    row.add(KEYS[0])
    assert list(row) == [KEYS[0]]
    row.remove(KEYS[0])
    assert len(row) == 0


def test_every_cluster_of_a_row_can_be_had_by_chance() -> None:
    row = Row()
    for key in KEYS:
        row.add(key)
    row.remove(KEYS[3])
    assert {row.at(chance) for chance in range(2 * len(row))} == set(KEYS) - {KEYS[3]}


def test_a_row_does_not_collect_what_has_left() -> None:
    row = Row()
    row.add(KEYS[0])
    for place in range(10_000):
        key = ObjectKey("c", f"n-{place:05}")  # never the first, so that looking for that does not clear it away
        row.add(key)
        row.remove(key)
    assert len(row._heap) <= 2 * len(row) + 17


def test_a_rack_without_clusters() -> None:
    rack = Rack()
    assert not rack
    assert rack.emptiest() is None
    assert rack.fullest(0) is None
    assert rack.fullest(5) is None
    assert list(rack.free(0)) == []


STEPS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 4), st.booleans(), st.booleans()), max_size=60)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(STEPS, st.integers(0, 5))
def test_a_rack_answers_like_a_search_through_all(steps: list[tuple[ObjectKey, int, bool, bool]], seats: int) -> None:
    rack, there = Rack(), dict[ObjectKey, int]()
    for key, count, stays, looks in steps:
        if key in there:
            rack.remove(key, there.pop(key))
        if stays:
            rack.add(key, count)
            there[key] = count
        free = {key: count for key, count in there.items() if not seats or count < seats}
        assert bool(rack) == bool(there)
        if looks:  # what is known of the emptiest is kept up to date; what is not is found out when somebody looks
            assert rack.emptiest() == min(((count, key) for key, count in there.items()), default=None)
        assert rack.fullest(seats) == max(free.values(), default=None)
        found = {key: count for count, row in rack.free(seats) for key in row}
        assert found == free
        for count, row in rack.free(0):
            assert row.first() == min(key for key, taken in there.items() if taken == count)
            assert rack.row(count) is row
