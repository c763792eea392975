from __future__ import annotations

import pytest

from mooring.api.conditions import (
    READY,
    RECONCILING,
    STALLED,
    Condition,
    KStatus,
    Truth,
    found,
    is_true,
    kstatus,
    with_condition,
    with_ready,
    without_condition,
)
from mooring.api.kinds import Metadata

MONDAY, TUESDAY = "2026-11-16T10:00:00Z", "2026-11-17T10:00:00Z"


def condition(kind: str, status: Truth = Truth.TRUE, *, reason: str = "Because", message: str = "") -> Condition:
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=MONDAY,
        observed_generation=1,
    )


def test_a_new_condition_is_put_at_the_end_with_the_time() -> None:
    before = (condition("A"),)
    after = with_condition(before, "B", Truth.FALSE, reason="No", generation=2, now=TUESDAY)
    assert after[0] is before[0]
    assert (after[1].type, after[1].last_transition_time, after[1].observed_generation) == ("B", TUESDAY, 2)


def test_the_time_stays_until_the_status_changes() -> None:
    before = (condition("A"), condition("B"))
    same = with_condition(before, "A", Truth.TRUE, reason="Other", message="New words", generation=2, now=TUESDAY)
    assert (same[0].last_transition_time, same[0].reason, same[0].observed_generation) == (MONDAY, "Other", 2)
    turned = with_condition(before, "A", Truth.FALSE, reason="Other", generation=2, now=TUESDAY)
    assert turned[0].last_transition_time == TUESDAY
    assert [one.type for one in turned] == ["A", "B"]


def test_nothing_new_is_the_very_same_tuple() -> None:
    before = (condition("A"),)
    assert with_condition(before, "A", Truth.TRUE, reason="Because", generation=1, now=TUESDAY) is before
    assert without_condition(before, "B") is before
    assert without_condition(before, "A") == ()


def test_looking_up() -> None:
    conditions = (condition("A"), condition("B", Truth.FALSE))
    assert found(conditions, "B") is conditions[1]
    assert found(conditions, "C") is None
    assert is_true(conditions, "A")
    assert is_true(conditions, "A", generation=1)
    assert not is_true(conditions, "A", generation=2)
    assert not is_true(conditions, "B")
    assert not is_true(conditions, "C")


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ((condition("A"), condition("B")), (Truth.TRUE, "AllGood", "All is well.")),
        ((condition("A"),), (Truth.UNKNOWN, "BUnknown", "B has not been observed yet")),
        ((condition("A", Truth.FALSE, reason="Broken", message="It broke."),), (Truth.FALSE, "Broken", "It broke.")),
        (
            (condition("A", Truth.UNKNOWN, reason="Waiting"), condition("B", Truth.FALSE, reason="Broken")),
            (Truth.FALSE, "Broken", "B is False"),
        ),
        (
            (condition("A", Truth.FALSE, reason="First"), condition("B", Truth.FALSE, reason="Second")),
            (Truth.FALSE, "First", "A is False"),
        ),
        ((condition("A"), condition("B"), condition("Aside", Truth.FALSE)), (Truth.TRUE, "AllGood", "All is well.")),
    ],
)
def test_ready_is_the_sum_of_its_parts(conditions: tuple[Condition, ...], expected: tuple[Truth, str, str]) -> None:
    summed = with_ready(conditions, ("A", "B"), generation=4, now=TUESDAY, message="All is well.")
    ready = found(summed, READY)
    assert ready is not None
    assert (ready.status, ready.reason, ready.message) == expected
    assert (ready.observed_generation, ready.last_transition_time) == (4, TUESDAY)


@pytest.mark.parametrize(
    ("generation", "observed", "conditions", "expected"),
    [
        (1, 1, (condition(READY),), KStatus.CURRENT),
        (1, 1, (), KStatus.CURRENT),
        (1, None, (condition(READY),), KStatus.CURRENT),
        (2, 1, (condition(READY),), KStatus.IN_PROGRESS),
        (1, 1, (condition(READY, Truth.FALSE),), KStatus.IN_PROGRESS),
        (1, 1, (condition(READY, Truth.UNKNOWN),), KStatus.IN_PROGRESS),
        (1, 1, (condition(READY), condition(RECONCILING)), KStatus.IN_PROGRESS),
        (1, 1, (condition(READY, Truth.FALSE), condition(STALLED)), KStatus.FAILED),
        (1, 1, (condition(READY), condition(STALLED, Truth.FALSE)), KStatus.CURRENT),
    ],
)
def test_what_kstatus_would_say(
    generation: int, observed: int | None, conditions: tuple[Condition, ...], expected: KStatus
) -> None:
    metadata = Metadata(name="a", generation=generation)
    assert kstatus(metadata, observed_generation=observed, conditions=conditions) is expected


def test_what_is_being_deleted_is_terminating_whatever_else_is_said() -> None:
    metadata = Metadata(name="a", generation=1, deletion_timestamp=MONDAY)
    assert kstatus(metadata, observed_generation=1, conditions=(condition(READY),)) is KStatus.TERMINATING
