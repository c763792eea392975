"""Versions of Kubernetes: how they are read, which is newer, and which is what was asked for."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.api.versions import Version, is_full, newest, satisfies

# What the definition of ClusterRequest lets through, in small numbers so that examples meet.
NUMBERS = st.lists(st.integers(0, 3).map(str), min_size=1, max_size=3).map(".".join)
PRE = st.sampled_from(["", "-alpha", "-alpha.1", "-rc.2", "-rc.10", "-gke.100", "-eks-113cf36", "-0"])
BUILD = st.sampled_from(["", "+k3s1", "+rke2r1", "+a+b", "+vmware.1-fips"])
VERSIONS = st.builds("{}{}{}{}".format, st.sampled_from(["", "v"]), NUMBERS, PRE, BUILD)
NUMBERS_IN_FULL = st.lists(st.integers(0, 3).map(str), min_size=3, max_size=3).map(".".join)
IN_FULL = st.builds("{}{}{}".format, NUMBERS_IN_FULL, PRE, BUILD)

some = settings(deadline=None, derandomize=True, max_examples=200, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1", 1),
        ("1.33", 2),
        ("1.33.3", 3),
        ("v1.33.3", 3),
        ("v1", 1),
        ("1.33-rc.1", 2),
        ("1.33.3-rc.1+build.7", 3),
        ("1.33.3+k3s1", 3),
        ("1.32.6-gke.1060000", 3),
        ("v1.33.1-eks-113cf36", 3),
        ("1.30.0+a+b", 3),
    ],
)
def test_what_is_a_version(text: str, parts: int) -> None:
    version = Version.parse(text)
    assert version.text == text
    assert version.parts == parts


@pytest.mark.parametrize(
    "text",
    [
        *("", "v", "latest", "1.", ".1", "1.33.3.4", "V1.33", "1.33 ", "1.33\n", "1.x", "1.33_k3s1", "1.33.3-"),
        *("1.33.3+", "-1", "1.-3", "١.٣", "1234567890.1", "1.33.3-" + "9" * 5000),
    ],
)
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a version of Kubernetes; write it in full \(1\.33\.3\)") as failure:
        Version.parse(text)
    assert repr(text[:20])[1:-1] in str(failure.value)
    assert len(str(failure.value)) < 400


def test_the_order_is_that_of_semantic_versioning() -> None:
    in_order = [
        "1.9.9",
        "1.33.0-0",
        "1.33.0-2",
        "1.33.0-10",
        "1.33.0-alpha",
        "1.33.0-alpha.1",
        "1.33.0-alpha.beta",
        "1.33.0-beta",
        "1.33.0-beta.2",
        "1.33.0-beta.11",
        "1.33.0-rc.1",
        "1.33.0-rc.1.1",
        "1.33.0",
        "1.33.0+k3s1",
        "1.33.0+k3s2",
        "1.33.3-gke.100",
        "1.33.3-gke.200",
        "1.33.3",
        "1.33.10",
        "2",
        "2.0",
        "2.0.0",
        "2.0.1",
    ]
    for lower, higher in pairwise(map(Version.parse, in_order)):
        assert lower < higher
        assert lower != higher


def test_equal_versions_are_one_key() -> None:
    assert Version.parse("1.33.3") == Version.parse("1.33.3")
    assert len({Version.parse("1.33"), Version.parse("1.33"), Version.parse("1.33.0")}) == 2


@pytest.mark.parametrize(
    ("wanted", "actual", "expected"),
    [
        ("", "1.33.3", True),
        ("", "no version", True),
        ("", "", True),
        ("1", "1.33.3", True),
        ("1", "2.0.0", False),
        ("1.30", "1.30.0", True),
        ("1.30", "v1.30.7", True),
        ("v1.30", "1.30.7", True),
        ("1.30", "1.31.0", False),
        ("1.3", "1.30.0", False),  # numbers, not beginnings of texts
        ("1.33", "1.33", True),
        ("1.33", "1", False),
        ("1.33", "1.33.0-rc.1", True),
        ("1.33", "1.33.3+k3s1", True),
        ("1.33", "1.33.3-gke.100", True),
        ("1.33", "1.33.1-eks-113cf36", True),
        ("1.33.3", "1.33.3", True),
        ("1.33.3", "v1.33.3", True),
        ("1.33.3", "1.33.30", False),
        ("1.33.3", "1.33.3+k3s1", True),
        ("1.33.3", "1.33.3-rc.1", False),
        ("1.33.3", "1.33.3-rc.1+k3s1", False),
        ("1.33.0", "1.33", False),  # whoever runs it does not say which patch
        ("1.33.3+k3s1", "v1.33.3+k3s1", True),
        ("1.33.3+k3s1", "1.33.3+k3s2", False),
        ("1.33.3+k3s1", "1.33.3", False),
        ("1.33.3+k3s1", "1.33.3-rc.1+k3s1", False),
        ("1.33.3-rc.1", "1.33.3-rc.1", True),
        ("1.33.3-rc.1", "1.33.3-rc.2", False),
        ("1.33.3-rc.1", "1.33.3", False),
        ("1.33.3-rc.1", "1.33.3-rc.1+k3s1", False),
        ("1.33.3-gke.100", "1.33.3-gke.100", True),
        ("1.33.3", "", False),
        ("1.33.3", "unknown", False),
    ],
)
def test_what_satisfies_a_wanted_version(wanted: str, actual: str, expected: bool) -> None:
    assert satisfies(wanted, actual) is expected


@pytest.mark.parametrize("wanted", ["newest", "1.x", "1.33.3.4"])
@pytest.mark.parametrize("actual", ["1.33.3", "unknown"])
def test_who_wants_no_version_is_told(wanted: str, actual: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(wanted))):
        satisfies(wanted, actual)
    with pytest.raises(ValueError, match=re.escape(repr(wanted))):
        is_full(wanted)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("", False), ("1", False), ("1.33", False), ("1.33+k3s1", False), ("1.33.3", True), ("v1.33.3-rc.1", True)],
)
def test_what_is_given_in_full(wanted: str, expected: bool) -> None:
    assert is_full(wanted) is expected


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([], None),
        (["", "latest"], None),
        (["1.19.1", "1.20.3", "1.20.0", "1.19.2", "1.20.1"], "1.20.3"),  # the seed's profile
        (["1.9.0", "v1.10.0", "latest"], "v1.10.0"),
        (["1.34.0-rc.1", "1.33.3"], "1.34.0-rc.1"),
        (["1.34.0-rc.1", "1.34.0", "1.34.0-rc.2"], "1.34.0"),
    ],
)
def test_the_newest(versions: list[str], expected: str | None) -> None:
    assert newest(versions) == expected


@some
@given(VERSIONS, VERSIONS, VERSIONS)
def test_the_order_is_total(first: str, second: str, third: str) -> None:
    one, two, three = map(Version.parse, (first, second, third))
    assert [one < two, one == two, one > two].count(True) == 1
    assert (one == two) == (first == second)
    if one <= two <= three:
        assert one <= three


@some
@given(st.lists(VERSIONS, min_size=1), st.randoms(use_true_random=False))
def test_the_newest_does_not_depend_on_the_order_of_the_list(versions: list[str], random) -> None:
    shuffled = random.sample(versions, len(versions))
    found = newest(shuffled)
    assert found == newest(versions)
    assert found is not None
    assert all(Version.parse(one) <= Version.parse(found) for one in versions)


@some
@given(VERSIONS)
def test_every_version_satisfies_itself_and_its_beginnings(version: str) -> None:
    assert satisfies(version, version)
    numbers = [str(number) for number in Version.parse(version).numbers]
    for length in range(min(len(numbers), 2)):
        assert satisfies(".".join(numbers[: length + 1]), version)


@some
@given(st.lists(IN_FULL, unique=True), st.sampled_from(["1", "1.2", "2.0", "0.3"]))
def test_what_satisfies_a_part_is_one_stretch_of_the_order(versions: list[str], wanted: str) -> None:
    in_order = sorted(versions, key=Version.parse)
    places = [place for place, version in enumerate(in_order) if satisfies(wanted, version)]
    assert places == list(range(places[0], places[0] + len(places))) if places else True


@some
@given(st.text(max_size=20), st.text("v0123.+-ak", max_size=12))
def test_reading_whatever_text_never_breaks(anything: str, similar: str) -> None:
    for text in (anything, similar):
        assert satisfies("1.33", text) in (True, False)
        newest([text])
