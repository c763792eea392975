"""Prefixes: who gets the one that was proposed, and that no two on a cluster ever clash."""

from __future__ import annotations

import re
import string
from itertools import combinations, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.api.requests import LONGEST_PREFIX, PREFIX_PATTERN, SHORTEST_PREFIX
from mooring.scheduling.prefixes import clashes, granted_prefix, is_free

UID = "5f0c3b62-9a43-4d6e-8d0e-0e5b6f6a4b11"
LOOKS_RANDOM = re.compile(r"[a-z][a-z2-7]{7}-")

some = settings(deadline=None, derandomize=True, max_examples=200, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("foo-", "foo-", True),
        ("foo-", "foo-bar-", True),
        ("foo-bar-", "foo-", True),
        ("foo", "foo-", True),
        ("foo-", "fool-", False),
        ("foo-", "bar-", False),
        ("foo-", "xfoo-", False),
    ],
)
def test_prefixes_clash_if_one_begins_with_the_other(one: str, other: str, expected: bool) -> None:
    assert clashes(one, other) is expected
    assert is_free(one, ["zzz-", other]) is not expected


@pytest.mark.parametrize(
    ("proposed", "taken"),
    [
        ("foo-", []),
        ("foo-", ["", "bar-", "fo2"]),
        ("foo", ["bar-"]),
        ("abc", []),
        ("7up-", []),
        ("a" * LONGEST_PREFIX, []),
    ],
)
def test_a_proposal_is_granted(proposed: str, taken: list[str]) -> None:
    assert granted_prefix(proposed, taken, uid=UID) == proposed


@pytest.mark.parametrize(
    ("proposed", "taken"),
    [
        ("", []),
        ("fo", []),
        ("foo-", ["foo-"]),
        ("foo-", ["bar-", "foo-bar-"]),
        ("foo-bar-", ["foo-"]),
        ("foo-", ["f"]),  # granted by others, who have other rules
        ("Foo-", []),
        ("-foo", []),
        ("foo_", []),
        ("foo-\n", []),
        ("a" * (LONGEST_PREFIX + 1), []),
    ],
)
def test_what_may_not_be_granted_is_replaced(proposed: str, taken: list[str]) -> None:
    granted = granted_prefix(proposed, taken, uid=UID)
    assert LOOKS_RANDOM.fullmatch(granted)
    assert is_free(granted, taken)
    assert granted == granted_prefix(proposed, list(reversed(taken)), uid=UID)


def test_requests_get_different_prefixes() -> None:
    granted = {granted_prefix("", [], uid=f"{UID}-{number}") for number in range(1000)}
    assert len(granted) == 1000
    assert all(LOOKS_RANDOM.fullmatch(prefix) for prefix in granted)


def test_a_replacement_that_is_taken_is_replaced_in_turn() -> None:
    taken: list[str] = []
    for _ in range(50):
        taken.append(granted_prefix("", taken, uid=UID))
    assert len(set(taken)) == 50


def test_the_one_letter_that_others_left_is_found() -> None:
    taken = sorted(set(string.ascii_lowercase) - {"q"})
    assert granted_prefix("foo-", taken, uid=UID).startswith("q")


def test_if_others_hold_every_letter_there_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="no prefix is left beside the 26 that are taken; release short ones"):
        granted_prefix("", string.ascii_lowercase, uid=UID)


def test_a_crowded_cluster_stays_free_of_clashes() -> None:
    taken: list[str] = []
    for number in range(1000):
        taken.append(granted_prefix(f"team-{number % 700}", taken, uid=f"{UID}/{number}"))
    in_order = sorted(taken)
    assert len(set(taken)) == 1000
    assert not any(clashes(one, other) for one, other in pairwise(in_order))


@some
@given(st.lists(st.text("ab-", max_size=5) | st.text("abA_", max_size=40), max_size=20))
def test_whatever_is_proposed_no_two_prefixes_clash(proposals: list[str]) -> None:
    taken: list[str] = [""]
    for number, proposed in enumerate(proposals):
        granted = granted_prefix(proposed, taken, uid=str(number))
        assert re.fullmatch(PREFIX_PATTERN, granted)
        assert SHORTEST_PREFIX <= len(granted) <= LONGEST_PREFIX
        assert granted == proposed or LOOKS_RANDOM.fullmatch(granted)
        taken.append(granted)
    assert not any(clashes(one, other) for one, other in combinations(filter(None, taken), 2))


@some
@given(st.text("ab", min_size=1, max_size=4), st.lists(st.text("ab", max_size=4)))
def test_free_means_that_no_name_could_begin_with_both(prefix: str, taken: list[str]) -> None:
    longest = 5
    names = {prefix.ljust(longest, letter)[:longest] for letter in "ab"} | {
        other.ljust(longest, letter)[:longest] for other in taken for letter in "ab"
    }
    shared = any(name.startswith(prefix) and name.startswith(other) for name in names for other in taken if other)
    assert is_free(prefix, taken) is not shared
