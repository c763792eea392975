"""Versions: what is one, and which is newer."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.semver import Version

# From the specification's own chain, with what is between it here.
RISING = [
    "0.0.0-0",
    "v0.0.0",
    "v0.3.25",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "v1.9.0",
    "v1.10.0",
    "v18446744073709551615.0.0",
]


@pytest.mark.parametrize(("older", "newer"), list(pairwise(RISING)))
def test_newer_versions_are_greater(older, newer):
    assert Version.parse(older) < Version.parse(newer)
    assert not Version.parse(newer) <= Version.parse(older)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v",
        "1",
        "v1.2",
        "1.2.3.4",
        "v01.2.3",
        "v1.02.3",
        "v1.2.3-",
        "v1.2.3-01",
        "v1.2.3-rc..1",
        "v1.2.3-rc_1",
        "v1.2.3+",
        "V1.2.3",
        "vv1.2.3",
        "v1.2.3\n",
        "v1.2.3-é",
        "v١.2.3",
        "v18446744073709551616.0.0",
        "v" + "9" * 5000 + ".0.0",
        "latest",
        "v1.2.3/../x",
    ],
)
def test_what_is_no_semantic_version_is_refused(text):
    assert Version.read(text) is None
    with pytest.raises(ClusterctlError, match="is not a semantic version"):
        Version.parse(text)


@pytest.mark.parametrize("text", ["1.2.3", "v1.2.3", " v1.2.3", "\nv1.2.3", "v1.2.3 ", "v1.2.3\t"])
def test_a_leading_v_and_blanks_mean_nothing(text):
    assert str(Version.parse(text)) == "1.2.3"
    assert Version.parse(text).tag == "v1.2.3"


def test_the_parts_of_a_version():
    version = Version.parse("v1.22.3-rc.1+build.5")
    assert version.series == (1, 22)
    assert version.is_prerelease
    assert (version.prerelease, version.build) == ("rc.1", "build.5")
    assert str(version) == "1.22.3-rc.1+build.5"


def test_build_metadata_do_not_tell_versions_apart():
    assert Version.parse("v1.0.0+a") == Version.parse("v1.0.0+b")
    assert len({Version.parse("v1.0.0+a"), Version.parse("v1.0.0+b")}) == 1
    assert Version.parse("v1.0.0") != "v1.0.0"


words = st.sampled_from(["0", "1", "2", "10", "a", "rc", "x-y"])
versions = st.builds(
    Version,
    *[st.integers(0, 3)] * 3,
    prerelease=st.lists(words, max_size=3).map(".".join),
    build=st.lists(words, max_size=1).map("".join),
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(versions, versions)
def test_every_version_reads_back_and_two_have_one_order(one, other):
    assert Version.parse(str(one)) == Version.parse(one.tag) == one
    assert [one < other, one == other, one > other].count(True) == 1
