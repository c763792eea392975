"""The decision, case by case: a seat in use, a cluster kept ready, a new one, or why not."""

from __future__ import annotations

from typing import Any

import pytest
from plan_kit import (
    HERE,
    a_catalogue,
    a_cluster,
    a_fleet,
    a_profile,
    a_provider,
    a_purpose,
    a_request,
    a_selector,
    a_template,
    an_equivalence,
    ask_of,
    wish,
    wishes,
)

from mooring.api.clusters import Cluster, Tenancy
from mooring.api.conditions import Truth
from mooring.api.marks import RANDOMIZE_NAME_LABEL
from mooring.api.names import name_hash
from mooring.api.purposes import Strategy
from mooring.api.requests import ClusterRequest
from mooring.kube import ObjectKey
from mooring.scheduling.asking import Unanswerable
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.configuration import Configuration, Scope
from mooring.scheduling.fleet import Fleet
from mooring.scheduling.plan import Decision, Make, Take, fit, has_seat, made, plan, suiting
from mooring.scheduling.reasons import Reason

WORK = a_purpose("work", dedicated=False)
OWN = a_purpose("own", dedicated=True)
PLAIN = a_profile("plain", "1.33.3", "1.32.9")
EXCLUSIVE = Tenancy.EXCLUSIVE
NAME_OF_MINE = f"own-{name_hash(HERE, 'mine')}"


def decide(catalogue: Catalogue, request: ClusterRequest, *clusters: Cluster) -> Decision:
    return plan(request, catalogue, a_fleet(catalogue, *clusters))


def taken(decision: Decision, *, warm: bool = False) -> str:
    assert isinstance(decision, Take), decision
    assert decision.warm is warm
    return decision.cluster.name


def new(decision: Decision) -> Cluster:
    assert isinstance(decision, Make), decision
    return decision.cluster


def refused(decision: Decision) -> tuple[Reason, bool]:
    assert isinstance(decision, Unanswerable), decision
    assert len(decision.message) < 2_000
    return decision.reason, decision.final


# -- seats in use ---------------------------------------------------------------------------------------------


def test_a_seat_comes_before_a_new_cluster() -> None:
    assert taken(decide(a_catalogue(WORK, PLAIN), a_request("work"), a_cluster("c", "work", claims=3))) == "c"


def test_a_seat_needs_no_profile_for_new_clusters() -> None:
    assert taken(decide(a_catalogue(WORK), a_request("work"), a_cluster("c", "work"))) == "c"


@pytest.mark.parametrize(
    "misfit",
    [
        {"tenancy": EXCLUSIVE},
        {"deleting": True},
        {"profile": "poor"},
        {"profile": "unheard-of"},
        {"running": "1.32.9"},
        {"running": "", "version": ""},
        {"labels": {}},
        {"labels": {"zone": "there"}},
        {"claims": 2},
    ],
)
def test_what_a_cluster_must_have(misfit: dict[str, Any]) -> None:
    purpose = a_purpose("work", tenancy_count=2, selector=a_selector(zone="here"), traits=wishes("fast"))
    catalogue = a_catalogue(purpose, a_profile("plain", "1.33.3", traits=["fast"]), a_profile("poor", "1.33.3"))
    request = a_request("work", version="1.33")
    usual: dict[str, Any] = {"running": "1.33.1", "labels": {"zone": "here"}, "claims": 1}
    assert taken(decide(catalogue, request, a_cluster("c", "work", **usual))) == "c"
    assert new(decide(catalogue, request, a_cluster("c", "work", **{**usual, **misfit}))).spec.profile == "plain"


def test_a_cluster_must_serve_all_purposes() -> None:
    catalogue = a_catalogue(WORK, a_purpose("more"), PLAIN)
    request = a_request("work", "more")
    some = (a_cluster("a", "work"), a_cluster("b", "more"))
    assert new(decide(catalogue, request, *some)).spec.purposes == ("work", "more")
    assert taken(decide(catalogue, request, *some, a_cluster("z", "x", "more", "work"))) == "z"


def test_the_running_version_counts_over_the_desired_one() -> None:
    catalogue = a_catalogue(WORK, PLAIN)
    clusters = (a_cluster("a", "work", version="1.33.3", running="1.32.9"), a_cluster("b", "work", version="1.33.3"))
    assert taken(decide(catalogue, a_request("work", version="1.33"), *clusters)) == "b"
    assert taken(decide(catalogue, a_request("work", version="1.32"), *clusters)) == "a"


