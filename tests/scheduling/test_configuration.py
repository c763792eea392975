"""Upstream's configuration: what is read out of a good one, and what is said about a bad one."""

from __future__ import annotations

import contextlib
import copy
import datetime
import pickle

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.api.clusters import KubernetesConfig, Tenancy
from mooring.api.purposes import ClusterTemplate, PurposeSpec, Strategy, TemplateMetadata, TemplateSpec
from mooring.api.references import LocalReference
from mooring.api.selectors import LabelRequirement, LabelSelector
from mooring.scheduling.configuration import (
    DEFAULT_CONFIGURATION,
    BadConfiguration,
    Configuration,
    Scope,
    both,
    configuration_of,
)
from mooring.scheduling.merging import merged

UPSTREAM = """
managedControlPlane:
  mcpClusterPurpose: mcp
accessRequest:
  selector: {matchLabels: {a: b}}
scheduler:
  scope: Namespaced
  strategy: Random
  selectors:
    clusters:
      matchLabels: {landscape: live}
    requests:
      matchExpressions:
      - {key: example.org/hold, operator: DoesNotExist}
  purposeMappings:
    mcp:
      template:
        metadata:
          creationTimestamp: null
          generateName: mcp-
          namespace: control-planes
          labels: {landscape: live}
          annotations: {note: "made for one"}
        spec:
          profile: gardener.large
          tenancy: Exclusive
    workload:
      tenancyCount: 20
      selector:
        matchLabels: {tier: gold}
        matchExpressions:
        - {key: zone, operator: In, values: [a, b]}
      template:
        metadata:
          labels: {landscape: live, tier: gold, zone: a}
        spec:
          profile: gardener.small
          tenancy: Shared
          purposes: [workload, batch]
          kubernetes: {version: "1.33"}
          clusterConfigs:
          - name: large-nodes
"""

LIVE = LabelSelector(match_labels={"landscape": "live"})


def test_a_configuration_as_upstream_writes_it() -> None:
    found = configuration_of(yaml.safe_load(UPSTREAM))
    hold = LabelRequirement(key="example.org/hold", operator="DoesNotExist")
    zone = LabelRequirement(key="zone", operator="In", values=("a", "b"))
    assert found == Configuration(
        scope=Scope.NAMESPACED,
        strategy=Strategy.RANDOM,
        clusters=LIVE,
        requests=LabelSelector(match_expressions=(hold,)),
        purposes={
            "mcp": PurposeSpec(
                dedicated=True,
                selector=LIVE,
                template=ClusterTemplate(
                    metadata=TemplateMetadata(
                        generate_name="mcp-",
                        namespace="control-planes",
                        labels={"landscape": "live"},
                        annotations={"note": "made for one"},
                    ),
                    spec=TemplateSpec(profile="gardener.large", tenancy=Tenancy.EXCLUSIVE),
                ),
            ),
            "workload": PurposeSpec(
                dedicated=False,
                tenancy_count=20,
                selector=LabelSelector(match_labels={"tier": "gold", "landscape": "live"}, match_expressions=(zone,)),
                template=ClusterTemplate(
                    metadata=TemplateMetadata(labels={"landscape": "live", "tier": "gold", "zone": "a"}),
                    spec=TemplateSpec(
                        profile="gardener.small",
                        tenancy=Tenancy.SHARED,
                        purposes=("workload", "batch"),
                        kubernetes=KubernetesConfig(version="1.33"),
                        cluster_configs=(LocalReference(name="large-nodes"),),
                    ),
                ),
            ),
        },
    )


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"scheduler": None},
        {"scheduler": {}},
        {"scheduler": {"scope": "", "strategy": "", "selectors": None, "purposeMappings": {}}},
        {"scheduler": {"selectors": {"clusters": None}}},
        {"helmDeployer": {"anything": [1]}, 3: "not ours"},
    ],
)
def test_what_is_not_said_has_its_default(document: dict) -> None:
    assert configuration_of(document) == DEFAULT_CONFIGURATION
    assert (
        Configuration(scope=Scope.CLUSTER, strategy=Strategy.BALANCED, clusters=None, requests=None, purposes={})
        == DEFAULT_CONFIGURATION
    )


