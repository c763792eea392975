"""Requests answered on paper: the same decisions, one after another, and bad files told by file, document and field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.api.claims import claimants, prefixes_on
from mooring.scheduling.configuration import Configuration, configuration_of
from mooring.scheduling.manifests import BadManifest, Document, manifests
from mooring.scheduling.prefixes import is_free
from mooring.scheduling.simulation import Simulation, simulated

GROUP = "clusters.openmcp.cloud/v1alpha1"


def an(
    kind: str, name: str, /, api: str = GROUP, metadata: dict[str, Any] | None = None, **parts: Any
) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **(metadata or {})}, **parts}


def a_request(name: str, /, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return an("ClusterRequest", name, metadata=metadata, spec=spec or {"purpose": "workload"})


def a_profile(name: str, **spec: Any) -> dict[str, Any]:
    usual = {
        "providerRef": {"name": "local"},
        "providerConfigRef": {"name": name},
        "supportedVersions": [{"version": "1.33.3"}],
    }
    return an("ClusterProfile", name, spec={**usual, **spec})


WORKLOAD = an("Purpose", "workload", spec={"dedicated": False, "tenancyCount": 2})
MCP = an("Purpose", "mcp", spec={"dedicated": True})
LOCAL = a_profile("local")


def documents(*contents: Any) -> list[Document]:
    return [Document(f"a.yaml, document {number}", one) for number, one in enumerate(contents, start=1)]


def replayed(*contents: Any, configuration: Configuration | None = None, **said: Any) -> Simulation:
    return simulated(manifests(documents(*contents)), configuration or Configuration(), **said)


def problems(*contents: Any) -> list[str]:
    with pytest.raises(BadManifest) as caught:
        manifests(documents(*contents))
    return list(caught.value.problems)


def test_each_answer_takes_its_seat_before_the_next_one() -> None:
    result = replayed(WORKLOAD, LOCAL, *(a_request(name) for name in "abcde"))
    assert [one.outcome.new for one in result.answers] == [True, False, True, False, True]
    assert sorted(len(claimants(one.metadata)) for one in result.clusters) == [1, 2, 2]


def test_later_requests_live_with_the_prefixes_of_earlier_ones() -> None:
    result = replayed(
        WORKLOAD,
        LOCAL,
        a_request("a", purpose="workload", prefix="web-"),
        a_request("b", purpose="workload", prefix="web-x"),
    )
    first, second = (one.outcome.prefix for one in result.answers)
    assert first == "web-"
    assert not second.startswith("web-")
    (made,) = result.clusters
    assert prefixes_on(made.metadata) == [first, second]


def test_a_warm_cluster_is_handed_over_once() -> None:
    warm = an(
        "Cluster",
        "ready-made",
        metadata={"labels": {"mooring.dev/warm": "mcp"}},
        spec={"profile": "local", "tenancy": "Exclusive", "purposes": ["mcp"]},
    )
    result = replayed(MCP, LOCAL, warm, a_request("a", purpose="mcp"), a_request("b", purpose="mcp"))
    assert [(one.outcome.warm, one.outcome.new) for one in result.answers] == [(True, False), (False, True)]


def test_who_holds_a_cluster_keeps_it_and_who_leaves_gets_none() -> None:
    uid = "11111111-2222-3333-4444-555555555555"
    mark = f"request.clusters.openmcp.cloud/{uid}"
    held = an(
        "Cluster",
        "one",
        metadata={"finalizers": [mark], "annotations": {mark: '{"namespace":"default","name":"a","prefix":"abc-"}'}},
        spec={"profile": "local", "tenancy": "Shared", "purposes": ["workload"]},
    )
    leaving = a_request("b", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    result = replayed(WORKLOAD, LOCAL, held, a_request("a", metadata={"uid": uid}), leaving)
    kept, left = (one.outcome for one in result.answers)
    assert (kept.held, kept.cluster, kept.prefix) == (True, "default/one", "abc-")
    assert (left.cluster, left.reason) == ("", "Leaving")


def test_the_configuration_counts() -> None:
    configuration = configuration_of(
        {
            "scheduler": {
                "selectors": {"requests": {"matchLabels": {"ours": "yes"}}},
                "purposeMappings": {"told": {"template": {"spec": {"profile": "local", "tenancy": "Exclusive"}}}},
            }
        }
    )
    ours = a_request("a", metadata={"labels": {"ours": "yes"}}, purpose="told")
    result = replayed(LOCAL, ours, a_request("b", purpose="told"), configuration=configuration)
    assert [one.outcome.reason for one in result.answers] == ["Granted", "NotSelected"]


def test_a_story_is_of_the_moment_of_the_decision() -> None:
    result = replayed(WORKLOAD, LOCAL, a_request("a"), a_request("b"), explained=lambda key: key.name == "b")
    first, second = result.answers
    assert first.story is None
    assert second.story is not None
    assert [(one.taken, one.verdict) for one in second.story.candidates] == [(1, "Taken")]
    assert second.story.outcome == second.outcome


_requests = st.lists(
    st.tuples(st.sampled_from(["workload", "mcp", "none"]), st.sampled_from(["", "web", "web-", "we", "api"])),
    max_size=20,
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(_requests, st.integers(1, 3))
def test_nothing_is_overbooked_and_everything_comes_out_the_same(wanted: list[tuple[str, str]], seats: int) -> None:
    shared = an("Purpose", "workload", spec={"tenancyCount": seats})
    contents = [shared, MCP, a_profile("local", maxClusters=6)]
    for number, (purpose, prefix) in enumerate(wanted):
        contents.append(a_request(f"r{number}", purpose=purpose, **({"prefix": prefix} if prefix else {})))
    result = replayed(*contents)
    assert result == replayed(*contents)
    assert len(result.clusters) <= 6
    granted = [one for one in result.answers if one.outcome.cluster]
    assert sum(len(claimants(one.metadata)) for one in result.clusters) == len(granted)
    for one in result.clusters:
        assert len(claimants(one.metadata)) <= (1 if one.spec.tenancy == "Exclusive" else seats)
        taken = prefixes_on(one.metadata)
        assert all(is_free(prefix, [other for other in taken if other != prefix]) for prefix in taken)


# -- bad files ------------------------------------------------------------------------------------------------------


def nested(depth: int) -> dict[str, Any]:
    wish: dict[str, Any] = {"trait": "a"}
    for _ in range(depth):
        wish = {"or": [wish]}
    return wish


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (an("Pod", "a"), "kind: 'Pod' is not a kind that can be simulated"),
        ({"metadata": {"name": "a"}}, "kind: None is not a kind"),
        (an("Purpose", "a", api="v1", spec={}), "apiVersion: 'v1' has no Purpose; it is in clusters.openmcp.cloud"),
        ({"apiVersion": GROUP, "kind": "Purpose", "spec": {}}, "Purpose (without a name): metadata: is missing"),
        ({"apiVersion": GROUP, "kind": "Purpose", "metadata": {}, "spec": {}}, "metadata.name: is missing"),
        (an("Purpose", "A_", spec={}), "Purpose A_: metadata.name: 'A_' is no name that Kubernetes takes"),
        (an("Purpose", "a", metadata={"labels": {"x": True}}, spec={}), "metadata.labels: must be a map of texts"),
        (an("Purpose", "a"), "Purpose a: spec: is missing"),
        (an("Cluster", "a"), "Cluster a: spec: is missing"),
        (an("Purpose", "a", spec=[]), "spec: [] must be a map of fields"),
        (an("Purpose", "a", spec={"warmth": 1}), "spec.warmth: there is no such field; there are dedicated, traits"),
        (an("Purpose", "a", spec={"warm": "1"}), "spec.warm: '1' must be a whole number"),
        (an("Purpose", "a", spec={"warm": 1001}), "spec.warm: 1001 is above 1000"),
        (an("Purpose", "a", spec={"tenancyCount": -1}), "spec.tenancyCount: -1 is below 0"),
        (an("Purpose", "a", spec={"dedicated": "yes"}), "spec.dedicated: 'yes' must be true or false"),
        (an("Purpose", "a", spec={"strategy": "Best"}), "spec.strategy: 'Best' must be one of Balanced, Simple"),
        (an("Purpose", "a", spec={"dedicated": True, "tenancyCount": 2}), "spec.tenancyCount: must be 0 or absent"),
        (
            an("Purpose", "a", spec={"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}),
            "spec.selector.matchExpressions: 'Is' is no operator; use In, NotIn, Exists or DoesNotExist",
        ),
        (
            an("Purpose", "a", spec={"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
            "spec.selector.matchExpressions: values are needed for In",
        ),
        (a_request("a", purpose="a", purposes=["b"]), "exactly one of spec.purpose and spec.purposes must be set"),
        (a_request("a", dedicated=True), "exactly one of spec.purpose and spec.purposes must be set"),
        (
            a_request("a", purpose="a", kubernetes={"version": "1.x"}),
            "spec.kubernetes.version: '1.x' does not have the",
        ),
        (
            a_request("a", purpose="a", kubernetes={"version": 1.3}),
            "spec.kubernetes.version: 1.3 must be a text (put it",
        ),
        (a_request("a", purpose="a", prefix="A_"), "spec.prefix: 'A_' does not have the form"),
        (a_request("a", purpose="a", ttl="0s"), "spec.ttl: must be longer than nothing"),
        (a_request("a", purpose="a", ttl="soon"), "spec.ttl: 'soon' does not have the form"),
        (a_request("a", purposes=[]), "spec.purposes: has 0 entries; there may be 1 to 32"),
        (a_request("a", purpose="a", traits={"trait": "a"}), "spec.traits: {'trait': 'a'} must be a list"),
        (a_request("a", purpose="a", traits=[{}]), "spec.traits[0]"),
        (a_request("a", purpose="a", traits=[{"trait": "a", "or": [{"trait": "b"}]}]), "spec.traits[0] has trait, or"),
        (a_request("a", purpose="a", traits=[{"nor": []}]), "spec.traits[0].nor: there is no such field"),
        (a_request("a", purpose="a", traits=[nested(5)]), ".or: operators nest up to 4 deep; say it with less nesting"),
        (
            a_request("a", purpose="a", traits=[nested(50)]),
            ".or: operators nest up to 4 deep; say it with less nesting",
        ),
        (a_profile("a", supportedVersions=[{"version": "newest"}]), "'newest' is not a version such as 1.33.3"),
        (a_profile("a", supportedTraits=[{}]), "each entry needs exactly one of trait and name"),
        (an("TraitEquivalence", "a", spec={"traits": ["a"]}), "spec.traits: has 1 entries; there may be 2 to 64"),
        (an("TraitEquivalence", "a", spec={"traits": ["a", "a"]}), "spec.traits: has a trait twice"),
        (an("ClusterProvider", "a", api="openmcp.cloud/v1alpha1", spec={}), "spec.image: is missing"),
    ],
)
def test_bad_objects(content: dict[str, Any], problem: str) -> None:
    (told,) = problems(content)
    assert told.startswith("a.yaml, document 1: ")
    assert problem in told


def test_nesting_within_the_bounds_is_fine() -> None:
    assert replayed(WORKLOAD, LOCAL, a_request("a", purpose="workload", traits=[nested(4)])).answers


def test_nesting_without_any_bounds_is_no_trouble() -> None:
    (told,) = problems(a_request("a", purpose="a", traits=[nested(100_000)]))
    assert "operators nest up to 4 deep" in told


def test_all_problems_are_told_at_once_and_twins_are_named() -> None:
    told = problems(WORKLOAD, WORKLOAD, an("Pod", "x"), a_request("a", purpose="a", prefix="A_", warm=1))
    assert told[0] == "a.yaml, document 2: Purpose workload is already in a.yaml, document 1; keep one of them"
    assert [one.split(": ")[0] for one in told] == ["a.yaml, document 2", "a.yaml, document 3"] + [
        "a.yaml, document 4"
    ] * 2


def test_two_objects_with_one_uid() -> None:
    (told,) = problems(a_request("a", metadata={"uid": "u"}), a_request("b", metadata={"uid": "u"}))
    assert told == "a.yaml, document 2: metadata.uid: is also that of the object in a.yaml, document 1"


def test_what_a_dump_also_holds_is_left_out() -> None:
    grant = an("ClusterRequestGrant", "a", spec={"clusterRef": {"name": "x", "namespace": "y"}})
    assert len(replayed(WORKLOAD, LOCAL, grant, a_request("a")).answers) == 1
