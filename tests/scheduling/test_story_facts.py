"""Stories do not make things up: they agree with the decision, and what they advise helps."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from story_kit import NAMESPACE, World, a_cluster, a_grant, a_profile, a_purpose, a_request
from test_story import LOCAL, MCP, WORKLOAD, WORLDS

from mooring.api.requests import RequestPhase
from mooring.api.selectors import LabelSelector
from mooring.kube import key_of
from mooring.scheduling.candidates import Verdict
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.configuration import Configuration, Scope
from mooring.scheduling.fleet import Fleet
from mooring.scheduling.plan import Make, Take, plan
from mooring.scheduling.remedies import Who
from mooring.scheduling.telling import as_text


@pytest.mark.parametrize("name", [name for name in WORLDS if not name.startswith("granted")])
def test_the_story_tells_what_was_decided(name: str) -> None:
    world = WORLDS[name]
    catalogue = Catalogue(
        purposes=world.purposes,
        profiles=world.profiles,
        equivalences=world.equivalences,
        providers=world.providers,
    )
    decision = plan(world.request, catalogue, Fleet.of(world.clusters, labels=catalogue.labels))
    told = world.told()
    taken = [one.cluster for one in told.candidates if one.verdict is Verdict.TAKEN]
    chosen = [one.profile for one in told.profiles if one.chosen]
    match decision:
        case Take(cluster=key):
            assert (taken, chosen, told.outcome.cluster) == ([str(key)], [], str(key))
        case Make(cluster=made, chosen=best):
            assert (taken, chosen, told.outcome.cluster) == ([], [best.offer.name], str(key_of(made)))
        case refused:
            assert (taken, chosen, told.outcome.reason) == ([], [], refused.reason)
            assert told.remedies


@pytest.mark.parametrize("name", WORLDS)
def test_every_cluster_and_profile_is_told_of_once(name: str) -> None:
    world, told = WORLDS[name], WORLDS[name].told()
    if told.asked is None:
        assert not told.candidates
        return
    assert len(told.candidates) + sum(one.count for one in told.others) == len(world.clusters) == told.clusters
    assert sorted(one.profile for one in told.profiles) == sorted(one.metadata.name for one in world.profiles)
    assert all(one.why for one in (*told.candidates, *told.others, *told.profiles))


@pytest.mark.parametrize("name", WORLDS)
def test_a_story_is_plain_data(name: str) -> None:
    assert msgspec.json.decode(msgspec.json.encode(WORLDS[name].told()))["request"] == "shop/web"


def _granted(world: World) -> bool:
    return world.told().outcome.phase is RequestPhase.GRANTED


def test_what_is_advised_helps() -> None:
    by_version = WORLDS["denied-by-version"]
    for version in ("1.30.9", "1.36.4"):
        assert any(f"With version {version}" in one.what for one in by_version.told().remedies)
        assert _granted(replace(by_version, request=a_request(purpose="workload", kubernetes={"version": version})))
    assert _granted(replace(WORLDS["denied-by-trait"], request=a_request(purpose="mcp")))
    for purpose in ("platform", "onboarding"):
        assert _granted(replace(WORLDS["clash-of-purposes"], request=a_request(purpose=purpose)))
    random = {"clusters.openmcp.cloud/randomize-cluster-name": "true"}
    assert _granted(replace(WORLDS["conflict-by-name"], request=a_request(purpose="workload", labels=random)))
    assert _granted(replace(WORLDS["pending-no-capacity"], profiles=[a_profile("local", maxClusters=2)]))
    assert _granted(replace(WORLDS["pending-no-capacity"], purposes=[a_purpose("workload", tenancyCount=3)]))


def test_who_only_prefers_a_trait_need_not_let_it_go() -> None:
    wanted = [{"trait": "x"}]
    preferring = a_purpose("w", traits=[{"trait": "x", "optional": True}])
    requiring = a_purpose("w", traits=wanted)
    own = World(request=a_request(purpose="w", traits=wanted), purposes=[preferring], profiles=[LOCAL]).told()
    assert [one.who for one in own.remedies] == [Who.REQUESTER, Who.OWNER]
    assert own.remedies[0].what == "Without x (required by the request), the profile local would do."
    theirs = World(request=a_request(purpose="w", traits=wanted), purposes=[requiring], profiles=[LOCAL]).told()
    assert [one.who for one in theirs.remedies] == [Who.OWNER, Who.OWNER]
    assert "(required by the request and purpose w)" in theirs.remedies[0].what


def test_sharing_is_advised_where_it_would_help() -> None:
    told = World(
        request=a_request(purpose="workload", dedicated=True),
        purposes=[WORKLOAD],
        profiles=[a_profile("local", maxClusters=1)],
        clusters=[a_cluster("one", "workload", holders=["a"])],
    ).told()
    assert told.remedies[0].what == "Ask with spec.dedicated: false, and share the cluster shop/one."


def test_a_name_that_is_still_leaving() -> None:
    told = World(
        request=a_request(purpose="all"),
        purposes=[a_purpose("all", dedicated=False)],
        profiles=[LOCAL],
        clusters=[a_cluster("all", "all", deleting=True)],
    ).told()
    assert told.outcome.reason == "ClusterTerminating"
    assert "Wait until the cluster shop/all is gone" in told.remedies[0].what


def test_where_clusters_serve_their_own_namespace() -> None:
    elsewhere = a_cluster("theirs", "workload")
    elsewhere = msgspec.structs.replace(
        elsewhere, metadata=msgspec.structs.replace(elsewhere.metadata, namespace="other")
    )
    told = World(
        request=a_request(purpose="workload"),
        purposes=[WORKLOAD],
        profiles=[LOCAL],
        clusters=[elsewhere],
        extra={"configuration": Configuration(scope=Scope.NAMESPACED)},
    ).told()
    assert [one.why for one in told.candidates] == ["it serves requests of the namespace other only"]
    assert told.outcome.new


@pytest.mark.parametrize("strategy", ["Balanced", "Packed", "Simple", "Random"])
def test_the_strategy_is_the_reason(strategy: str) -> None:
    told = World(
        request=a_request(purpose="w"),
        purposes=[a_purpose("w", strategy=strategy)],
        profiles=[LOCAL],
        clusters=[a_cluster("a", "w", holders=["x"]), a_cluster("b", "w", holders=["y", "z"])],
    ).told()
    taken, other = told.candidates
    assert taken.why.startswith(f"{strategy}: ")
    assert other.why == f"it fits, and {strategy} preferred {taken.cluster}"


def test_a_stranger_cannot_paint_on_the_terminal() -> None:
    world = World(
        request=a_request(purpose="workload", traits=[{"trait": "a\x1b[2J\nDecision\n  yes", "optional": True}]),
        purposes=[WORKLOAD],
        profiles=[LOCAL],
    )
    text = as_text(world.told())
    assert "\x1b" not in text
    assert r"a\x1b[2J\nDecision\n  yes" in text


def test_what_a_reader_should_know() -> None:
    def notes(world: World) -> str:
        return " ".join(world.told().notes)

    usual = World(request=a_request(purpose="mcp"), purposes=[MCP], profiles=[LOCAL])
    metadata = usual.request.metadata
    assert notes(usual).startswith("No answer is written yet.")

    leaving = msgspec.structs.replace(metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    assert "is being deleted" in notes(replace(usual, request=msgspec.structs.replace(usual.request, metadata=leaving)))
    ignored = msgspec.structs.replace(metadata, annotations={"openmcp.cloud/operation": "ignore"})
    assert "leaves it alone" in notes(replace(usual, request=msgspec.structs.replace(usual.request, metadata=ignored)))
    selective = {"configuration": Configuration(requests=LabelSelector(match_labels={"ours": "yes"}))}
    assert "selects other requests" in notes(replace(usual, extra=selective))

    granted = replace(usual, grant=a_grant("web", "gone"))
    assert notes(granted) == (
        f"The cluster {NAMESPACE}/gone does not exist (any more); scheduling makes it anew under the same name."
    )
    robbed = replace(granted, clusters=[a_cluster("gone", "mcp", tenancy="Exclusive")])
    assert "Its claim is missing on the cluster" in notes(robbed)
    going = replace(granted, clusters=[a_cluster("gone", "mcp", tenancy="Exclusive", holders=["web"], deleting=True)])
    assert notes(going) == f"The cluster {NAMESPACE}/gone is being deleted."