@pytest.mark.parametrize("strategy", list(Strategy))
def test_every_strategy_of_ours_can_be_said(strategy: Strategy) -> None:
    assert configuration_of({"scheduler": {"strategy": str(strategy)}}).strategy is strategy


def test_an_empty_selector_selects_everything_and_is_not_absent() -> None:
    assert configuration_of({"scheduler": {"selectors": {"clusters": {}}}}).clusters == LabelSelector()


def a_document(tenancy: str = "Exclusive") -> dict:
    mapping = {"template": {"spec": {"profile": "local", "tenancy": tenancy}}}
    return {"scheduler": {"purposeMappings": {"mcp": mapping}}}


def planted(path: str, value: object, *, tenancy: str = "Exclusive") -> dict:
    """A good configuration, but for the value at this path. Steps are parted by slashes."""
    document = a_document(tenancy)
    *steps, last = path.split("/")
    place = document
    for step in steps:
        place = place.setdefault(step, {})
    place[last] = value
    return document


def problems_of(document: dict) -> tuple[str, ...]:
    with pytest.raises(BadConfiguration) as caught:
        configuration_of(document)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


MCP = "scheduler/purposeMappings/mcp"
METADATA, SPEC = f"{MCP}/template/metadata", f"{MCP}/template/spec"
CLUSTERS = "scheduler/selectors/clusters"

