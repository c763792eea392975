"""Claims in the metadata of a cluster: made, read and given up, whatever else stands there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.api.claims import Claim, claim_on, claimants, claims_on, prefixes_on, with_claims, without_claims
from mooring.api.kinds import Metadata
from mooring.api.marks import claim_of

MINE = Claim(uid="u-1", namespace="team", name="mine", prefix="abc-")
YOURS = Claim(uid="u-2", namespace="other", name="yours")

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
CLAIMS = st.builds(
    Claim, uid=st.text("abcdef0123456789-", min_size=1, max_size=6), namespace=TEXT, name=TEXT, prefix=TEXT
)


def test_a_claim_is_a_finalizer_and_an_annotation_of_the_same_name() -> None:
    made = with_claims(Metadata(finalizers=("keep",), annotations={"keep": "too"}), [MINE])
    assert made.finalizers == ("keep", "request.clusters.openmcp.cloud/u-1")
    assert made.annotations["keep"] == "too"
    assert json.loads(made.annotations["request.clusters.openmcp.cloud/u-1"]) == {
        "namespace": "team",
        "name": "mine",
        "prefix": "abc-",
    }


def test_claims_are_read_in_the_order_in_which_they_were_made() -> None:
    made = with_claims(Metadata(), [MINE, YOURS])
    assert claimants(made) == ("u-1", "u-2")
    assert claims_on(made) == (MINE, YOURS)
    assert claim_on(made, "u-2") == YOURS
    assert claim_on(made, "u-3") is None


def test_a_claim_of_upstream_counts_without_an_annotation() -> None:
    metadata = Metadata(finalizers=(claim_of("u-9"),))
    (claim,) = claims_on(metadata)
    assert claim == Claim(uid="u-9")
    assert not claim.signed
    assert MINE.signed


def test_an_annotation_alone_is_no_claim() -> None:
    metadata = Metadata(annotations=dict(with_claims(Metadata(), [MINE]).annotations))
    assert claims_on(metadata) == ()
    assert claim_on(metadata, MINE.uid) is None


@pytest.mark.parametrize(
    "words",
    ["", "no json", "[]", "null", '{"name": 3}', '{"name": null}', '{"x":' + "[" * 100_000 + "]" * 100_000 + "}"],
    ids=["empty", "no-json", "list", "null", "number", "none", "deep"],
)
def test_an_annotation_that_cannot_be_read_leaves_the_claim(words: str) -> None:
    metadata = Metadata(finalizers=(claim_of("u-1"),), annotations={claim_of("u-1"): words})
    assert claims_on(metadata) == (Claim(uid="u-1"),)


def test_a_finalizer_that_stands_there_twice_is_one_claim() -> None:
    metadata = Metadata(finalizers=(claim_of("u-1"), "other", claim_of("u-1")))
    assert claimants(metadata) == ("u-1",)
    assert without_claims(metadata, ["u-1"]).finalizers == ("other",)


def test_marks_that_only_look_like_claims() -> None:
    metadata = Metadata(finalizers=("request.clusters.openmcp.cloud/", "clusters.openmcp.cloud/request"))
    assert claimants(metadata) == ()


def test_a_claim_that_is_made_again_is_signed_anew() -> None:
    again = Claim(uid=MINE.uid, namespace="team", name="mine", prefix="xyz-")
    made = with_claims(with_claims(Metadata(), [MINE, YOURS]), [again])
    assert claims_on(made) == (again, YOURS)


def test_prefixes_that_are_taken() -> None:
    made = with_claims(Metadata(finalizers=(claim_of("bare"),)), [MINE, YOURS])
    assert prefixes_on(made) == ["abc-"]
    assert prefixes_on(made, but=MINE.uid) == []


def test_giving_up_leaves_what_is_not_a_claim() -> None:
    before = Metadata(name="c", finalizers=("keep",), annotations={"keep": "too"})
    assert without_claims(with_claims(before, [MINE, YOURS]), {"u-1", "u-2", "nobody"}) == before


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(CLAIMS, max_size=6, unique_by=lambda one: one.uid), st.data())
def test_what_is_made_is_read_and_what_is_given_up_is_gone(claims: list[Claim], data: st.DataObject) -> None:
    made = with_claims(Metadata(finalizers=("keep",)), claims)
    assert list(claims_on(made)) == claims
    leaving = data.draw(st.sets(st.sampled_from([one.uid for one in claims]))) if claims else set()
    left = without_claims(made, leaving)
    assert list(claims_on(left)) == [one for one in claims if one.uid not in leaving]
    assert left.finalizers[0] == "keep"
