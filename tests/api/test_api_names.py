"""Names, marks and lengths of time. The vectors are upstream's: both sides must come to the same name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import marks
from mooring.api.durations import seconds_of
from mooring.api.names import long_name_hash, name_hash, name_uuid, shortened


@pytest.mark.parametrize(
    ("parts", "expected"),
    [(["example"], "epgccknc"), (["default", "example"], "fphxsdub"), (["foo", "exclusive"], "qilq5nsb")],
)
def test_hashes_of_eight_characters(parts: list[str], expected: str) -> None:
    assert name_hash(*parts) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["example"], "23cc2129-a257-8644-95e0-289d55c69704"),
        (["test", "instance"], "80158a25-6874-80a6-a75d-94f57da600c0"),
        (["foo", "foo"], "ed00e8ed-8a09-8c62-a9b8-e6fc20255174"),
    ],
)
def test_uuids_of_version_8(parts: list[str], expected: str) -> None:
    assert name_uuid(*parts) == expected


@pytest.mark.parametrize("parts", [[], [""], ["", ""]])
def test_nothing_has_no_uuid(parts: list[str]) -> None:
    with pytest.raises(ValueError, match="at least one part"):
        name_uuid(*parts)


def test_the_long_hash_of_older_objects() -> None:
    expected = "s3bjttoxfpm4nwah2zjulethzznvp2yl2vwsdf5rnkvz4ocvmjqq"
    assert long_name_hash("foo", "test-controller") == expected


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("short1234567", 12, "short1234567"),
        ("short1234567", 11, "s--j5gore3p"),
        ("abcd.efghijklmnopqrstuvwxyz", 15, "abcd--35l3mtbw"),
        ("short", 3, None),
        ("short", 5, "short"),
    ],
)
def test_shortening(text: str, longest: int, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="cannot be shortened to 3"):
            shortened(text, longest)
    else:
        assert shortened(text, longest) == expected


@given(st.text("abc-.", max_size=200), st.integers(11, 80))
def test_shortened_names_are_short_and_the_same_each_time(text: str, longest: int) -> None:
    short = shortened(text, longest)
    assert len(short) <= longest
    assert short == shortened(text, longest)
    assert (short == text) == (len(text) <= longest)


def test_marks_are_spelled_as_upstream_spells_them() -> None:
    assert marks.PROVIDER_LABEL == "clusters.openmcp.cloud/provider"
    assert marks.KUBERNETES_VERSION_LABEL == "clusters.openmcp.cloud/k8sversion"
    assert marks.REQUEST_FINALIZER == "clusters.openmcp.cloud/request"
    assert marks.OPERATION_ANNOTATION == "openmcp.cloud/operation"


def test_a_claim_tells_its_request() -> None:
    claim = marks.claim_of("1234-5678")
    assert claim == "request.clusters.openmcp.cloud/1234-5678"
    assert marks.claimant_of(claim) == "1234-5678"
    assert marks.claimant_of(marks.REQUEST_FINALIZER) is None
    assert marks.claimant_of("request.clusters.openmcp.cloud/") is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("100ms", 0.1),
        ("2562047h47m16.854775807s", 9223372036.854775807),
        ("-1m", -60),
        ("+5s", 5),
        ("0", 0),
        ("1us", 1e-6),
        (".5s", 0.5),
    ],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "7d", "1h 30m", "s", "-", "1h30", "1e3s", ".s", "١s"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(ValueError, match="is not a length of time"):
        seconds_of(text)