# path of the planted value, the value, and what the problem must hold beside the path
FAULTS = [
    ("scheduler", "x", ['"x"', "a map"]),
    ("scheduler", ["x"], ["a map"]),
    ("scheduler/scope", "cluster", ['"cluster"', "Cluster or Namespaced"]),
    ("scheduler/scope", 3, ["is 3", "Cluster or Namespaced"]),
    ("scheduler/strategy", "Best", ['"Best"', "Balanced, Simple, Random or Packed"]),
    ("scheduler/strategy", ["Simple"], ["Balanced, Simple, Random or Packed"]),
    ("scheduler/purposeMapping", {}, ["did you mean purposeMappings?"]),
    ("scheduler/purposemappings", {}, ["did you mean purposeMappings?"]),
    ("scheduler/zzz", {}, ["scope, strategy, selectors or purposeMappings"]),
    ("scheduler/selectors", "x", ["a map"]),
    ("scheduler/selectors/cluster", {}, ["did you mean clusters?"]),
    (CLUSTERS, [], ["a map"]),
    (f"{CLUSTERS}/matchlabels", {}, ["did you mean matchLabels?"]),
    (f"{CLUSTERS}/matchLabels", ["a"], ["a map"]),
    ("scheduler/selectors/requests/matchLabels/a", True, ["is true", "quotes"]),
    ("scheduler/selectors/requests/matchLabels/a", None, ["absent", '""']),
    ("scheduler/selectors/requests/matchLabels/a", "no good", ['"no good"', "63"]),
    ("scheduler/selectors/requests/matchLabels/a", "x" * 64, ["63"]),
    ("scheduler/selectors/requests/matchExpressions", {"key": "a"}, ["a list"]),
    ("scheduler/purposeMappings", ["mcp"], ["a map"]),
    (MCP, None, ["absent", "say what the purpose means"]),
    (MCP, "Exclusive", ["a map"]),
    (f"{MCP}/tenancycount", 1, ["did you mean tenancyCount?"]),
    (f"{MCP}/tenancyCount", -1, ["is -1", "from 0"]),
    (f"{MCP}/tenancyCount", "3", ['"3"', "whole number"]),
    (f"{MCP}/tenancyCount", 2.0, ["2.0", "whole number"]),
    (f"{MCP}/tenancyCount", True, ["true", "whole number"]),
    (f"{MCP}/tenancyCount", 2**31, ["2147483647"]),
    (f"{MCP}/tenancyCount", 3, ["is 3", "use 0", "Shared"]),
    (f"{MCP}/selector", 1, ["a map"]),
    (f"{MCP}/template", "x", ["a map"]),
    (f"{MCP}/template/meta", {}, ["did you mean metadata?"]),
    (METADATA, "x", ["a map"]),
    (f"{METADATA}/finalizers", [], ["name, generateName, namespace, labels, annotations"]),
    (f"{METADATA}/name", "Upper", ['"Upper"', "lower-case"]),
    (f"{METADATA}/name", "x" * 64, ["63"]),
    (f"{METADATA}/name", 7, ["is 7", "quotes"]),
    (f"{METADATA}/generateName", "-x", ["beginning with a letter or digit"]),
    (f"{METADATA}/generateName", "x.-", ["lower-case"]),
    (f"{METADATA}/generateName", "x" * 56, ["55"]),
    (f"{METADATA}/namespace", "a.b", ["lower-case"]),
    (f"{METADATA}/labels/team", 5, ["is 5", "quotes"]),
    (f"{METADATA}/labels/team", {"a": "b"}, ["a text"]),
    (f"{METADATA}/annotations/team", ["a"], ["a text"]),
    (SPEC, [], ["a map"]),
    (f"{SPEC}/profile", None, ["absent", "ClusterProfile"]),
    (f"{SPEC}/profile", "", ['""', "ClusterProfile"]),
    (f"{SPEC}/profile", "a_b", ['"a_b"', "lower-case"]),
    (f"{SPEC}/profile", "x" * 254, ["253"]),
    (f"{SPEC}/tenancy", None, ["absent", "Exclusive or Shared"]),
    (f"{SPEC}/tenancy", "", ["Exclusive or Shared"]),
    (f"{SPEC}/tenancy", "exclusive", ['"exclusive"', "Exclusive or Shared"]),
    (f"{SPEC}/purposes", "mcp", ["a list"]),
    (f"{SPEC}/kubernetes", "1.33", ["a map"]),
    (f"{SPEC}/kubernetes/version", 1.3, ["is 1.3", "quotes"]),
    (f"{SPEC}/kubernetes/version", "1.x", ['"1.x"', "1.33.3"]),
    (f"{SPEC}/kubernetes/version", datetime.date(2026, 1, 1), ["2026-01-01", "quotes"]),
    (f"{SPEC}/clusterConfigs", {"name": "x"}, ["a list"]),
    (f"{SPEC}/clusterConfigRef", {"name": "x"}, ["did you mean clusterConfigs?"]),
]


@pytest.mark.parametrize(("path", "value", "words"), FAULTS, ids=[f"{path}={value!r:.20}" for path, value, _ in FAULTS])
def test_a_fault_is_named_with_its_value_and_a_remedy(path: str, value: object, words: list[str]) -> None:
    (problem,) = problems_of(planted(path, value))
    assert problem.startswith(path.replace("/", ".") + " is ")
    for word in words:
        assert word in problem


@pytest.mark.parametrize(
    ("expression", "place", "words"),
    [
        ({"operator": "Exists"}, ".key", ["absent", "name a label"]),
        ({"key": "a b", "operator": "Exists"}, ".key", ['"a b"', "name a label"]),
        ({"key": "x/y/z", "operator": "Exists"}, ".key", ["name a label"]),
        ({"key": "a"}, ".operator", ["absent", "In, NotIn, Exists or DoesNotExist"]),
        ({"key": "a", "operator": "in"}, ".operator", ['"in"', "In, NotIn, Exists or DoesNotExist"]),
        ({"key": "a", "operator": "In"}, ".values", ["absent", "at least one"]),
        ({"key": "a", "operator": "NotIn", "values": []}, ".values", ["at least one"]),
        ({"key": "a", "operator": "Exists", "values": ["b"]}, ".values", ['["b"]', "no values"]),
        ({"key": "a", "operator": "In", "values": "b"}, ".values", ["a list"]),
        ({"key": "a", "operator": "In", "values": [1]}, ".values[0]", ["is 1", "quotes"]),
        ({"key": "a", "operator": "Exists", "value": "b"}, ".value", ["did you mean values?"]),
        ("a", "", ["a map"]),
    ],
)
@pytest.mark.parametrize("path", [CLUSTERS, "scheduler/selectors/requests", f"{MCP}/selector"])
def test_faulty_expressions_of_selectors(path: str, expression: object, place: str, words: list[str]) -> None:
    told = problems_of(planted(path, {"matchExpressions": [expression]}))
    where = path.replace("/", ".") + ".matchExpressions[0]" + place
    found = next(problem for problem in told if problem.startswith(where + " is "))
    for word in words:
        assert word in found