def test_selectors_of_purposes_and_configuration_must_all_match() -> None:
    catalogue = a_catalogue(
        a_purpose("work", selector=a_selector(tier="gold")),
        PLAIN,
        configuration=Configuration(clusters=a_selector(zone="here")),
    )
    half = (a_cluster("a", "work", labels={"zone": "here"}), a_cluster("b", "work", labels={"tier": "gold"}))
    assert isinstance(decide(catalogue, a_request("work"), *half), Make)
    whole = a_cluster("c", "work", labels={"zone": "here", "tier": "gold", "more": "yes"})
    assert taken(decide(catalogue, a_request("work"), *half, whole)) == "c"


@pytest.mark.parametrize(("claims", "fits"), [(1, True), (2, False)])
def test_the_strictest_of_a_clusters_purposes_limits_it(claims: int, fits: bool) -> None:
    catalogue = a_catalogue(a_purpose("work", tenancy_count=9), a_purpose("strict", tenancy_count=2), PLAIN)
    decision = decide(catalogue, a_request("work"), a_cluster("c", "work", "strict", "unheard-of", claims=claims))
    assert isinstance(decision, Take) is fits


def test_a_dedicated_request_takes_no_seat() -> None:
    catalogue = a_catalogue(WORK, OWN, PLAIN)
    there = (a_cluster("a", "own", "work"), a_cluster("b", "own", "work", tenancy=EXCLUSIVE))
    assert new(decide(catalogue, a_request("own"), *there)).spec.tenancy is EXCLUSIVE
    assert new(decide(catalogue, a_request("work", dedicated=True), *there)).spec.tenancy is EXCLUSIVE


def test_a_request_that_insists_on_sharing_takes_a_seat_for_a_dedicated_purpose() -> None:
    catalogue = a_catalogue(OWN, PLAIN)
    request = a_request("own", dedicated=False)
    assert new(decide(catalogue, request)).spec.tenancy is Tenancy.SHARED
    assert taken(decide(catalogue, request, a_cluster("c", "own", claims=7))) == "c"


def test_optional_traits_decide_among_clusters_before_the_strategy() -> None:
    catalogue = a_catalogue(WORK, PLAIN, a_profile("fast", traits=["fast"]))
    clusters = (a_cluster("a", "work"), a_cluster("z", "work", profile="fast", claims=5))
    assert taken(decide(catalogue, a_request("work", traits=wishes("?fast")), *clusters)) == "z"
    assert taken(decide(catalogue, a_request("work", traits=wishes("?!fast")), *clusters)) == "a"
    assert taken(decide(catalogue, a_request("work"), *clusters)) == "a"


def test_operators_and_equivalences_are_held_against_the_profiles_of_clusters() -> None:
    catalogue = a_catalogue(
        WORK,
        a_profile("gcp", traits=["gcp", "nodeless"]),
        a_profile("aws", traits=["aws"]),
        an_equivalence("workerless", "nodeless"),
    )
    clusters = (a_cluster("a", "work", profile="aws"), a_cluster("g", "work", profile="gcp"))
    either = wish(any_of=wishes("aws", "gcp"))
    assert taken(decide(catalogue, a_request("work", traits=(either,)), *clusters)) == "a"
    assert taken(decide(catalogue, a_request("work", traits=(either, wish("workerless"))), *clusters)) == "g"
    assert taken(decide(catalogue, a_request("work", traits=(wish("workerless", negated=True),)), *clusters)) == "a"


@pytest.mark.parametrize(
    ("strategy", "expected"), [(Strategy.BALANCED, "b"), (Strategy.PACKED, "d"), (Strategy.SIMPLE, "a")]
)
def test_strategies(strategy: Strategy, expected: str) -> None:
    catalogue = a_catalogue(a_purpose("work", strategy=strategy, tenancy_count=4), PLAIN)
    seats = {"a": 2, "b": 1, "c": 1, "d": 3, "e": 4}
    clusters = [a_cluster(name, "work", claims=count) for name, count in seats.items()]
    assert taken(decide(catalogue, a_request("work"), *clusters)) == expected


def test_chance_is_the_same_each_time_for_one_request() -> None:
    catalogue = a_catalogue(a_purpose("work", strategy=Strategy.RANDOM), PLAIN)
    clusters = [a_cluster(name, "work") for name in "abcdef"]
    found = {name: taken(decide(catalogue, a_request("work", name=name), *clusters)) for name in map(str, range(50))}
    assert len(set(found.values())) > 3
    for name, cluster in found.items():
        assert taken(decide(catalogue, a_request("work", name=name), *clusters)) == cluster


