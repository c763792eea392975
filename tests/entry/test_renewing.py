"""When tokens are replaced, on a clock that is only a number."""

from collections import Counter
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.entry.renewing import renewal_due

times = st.floats(0.0, 4e9)
lifetimes = st.floats(1.0, 4e9)
MANY, HOUR = 5_000, 3600.0


@settings(deadline=None, derandomize=True)
@given(uid=st.text(max_size=40), created=times, lifetime=lifetimes)
def test_a_token_is_replaced_late_in_its_life_and_in_time(uid, created, lifetime):
    due = renewal_due(uid, created=created, expires=created + lifetime)
    slack = 1e-3 + lifetime * 1e-6  # of floating point
    assert created + 0.7 * lifetime - slack <= due <= created + 0.8 * lifetime + slack
    assert due == renewal_due(uid, created=created, expires=created + lifetime)


@settings(deadline=None, derandomize=True)
@given(uid=st.uuids().map(str), created=times, past=st.floats(0.0, 4e9))
def test_a_token_that_is_over_is_due_at_once(uid, created, past):
    """And not in the past, from where it would be due again and again."""
    assert renewal_due(uid, created=created, expires=created - past) == created


def test_tokens_that_were_issued_at_once_are_not_replaced_at_once():
    """From the third round on, the busiest minute has at most three times its share."""
    uids = [str(UUID(int=number * 2**64 + number)) for number in range(MANY)]
    created = dict.fromkeys(uids, 0.0)
    for cycle in range(1, 30):
        created = {uid: renewal_due(uid, created=at, expires=at + HOUR) for uid, at in created.items()}
        if cycle >= 3:
            per_minute = Counter(int(at // 60) for at in created.values())
            # Each token is replaced once in three quarters of an hour, at the mean.
            assert max(per_minute.values()) <= 3 * MANY / 45, cycle


def test_the_load_is_even_in_the_long_run():
    """All replacements of a whole day, whichever round each is in."""
    per_minute: Counter[int] = Counter()
    for number in range(MANY):
        at = 0.0
        while (at := renewal_due(f"uid-{number}", created=at, expires=at + HOUR)) < 24 * HOUR:
            per_minute[int(at // 60)] += 1
    third_round = int(3 * 0.7 * 60)
    busy = [count for minute, count in per_minute.items() if minute >= third_round]
    mean = MANY / 45
    assert max(busy) <= 3 * mean
    later = [per_minute[minute] for minute in range(20 * 60, 24 * 60)]
    assert max(later) <= 1.5 * mean
    assert min(later) >= 0.5 * mean
