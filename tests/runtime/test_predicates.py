"""Which changes wake, of plain objects and of typed ones."""

import msgspec
import pytest
from runtime_kit import Thing, thing

from mooring.kube import Change, key_of
from mooring.runtime import predicates

RECONCILE, IGNORE = ({"annotations": {predicates.OPERATION: word}} for word in ("reconcile", "ignore"))
BEGINNING = {"generation": 1, "labels": {"a": "b"}}


def changes(before, after):
    """The change, once with plain objects and once with typed ones."""
    plain = [None if metadata is None else thing("x", "n", metadata=metadata) for metadata in (before, after)]
    typed = [None if one is None else msgspec.convert(one, Thing) for one in plain]
    for old, new in (plain, typed):
        yield Change(key_of(new if new is not None else old), old, new)


def verdicts(predicate, before, after):
    first, second = (predicate(change) for change in changes(before, after))
    assert first == second
    return first


@pytest.mark.parametrize(
    ("name", "before", "after", "passes"),
    [
        ("generation_changed", None, BEGINNING, True),
        ("generation_changed", BEGINNING, None, True),
        ("generation_changed", BEGINNING, {**BEGINNING, "labels": {}}, False),
        ("generation_changed", BEGINNING, {**BEGINNING, "generation": 2}, True),
        ("labels_changed", BEGINNING, {**BEGINNING, "generation": 2}, False),
        ("labels_changed", BEGINNING, {**BEGINNING, "labels": {"a": "c"}}, True),
        ("labels_changed", BEGINNING, {"generation": 1}, True),
        ("annotations_changed", BEGINNING, {**BEGINNING, **RECONCILE}, True),
        ("annotations_changed", BEGINNING, {**BEGINNING, "generation": 2}, False),
        ("deletion_began", BEGINNING, {**BEGINNING, "deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        ("deletion_began", BEGINNING, {**BEGINNING, "generation": 2}, False),
        ("operation_asked", BEGINNING, {**BEGINNING, **RECONCILE}, True),
        ("operation_asked", {**BEGINNING, **RECONCILE}, {**BEGINNING, **RECONCILE}, False),
        ("operation_asked", {**BEGINNING, **RECONCILE}, BEGINNING, False),
        ("operation_asked", {**BEGINNING, **IGNORE}, BEGINNING, True),
        ("operation_asked", BEGINNING, {**BEGINNING, **IGNORE}, False),
        ("not_ignored", BEGINNING, {**BEGINNING, **IGNORE}, False),
        ("not_ignored", {**BEGINNING, **IGNORE}, None, True),
        ("asked_for", None, {**BEGINNING, **IGNORE}, False),
        ("asked_for", BEGINNING, {**BEGINNING, "generation": 2, **IGNORE}, False),
        ("asked_for", BEGINNING, {**BEGINNING, "labels": {}}, False),
        ("asked_for", {**BEGINNING, **IGNORE}, BEGINNING, True),
        ("asked_for", BEGINNING, {**BEGINNING, **RECONCILE}, True),
        ("anything", BEGINNING, BEGINNING, True),
    ],
)
def test_a_predicate_lets_pass_what_it_is_named_for(name, before, after, passes):
    assert verdicts(getattr(predicates, name), before, after) is passes


def test_predicates_combine():
    labels, generation = predicates.labels_changed, predicates.generation_changed
    relabelled = {**BEGINNING, "labels": {}}
    assert verdicts(predicates.any_of(labels, generation), BEGINNING, relabelled)
    assert not verdicts(predicates.all_of(labels, generation), BEGINNING, relabelled)


def test_what_is_no_object_has_no_operation():
    assert predicates.operation_of({"metadata": None}) == ""
    assert predicates.operation_of({}) == ""
    assert predicates.operation_of(None) == ""