@pytest.mark.parametrize(
    ("place", "value", "path"),
    [
        (f"{SPEC}/purposes", ["a", ""], f"{SPEC}/purposes[1]"),
        (f"{SPEC}/purposes", [None], f"{SPEC}/purposes[0]"),
        (f"{SPEC}/purposes", ["x" * 254], f"{SPEC}/purposes[0]"),
        (f"{SPEC}/clusterConfigs", [{}], f"{SPEC}/clusterConfigs[0]/name"),
        (f"{SPEC}/clusterConfigs", ["x"], f"{SPEC}/clusterConfigs[0]"),
        (f"{SPEC}/clusterConfigs", [{"name": "A"}], f"{SPEC}/clusterConfigs[0]/name"),
        (f"{METADATA}/labels", {"a b": "c"}, f'{METADATA}/labels["a b"]'),
        (f"{METADATA}/labels", {"": "c"}, f'{METADATA}/labels[""]'),
        (f"{METADATA}/labels", {"UP/x": "c"}, f'{METADATA}/labels["UP/x"]'),
        (f"{METADATA}/annotations", {"a/b/c": "d"}, f'{METADATA}/annotations["a/b/c"]'),
    ],
)
def test_faults_in_lists_and_in_free_keys(place: str, value: object, path: str) -> None:
    head, bracket, tail = path.partition('["')
    (problem,) = problems_of(planted(place, value))
    assert problem.startswith(head.replace("/", ".") + bracket + tail + " is ")


def test_keys_that_are_no_texts() -> None:
    document = a_document()
    document["scheduler"]["purposeMappings"][7] = document["scheduler"]["purposeMappings"]["mcp"]
    (problem,) = problems_of(document)
    assert problem == "scheduler.purposeMappings has the key 7: put it in quotes, keys are texts"


def test_a_purpose_needs_a_name() -> None:
    document = a_document()
    document["scheduler"]["purposeMappings"][""] = document["scheduler"]["purposeMappings"].pop("mcp")
    (problem,) = problems_of(document)
    assert problem.startswith('scheduler.purposeMappings[""] is {')
    assert "needs a name" in problem


@pytest.mark.parametrize(
    ("purpose", "tenancy", "seats", "metadata", "possible"),
    [
        ("My purpose", "Exclusive", 0, {}, False),
        ("My purpose", "Exclusive", 0, {"name": "mine"}, False),  # each has its own name, so this one is not used
        ("My purpose", "Shared", 5, {"name": "mine"}, False),
        ("My purpose", "Shared", 0, {"name": "mine"}, True),
        ("My purpose", "Exclusive", 0, {"generateName": "mine-"}, True),
        ("x" * 55, "Exclusive", 0, {}, False),
        ("x" * 54, "Exclusive", 0, {}, True),
        ("x" * 63, "Shared", 0, {}, True),
        ("x" * 64, "Shared", 0, {}, False),
    ],
)
def test_clusters_can_be_named(purpose: str, tenancy: str, seats: int, metadata: dict, possible: bool) -> None:
    template = {"metadata": metadata, "spec": {"profile": "local", "tenancy": tenancy}}
    document = {"scheduler": {"purposeMappings": {purpose: {"tenancyCount": seats, "template": template}}}}
    if possible:
        assert purpose in configuration_of(document).purposes
    else:
        (problem,) = problems_of(document)
        assert "template.metadata.generateName is absent: set it" in problem
        assert repr(purpose) in problem