# -- health ---------------------------------------------------------------------------------------------------


def test_an_unhealthy_cluster_is_passed_over_while_another_fits() -> None:
    catalogue = a_catalogue(a_purpose("work", tenancy_count=9), PLAIN, a_profile("fast", traits=["fast"]))
    ill = a_cluster("a", "work", profile="fast", ready=Truth.FALSE)
    request = a_request("work", traits=wishes("?fast"))
    for other in (None, Truth.TRUE, Truth.UNKNOWN):
        assert taken(decide(catalogue, request, ill, a_cluster("z", "work", claims=8, ready=other))) == "z"
    assert taken(decide(catalogue, request, ill, a_cluster("z", "work", claims=9))) == "a"
    assert taken(decide(catalogue, request, ill)) == "a"


# -- namespaces -----------------------------------------------------------------------------------------------


def test_with_scope_namespaced_clusters_serve_their_own_namespace() -> None:
    catalogue = a_catalogue(WORK, PLAIN, configuration=Configuration(scope=Scope.NAMESPACED))
    clusters = (a_cluster("a", "work", namespace="other"), a_cluster("z", "work", namespace=HERE, claims=3))
    assert taken(decide(catalogue, a_request("work"), *clusters)) == "z"
    assert new(decide(catalogue, a_request("work", namespace="third"), *clusters)).metadata.namespace == "third"
    assert taken(decide(a_catalogue(WORK, PLAIN), a_request("work"), *clusters)) == "a"


def test_with_scope_namespaced_a_template_says_which_namespace() -> None:
    purpose = a_purpose("work", template=a_template(namespace="pool"))
    catalogue = a_catalogue(purpose, PLAIN, configuration=Configuration(scope=Scope.NAMESPACED))
    clusters = (a_cluster("a", "work"), a_cluster("z", "work", namespace="pool"))
    assert taken(decide(catalogue, a_request("work"), *clusters)) == "z"


# -- clusters that are kept ready -----------------------------------------------------------------------------


def test_a_warm_cluster_comes_before_a_new_one() -> None:
    catalogue = a_catalogue(WORK, OWN, PLAIN)
    shared, own = a_cluster("s", "work", warm="work"), a_cluster("o", "own", warm="own", tenancy=EXCLUSIVE)
    assert taken(decide(catalogue, a_request("work"), shared, own), warm=True) == "s"
    assert taken(decide(catalogue, a_request("own"), shared, own), warm=True) == "o"


def test_a_seat_in_use_comes_before_a_warm_cluster() -> None:
    catalogue = a_catalogue(a_purpose("work", tenancy_count=2), PLAIN)
    warm = a_cluster("a", "work", warm="work")
    assert taken(decide(catalogue, a_request("work"), warm, a_cluster("z", "work", claims=1))) == "z"
    assert taken(decide(catalogue, a_request("work"), warm, a_cluster("z", "work", claims=2)), warm=True) == "a"


@pytest.mark.parametrize(("purpose", "tenancy"), [("work", EXCLUSIVE), ("own", Tenancy.SHARED)])
def test_never_a_warm_cluster_of_another_tenancy(purpose: str, tenancy: Tenancy) -> None:
    catalogue = a_catalogue(WORK, OWN, PLAIN)
    other = a_cluster("a", purpose, warm=purpose, tenancy=tenancy)
    assert isinstance(decide(catalogue, a_request(purpose), other), Make)


@pytest.mark.parametrize(
    "misfit", [{"running": "1.31.0"}, {"profile": "poor"}, {"deleting": True}, {"claims": 1}], ids=str
)
def test_a_warm_cluster_must_fit_as_any_other(misfit: dict[str, Any]) -> None:
    catalogue = a_catalogue(OWN, a_profile("plain", "1.33.3", traits=["fast"]), a_profile("poor", "1.33.3"))
    request = a_request("own", version="1.33", traits=wishes("fast"))
    usual: dict[str, Any] = {"warm": "own", "tenancy": EXCLUSIVE, "running": "1.33.3"}
    assert taken(decide(catalogue, request, a_cluster("c", "own", **usual)), warm=True) == "c"
    assert isinstance(decide(catalogue, request, a_cluster("c", "own", **{**usual, **misfit})), Make)


