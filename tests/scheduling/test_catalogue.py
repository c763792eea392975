"""Profiles, judged for a new cluster: which could make it, in which version, and which is the best."""

from __future__ import annotations

import pytest
from plan_kit import (
    a_catalogue,
    a_profile,
    a_provider,
    a_purpose,
    a_request,
    a_template,
    an_equivalence,
    ask_of,
    wish,
    wishes,
)

from mooring.api.clusters import ClusterProfile
from mooring.scheduling import catalogue as catalogues
from mooring.scheduling.catalogue import Catalogue, Ranking, resolved

WORKLOAD = a_purpose("workload", dedicated=False)


def ranked(*profiles: ClusterProfile, version: str = "", traits: tuple[str, ...] = ()) -> Ranking:
    catalogue = a_catalogue(WORKLOAD, *profiles)
    return catalogue.ranking(ask_of(catalogue, a_request("workload", version=version, traits=wishes(*traits))))


def names(ranking: Ranking) -> list[str]:
    return [one.offer.name for one in ranking.suitable]


def offered(*versions: str) -> catalogues.Offer:
    return a_catalogue(a_profile("p", *versions)).offers["p"]


# -- the best profile (D8) ------------------------------------------------------------------------------------


def test_required_traits_filter() -> None:
    ranking = ranked(a_profile("a", "1.33.1"), a_profile("b", "1.32.0", traits=["x"]), traits=("x",))
    assert names(ranking) == ["b"]
    (rejected,) = ranking.unsuitable
    assert (rejected.offer.name, rejected.why) == ("a", "it does not satisfy the required traits: x")


def test_most_optional_traits_come_before_newer_versions() -> None:
    ranking = ranked(
        a_profile("none", "1.34.0"),
        a_profile("one", "1.33.0", traits=["x"]),
        a_profile("two", "1.30.0", traits=["x", "y"]),
        traits=("?x", "?y"),
    )
    assert names(ranking) == ["two", "one", "none"]
    assert [one.score for one in ranking.suitable] == [2, 1, 0]


def test_newer_versions_come_before_names_and_those_that_matter_are_the_ones_that_match() -> None:
    profiles = (a_profile("a", "1.31.9", "1.34.0"), a_profile("b", "1.31.10"), a_profile("c", "1.31.10"))
    assert names(ranked(*profiles)) == ["a", "b", "c"]
    assert names(ranked(*profiles, version="1.31")) == ["b", "c", "a"]


def test_a_deprecated_version_does_not_make_a_profile_newer() -> None:
    ranking = ranked(a_profile("a", "1.30.0"), a_profile("b", "1.35.0~", "1.29.0"))
    assert [(one.offer.name, one.version) for one in ranking.suitable] == [("a", "1.30.0"), ("b", "1.29.0")]


def test_a_profile_that_leaves_the_version_open_comes_last() -> None:
    ranking = ranked(a_profile("a"), a_profile("b", "1.20.0"))
    assert [(one.offer.name, one.version) for one in ranking.suitable] == [("b", "1.20.0"), ("a", "")]


def test_what_is_equal_is_ordered_by_name() -> None:
    assert names(ranked(*(a_profile(name, "1.33.0") for name in "dbca"))) == ["a", "b", "c", "d"]


def test_an_equivalent_trait_is_as_good() -> None:
    catalogue = a_catalogue(WORKLOAD, a_profile("a", traits=["nodeless"]), an_equivalence("workerless", "nodeless"))
    ask = ask_of(catalogue, a_request("workload", traits=(wish("workerless"), wish("x", optional=True))))
    assert names(catalogue.ranking(ask)) == ["a"]
    assert catalogue.traits_of("a") == {"nodeless"}
    assert catalogue.traits_of("unheard-of") == frozenset()


def test_a_template_may_name_the_one_profile() -> None:
    named = a_purpose("named", template=a_template(profile="b"))
    catalogue = a_catalogue(named, a_profile("a", "1.34.0"), a_profile("b", "1.33.0"))
    ranking = catalogue.ranking(ask_of(catalogue, a_request("named")))
    assert names(ranking) == ["b"]
    assert ranking.unsuitable[0].why == "the purpose named wants the profile b"


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("", "all its versions are deprecated (1.33.2 (deprecated)"),
        ("1.33", "its versions 1.33 are deprecated"),
        ("1.29", "it has no version 1.29 (it has 1.33.2 (deprecated)"),
    ],
)
def test_why_a_version_cannot_be_had(version: str, why: str) -> None:
    ranking = ranked(a_profile("a", "1.33.2~", "1.33.1~"), version=version)
    assert names(ranking) == []
    assert ranking.unsuitable[0].why.startswith(why)


# -- versions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "versions", "expected"),
    [
        ("", ("1.32.9", "1.33.3", "1.33.10"), "1.33.10"),
        ("1.33", ("1.33.3", "1.33.10", "1.34.0"), "1.33.10"),
        ("1", ("1.33.3", "1.34.0", "2.0.0"), "1.34.0"),
        ("v1.33", ("1.33.3",), "1.33.3"),
        ("1.33.3", ("1.33.3", "1.33.4"), "1.33.3"),
        ("1.33.5", ("1.33.3", "1.33.4"), None),
        # Deprecated ones only if asked for in full.
        ("", ("1.34.0~", "1.33.3"), "1.33.3"),
        ("1.34", ("1.34.0~", "1.33.3"), None),
        ("1.34.0", ("1.34.0~", "1.33.3"), "1.34.0"),
        ("", ("1.34.0~",), None),
        # Without versions, the provider takes any that is a version in full, and chooses otherwise.
        ("", (), ""),
        ("1.33", (), ""),
        ("1.33.3", (), "1.33.3"),
        # What a provider misspells is not offered.
        ("", ("latest", "1.33.3"), "1.33.3"),
    ],
)
def test_resolving_a_version(wanted: str, versions: tuple[str, ...], expected: str | None) -> None:
    assert resolved(wanted, offered(*versions)) == expected


def test_a_template_says_the_version_unless_the_request_does() -> None:
    pinned = a_purpose("pinned", template=a_template(version="1.32"))
    catalogue = a_catalogue(pinned, a_profile("a", "1.34.0", "1.33.0", "1.32.5"))
    for wanted, expected in (("", "1.32.5"), ("1.33", "1.33.0")):
        (best,) = catalogue.ranking(ask_of(catalogue, a_request("pinned", version=wanted))).suitable
        assert best.version == expected


# -- providers, memory ----------------------------------------------------------------------------------------


def test_providers_that_have_published_nothing_yet() -> None:
    catalogue = a_catalogue(
        a_profile("a", provider="kind"),
        *(a_provider(name) for name in ("kind", "z", "gardener")),
        a_provider("leaving", deleting=True),
    )
    assert catalogue.silent_providers == ("gardener", "z")


def test_a_ranking_is_found_out_once() -> None:
    catalogue = a_catalogue(WORKLOAD, a_profile("a"))
    ask = ask_of(catalogue, a_request("workload"))
    assert catalogue.ranking(ask) is catalogue.ranking(ask)


def test_what_is_remembered_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogues, "_ASKS_AT_MOST", 10)
    catalogue: Catalogue = a_catalogue(WORKLOAD)
    for place in range(100):
        ask_of(catalogue, a_request("workload", traits=wishes(f"t-{place}")))
        assert len(catalogue._asks) <= 10