@pytest.mark.parametrize("path", [CLUSTERS, f"{MCP}/selector"])
@pytest.mark.parametrize(
    ("selector", "labels", "unmet"),
    [
        ({"matchLabels": {"team": "a"}}, {}, "team=a"),
        ({"matchLabels": {"team": "a"}}, {"team": "b"}, "team=a"),
        ({"matchLabels": {"team": "a"}}, {"team": "a"}, ""),
        ({"matchExpressions": [{"key": "z", "operator": "In", "values": ["a", "b"]}]}, {}, "z In (a, b)"),
        ({"matchExpressions": [{"key": "z", "operator": "DoesNotExist"}]}, {"z": "a"}, "z DoesNotExist"),
        ({"matchExpressions": [{"key": "z", "operator": "NotIn", "values": ["a"]}]}, {}, ""),
    ],
)
def test_a_selector_must_find_the_templates_clusters(path: str, selector: dict, labels: dict, unmet: str) -> None:
    document = planted(path, selector)
    document["scheduler"]["purposeMappings"]["mcp"]["template"]["metadata"] = {"labels": labels}
    if not unmet:
        assert configuration_of(document).purposes["mcp"].selector is not None
        return
    (problem,) = problems_of(document)
    assert problem.startswith("scheduler.purposeMappings.mcp.template.metadata.labels is ")
    assert f"{path.replace('/', '.')} would not find" in problem
    assert unmet in problem


def test_all_faults_are_told_at_once() -> None:
    document = planted("scheduler/scope", "x")
    document["scheduler"] |= {"strategy": "y", "bogus": 1, "selectors": {"clusters": {"matchExpressions": [{}]}}}
    document["scheduler"]["purposeMappings"] |= {"empty": None, "bare": {}, "typed": {"tenancyCount": "many"}}
    starts = [problem.split(" is ")[0] for problem in problems_of(document)]
    mappings = "scheduler.purposeMappings"
    assert sorted(starts) == sorted(
        [
            "scheduler.bogus",
            "scheduler.scope",
            "scheduler.strategy",
            "scheduler.selectors.clusters.matchExpressions[0].key",
            "scheduler.selectors.clusters.matchExpressions[0].operator",
            f"{mappings}.empty",
            f"{mappings}.bare.template.spec.profile",
            f"{mappings}.bare.template.spec.tenancy",
            f"{mappings}.typed.tenancyCount",
            f"{mappings}.typed.template.spec.profile",
            f"{mappings}.typed.template.spec.tenancy",
        ]
    )


def test_a_huge_value_is_not_repeated_in_full() -> None:
    (problem,) = problems_of(planted("scheduler/scope", "x" * 10_000))
    assert len(problem) < 200


def test_both_selectors_count_and_the_global_one_wins_where_they_differ() -> None:
    zone, team = (LabelRequirement(key=key, operator="Exists") for key in ("zone", "team"))
    local = LabelSelector(match_labels={"a": "1", "b": "2"}, match_expressions=(zone,))
    everywhere = LabelSelector(match_labels={"b": "3", "c": "4"}, match_expressions=(team,))
    joined = LabelSelector(match_labels={"a": "1", "b": "3", "c": "4"}, match_expressions=(zone, team))
    assert both(local, everywhere) == joined
    assert both(local, None) == local
    assert both(None, everywhere) == everywhere
    assert both(None, None) is None


def test_selectors_that_contradict_each_other_are_refused() -> None:
    document = planted(CLUSTERS, {"matchLabels": {"a": "1"}})
    mapping = document["scheduler"]["purposeMappings"]["mcp"]
    mapping["selector"] = {"matchLabels": {"a": "2"}}
    mapping["template"]["metadata"] = {"labels": {"a": "1"}}
    (problem,) = problems_of(document)
    assert "scheduler.purposeMappings.mcp.selector would not find new clusters again" in problem