def test_a_warm_cluster_is_handed_over_once() -> None:
    catalogue = a_catalogue(OWN, PLAIN)
    fleet = a_fleet(catalogue, *(a_cluster(name, "own", warm="own", tenancy=EXCLUSIVE) for name in "ab"))
    for expected in ("a", "b"):
        decision = plan(a_request("own", name=expected), catalogue, fleet)
        assert taken(decision, warm=True) == expected
        fleet.assume(ObjectKey(HERE, expected), expected)
    assert isinstance(plan(a_request("own"), catalogue, fleet), Make)


def test_requests_that_share_begin_one_warm_cluster_after_the_other() -> None:
    catalogue = a_catalogue(a_purpose("work", tenancy_count=2), PLAIN)
    fleet = a_fleet(catalogue, *(a_cluster(name, "work", warm="work") for name in "abc"))
    found = []
    for uid in "12345":
        decision = plan(a_request("work", name=uid), catalogue, fleet)
        assert isinstance(decision, Take)
        fleet.assume(decision.cluster, uid)
        found.append(decision.cluster.name)
    assert found == ["a", "a", "b", "b", "c"]


# -- new clusters ---------------------------------------------------------------------------------------------


def test_a_new_cluster_is_of_the_best_profile_in_its_newest_version() -> None:
    catalogue = a_catalogue(OWN, PLAIN, a_profile("fast", "1.31.0", "1.30.9", traits=["fast"]))
    decision = decide(catalogue, a_request("own", traits=wishes("?fast")))
    cluster = new(decision)
    assert isinstance(decision, Make)
    assert (decision.chosen.offer.name, decision.chosen.version) == ("fast", "1.31.0")
    assert (cluster.spec.profile, cluster.spec.kubernetes.version) == ("fast", "")
    assert (cluster.metadata.namespace, cluster.metadata.name) == (HERE, NAME_OF_MINE)


@pytest.mark.parametrize(("asked", "usual", "demanded"), [("1.30", "", "1.30.9"), ("", "1.30", "1.30.9"), ("", "", "")])
def test_a_version_is_demanded_of_a_new_cluster_only_if_somebody_asked(asked: str, usual: str, demanded: str) -> None:
    own = a_purpose("own", dedicated=True, template=a_template(version=usual))
    catalogue = a_catalogue(own, a_profile("plain", "1.31.0", "1.30.9"))
    cluster = new(decide(catalogue, a_request("own", version=asked)))
    assert cluster.spec.kubernetes.version == demanded


def test_a_profile_that_is_full_is_passed_over() -> None:
    small = a_profile("small", "1.34.0", max_clusters=2)
    catalogue = a_catalogue(OWN, small, PLAIN)
    there = [a_cluster(name, "own", profile="small", tenancy=EXCLUSIVE, deleting=name == "b") for name in "ab"]
    assert new(decide(catalogue, a_request("own"), *there[:1])).spec.profile == "small"
    assert new(decide(catalogue, a_request("own"), *there)).spec.profile == "plain"


def test_if_all_profiles_are_full_the_request_waits() -> None:
    catalogue = a_catalogue(OWN, a_profile("small", "1.34.0", max_clusters=1))
    fleet = a_fleet(catalogue)
    first = new(plan(a_request("own", name="first"), catalogue, fleet))
    fleet.draft(first, "first")
    decision = plan(a_request("own"), catalogue, fleet)
    assert refused(decision) == (Reason.NO_CAPACITY, False)
    assert isinstance(decision, Unanswerable)
    assert "small (1 of 1)" in decision.message
    fleet.settle(ObjectKey(HERE, first.metadata.name), "first")
    assert isinstance(plan(a_request("own"), catalogue, fleet), Make)


# -- the name is taken ----------------------------------------------------------------------------------------


def test_a_name_that_is_taken_is_a_conflict_which_a_random_name_solves() -> None:
    catalogue = a_catalogue(OWN, PLAIN)
    there = a_cluster(NAME_OF_MINE, "own", tenancy=EXCLUSIVE, claims=1)
    decision = decide(catalogue, a_request("own"), there)
    assert refused(decision) == (Reason.CLUSTER_CONFLICT, False)
    assert isinstance(decision, Unanswerable)
    assert RANDOMIZE_NAME_LABEL in decision.message
    randomized = a_request("own", labels={RANDOMIZE_NAME_LABEL: "true"})
    assert isinstance(decide(catalogue, randomized, there), Make)


def test_a_name_whose_cluster_is_being_deleted_is_waited_for() -> None:
    there = a_cluster(NAME_OF_MINE, "own", tenancy=EXCLUSIVE, deleting=True)
    assert refused(decide(a_catalogue(OWN, PLAIN), a_request("own"), there)) == (Reason.CLUSTER_TERMINATING, False)


def test_a_cluster_that_nobody_holds_is_taken_if_it_is_what_would_be_made() -> None:
    catalogue = a_catalogue(OWN, PLAIN)
    assert taken(decide(catalogue, a_request("own"), a_cluster(NAME_OF_MINE, "own", tenancy=EXCLUSIVE))) == NAME_OF_MINE
    drafted = a_fleet(catalogue)
    drafted.draft(a_cluster(NAME_OF_MINE, "own", tenancy=EXCLUSIVE), "somebody")
    assert refused(plan(a_request("own"), catalogue, drafted)) == (Reason.CLUSTER_CONFLICT, False)


@pytest.mark.parametrize(
    "other",
    [
        {"tenancy": Tenancy.SHARED},
        {"purposes": ("work",)},
        {"profile": "poor"},
        {"running": "1.31.4"},
    ],
    ids=str,
)
def test_a_cluster_that_nobody_holds_is_a_conflict_if_it_is_something_else(other: dict[str, Any]) -> None:
    catalogue = a_catalogue(OWN, a_profile("plain", "1.33.3", traits=["fast"]), a_profile("poor"))
    request = a_request("own", version="1.33", traits=wishes("fast"))
    given: dict[str, Any] = {"purposes": ("own",), "tenancy": EXCLUSIVE, **other}
    there = a_cluster(NAME_OF_MINE, *given.pop("purposes"), **given)
    assert refused(decide(catalogue, request, there)) == (Reason.CLUSTER_CONFLICT, False)


def test_a_request_that_nothing_can_satisfy_is_denied_whatever_stands_in_its_place() -> None:
    there = a_cluster(NAME_OF_MINE, "own", tenancy=EXCLUSIVE, claims=1)
    decision = decide(a_catalogue(OWN, PLAIN), a_request("own", traits=wishes("fast")), there)
    assert refused(decision) == (Reason.NO_FITTING_PROFILE, True)


def test_a_lost_cluster_comes_back_under_its_old_name() -> None:
    catalogue, request = a_catalogue(OWN, PLAIN), a_request("own")
    fleet, ask, old = a_fleet(catalogue), ask_of(catalogue, request), ObjectKey("elsewhere", "old")
    cluster = new(made(request, ask, catalogue, fleet, place=old))
    assert (cluster.metadata.namespace, cluster.metadata.name) == old
    fleet.put(a_cluster("old", "own", namespace="elsewhere", tenancy=EXCLUSIVE, claims=1))
    assert refused(made(request, ask, catalogue, fleet, place=old)) == (Reason.CLUSTER_CONFLICT, False)


def test_a_name_that_cannot_be_is_denied() -> None:
    assert refused(decide(a_catalogue(a_purpose("Work_1"), PLAIN), a_request("Work_1"))) == (
        Reason.INVALID_PURPOSE,
        True,
    )


# -- denied, or waiting (D19) ---------------------------------------------------------------------------------


def test_denied_if_no_profile_can_ever_satisfy_it() -> None:
    profiles = [a_profile(f"p-{place}", "1.33.3") for place in range(9)]
    decision = decide(a_catalogue(OWN, a_provider("local"), *profiles), a_request("own", traits=wishes("fast")))
    assert refused(decision) == (Reason.NO_FITTING_PROFILE, True)
    assert isinstance(decision, Unanswerable)
    assert "p-0: it does not satisfy the required traits: fast" in decision.message
    assert "and 4 more" in decision.message


def test_the_seeds_or_of_two_optional_traits_is_refused_where_neither_exists() -> None:
    request = a_request("own", traits=(wish(any_of=wishes("?a", "?b")),))
    assert refused(decide(a_catalogue(OWN, PLAIN), request)) == (Reason.NO_FITTING_PROFILE, True)


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([PLAIN, a_provider("silent")], Reason.NO_PROFILES_YET),
        ([PLAIN, a_provider("local"), a_provider("silent")], Reason.NO_PROFILES_YET),
        ([], Reason.NO_PROFILES_YET),
        ([a_provider("local")], Reason.NO_PROFILES_YET),
    ],
)
def test_nothing_is_denied_while_a_provider_is_silent(objects: list[Any], reason: Reason) -> None:
    request = a_request("own", traits=wishes("fast"))
    assert refused(decide(a_catalogue(OWN, *objects), request)) == (reason, False)