def test_what_is_handed_out_cannot_be_changed() -> None:
    document = yaml.safe_load(UPSTREAM)
    found, again = configuration_of(document), configuration_of(yaml.safe_load(UPSTREAM))
    template = found.purposes["workload"].template
    assert template is not None
    assert found.clusters is not None
    for held in (found.purposes, template.metadata.labels, template.metadata.annotations, found.clusters.match_labels):
        for change in (
            lambda held=held: held.update(x="y"),
            lambda held=held: held.__setitem__("x", "y"),
            lambda held=held: held.setdefault("x", "y"),
            lambda held=held: held.pop("x", None),
            lambda held=held: held.clear(),
            lambda held=held: held.__ior__({"x": "y"}),
        ):
            with pytest.raises(TypeError, match="copy"):
                change()
    document["scheduler"]["purposeMappings"]["workload"]["template"]["metadata"]["labels"]["x"] = "y"
    document["scheduler"]["selectors"]["clusters"]["matchLabels"]["x"] = "y"
    assert found == again


def test_a_copy_of_what_is_handed_out_can_be_changed() -> None:
    found = configuration_of(yaml.safe_load(UPSTREAM))
    template = found.purposes["workload"].template
    assert template is not None
    mine = {**template.metadata.labels, "x": "y"}
    assert mine["x"] == "y"
    assert copy.deepcopy(template.metadata.labels) == template.metadata.labels
    assert pickle.loads(pickle.dumps(template.metadata.labels)) == template.metadata.labels
    assert msgspec.json.decode(msgspec.json.encode(template), type=ClusterTemplate) == template


def test_a_configuration_keeps_no_map_of_its_maker() -> None:
    purposes = {"mcp": PurposeSpec()}
    held = Configuration(purposes=purposes)
    purposes.clear()
    assert set(held.purposes) == {"mcp"}


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([], {}),
        ([{"a": 1}, {"a": 2}], {"a": 2}),
        ([{"a": {"b": 1, "c": 1}}, {"a": {"c": 2, "d": 2}}], {"a": {"b": 1, "c": 2, "d": 2}}),
        ([{"a": [1, 2]}, {"a": [3]}], {"a": [3]}),
        ([{"a": {"b": 1}}, {"a": "text"}], {"a": "text"}),
        ([{"a": "text"}, {"a": {"b": 1}}], {"a": {"b": 1}}),
        ([{"a": None}, {"a": {"b": 1}}], {"a": {"b": 1}}),
        *(([{"a": 1}, {"a": empty}], {"a": 1}) for empty in (None, "", 0, False, [], {})),
        *(([{"a": {"b": 1}}, {"a": empty}], {"a": {"b": 1}}) for empty in (None, "", 0, False, [], {})),
        *(([{}, {"a": empty}], {"a": empty}) for empty in (None, "", 0, False, [], {})),
    ],
)
def test_later_documents_speak_over_earlier_ones(documents: list[dict], expected: dict) -> None:
    assert merged(documents) == expected


def test_merging_shares_nothing_with_its_documents() -> None:
    documents = [{"a": {"b": [{"c": 1}]}}, {"a": {"d": {"e": 1}}}]
    before = copy.deepcopy(documents)
    result = merged(documents)
    result["a"]["b"][0]["c"] = 2
    result["a"]["d"]["e"] = 2
    result["a"]["x"] = 1
    assert documents == before


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["scheduler", "purposeMappings", "mcp", "template", "spec", "selectors", "matchLabels"])
            | st.text(max_size=3)
            | st.integers(),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(path=st.sampled_from(sorted({path for path, _, _ in FAULTS})), value=VALUES, others=st.lists(VALUES, max_size=2))
def test_whatever_is_written_is_read_or_refused(path: str, value: object, others: list[object]) -> None:
    documents = [planted(path, value), *(one for one in others if isinstance(one, dict))]
    # Anything else that is raised fails the test.
    with contextlib.suppress(BadConfiguration):
        assert isinstance(configuration_of(merged(documents)), Configuration)