def test_a_provider_that_leaves_does_not_keep_a_request_waiting() -> None:
    catalogue = a_catalogue(OWN, PLAIN, a_provider("leaving", deleting=True))
    assert refused(decide(catalogue, a_request("own", traits=wishes("fast")))) == (Reason.NO_FITTING_PROFILE, True)


def test_a_profile_that_the_template_names_is_waited_for() -> None:
    catalogue = a_catalogue(a_purpose("work", template=a_template(profile="later")), PLAIN)
    decision = decide(catalogue, a_request("work"))
    assert refused(decision) == (Reason.PROFILE_NOT_FOUND, False)
    assert isinstance(decision, Unanswerable)
    assert "later" in decision.message


def test_a_purpose_that_does_not_exist_is_waited_for() -> None:
    assert refused(decide(a_catalogue(PLAIN), a_request("work"))) == (Reason.PURPOSE_NOT_FOUND, False)


# -- what decisions are made of -------------------------------------------------------------------------------


def test_what_suits_is_found_out_anew_when_a_sort_comes() -> None:
    catalogue, request = a_catalogue(WORK, PLAIN), a_request("work")
    fleet, ask = a_fleet(catalogue), ask_of(catalogue, request)
    assert not suiting(ask, catalogue, fleet, namespace=HERE, warm=False)
    fleet.put(a_cluster("c", "work"))
    groups = suiting(ask, catalogue, fleet, namespace=HERE, warm=False)
    assert len(groups) == 1
    fleet.assume(ObjectKey(HERE, "c"), "u")
    assert suiting(ask, catalogue, fleet, namespace=HERE, warm=False) is groups
    assert not suiting(ask, catalogue, Fleet(), namespace=HERE, warm=False)


@pytest.mark.parametrize(
    ("cluster", "misfit"),
    [
        (a_cluster("c", "work", tenancy=EXCLUSIVE), "it serves one request only"),
        (a_cluster("c", "other"), "it is not meant for work"),
        (a_cluster("c", "work"), "its labels do not match"),
        (a_cluster("c", "work", labels={"zone": "here"}, profile="poor"), "its profile poor does not satisfy fast"),
        (a_cluster("c", "work", labels={"zone": "here"}), "its version (not known yet) is not 1.33"),
        (a_cluster("c", "work", labels={"zone": "here"}, running="1.32.1"), "its version 1.32.1 is not 1.33"),
        (a_cluster("c", "work", labels={"zone": "here"}, running="1.33.1"), ""),
    ],
)
def test_the_one_reason_why_a_cluster_does_not_suit(cluster: Cluster, misfit: str) -> None:
    purpose = a_purpose("work", selector=a_selector(zone="here"), traits=wishes("fast"), tenancy_count=3)
    catalogue = a_catalogue(purpose, a_profile("plain", traits=["fast"]), a_profile("poor"))
    ask, sort = ask_of(catalogue, a_request("work", version="1.33")), a_fleet(catalogue, cluster).sorted(cluster)
    assert sort is not None
    found = fit(ask, sort, catalogue)
    assert found.misfit.startswith(misfit)
    assert bool(found.misfit) == bool(misfit)
    assert has_seat(ask, sort, catalogue, taken=2) is not bool(misfit)
    assert not has_seat(ask, sort, catalogue, taken=3)


def test_why_a_cluster_does_not_suit_a_dedicated_request() -> None:
    catalogue = a_catalogue(OWN, PLAIN)
    ask = ask_of(catalogue, a_request("own"))
    for cluster, misfit in (
        (a_cluster("c", "own", tenancy=EXCLUSIVE), "the request wants a cluster of its own"),
        (a_cluster("c", "own", warm="own"), "it may be shared, and the request wants a cluster of its own"),
        (a_cluster("c", "own", warm="own", tenancy=EXCLUSIVE), ""),
    ):
        sort = Fleet().sorted(cluster)
        assert sort is not None
        assert fit(ask, sort, catalogue).misfit == misfit
        assert has_seat(ask, sort, catalogue, taken=0) is not bool(misfit)
        assert not has_seat(ask, sort, catalogue, taken=1)
