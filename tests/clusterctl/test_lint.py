"""The linter: a release that keeps every rule, and for each rule one that breaks it; and its words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from lint_kit import METADATA, OLD, RELEASE, SHARED, TEMPLATE, Yard, labelled, manager, old_contract_with, unlabel
from releases import infrastructure, write_repository

from mooring.clusterctl.documenting import documented
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.lint import RULES, Level, Outcome, judged, read_material


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def of_old_with_a_second_namespace(yard: Yard) -> None:
    yard.metadata(OLD)
    yard.add(SHARED)


def global_and_moved(one: dict[str, Any]) -> None:
    one["spec"]["scope"] = "Cluster"
    one["metadata"]["labels"]["clusterctl.cluster.x-k8s.io/move"] = ""


# For each rule that files can show: how to break it, and a word of what is told.
BROKEN: dict[str, tuple[Callable[[Yard], Any], str]] = {
    "P01": (lambda yard: yard.release.rename(yard.folder / "newest"), "no folder"),
    "P02": (lambda yard: (yard.release / "metadata.yaml").unlink(), "metadata.yaml is missing"),
    "P03": (lambda yard: yard.components.unlink(), "infrastructure-components.yaml is missing"),
    "P04": (lambda yard: yard.template.unlink(), "no cluster-template.yaml"),
    "P06": (lambda yard: yard.folder.rename(yard.folder.with_name("shipyard")), "not a label"),
    "P07": (lambda yard: (yard.folder / "v1.x").mkdir(), "'v1.x'"),
    "P08": (lambda yard: yard.metadata("apiVersion: v1\nkind: Metadata\n"), "apiVersion"),
    "P09": (lambda yard: yard.metadata(f"{METADATA}- {{major: 9, minor: 9, contract: v1beta2}}\n"), "series 1.0"),
    "P10": (lambda yard: write_repository(yard.folder.parent, [infrastructure("v1.1.0")]), "1.0"),
    "P11": (lambda yard: yard.components.write_text("a: [\n"), "infrastructure-components.yaml"),
    "P12": (lambda yard: yard.drop("CustomResourceDefinition", "Deployment"), "no CustomResourceDefinition"),
    "P13": (lambda yard: yard.components.rename(yard.release / "components.yaml"), "components.yaml should be called"),
    "P14": (lambda yard: old_contract_with(yard, "shipyard-system"), "capi-webhook-system"),
    "P15": (lambda yard: yard.drop("Namespace"), "no Namespace"),
    "P16": (lambda yard: yard.add(SHARED), "2 Namespace objects"),
    "P17": (lambda yard: yard.change("Service", lambda one: one["metadata"].update(namespace="other")), "other"),
    "P18": (lambda yard: yard.change("Deployment", lambda one: one.update(kind="DaemonSet")), "no Deployment"),
    "P19": (lambda yard: yard.change("Deployment", lambda one: manager(one).update(name="main")), "main"),
    "P21": (lambda yard: yard.replace("--v=2", "--v=${LEVEL:=2}", yard.components), "${LEVEL}"),
    "P22": (lambda yard: yard.replace("name: ${CLUSTER_NAME}", "name: ${ CLUSTER_NAME }"), "${ CLUSTER_NAME }"),
    "P23": (lambda yard: yard.replace("${KUBERNETES_VERSION}", "${KUBERNETES$VERSION}"), "${KUBERNETES$VERSION}"),
    "P25": (lambda yard: yard.change("Service", unlabel), "webhook-service"),
    "P26": (lambda yard: (yard.release / "cluster_template-ha.yaml").write_text(TEMPLATE), "cluster_template-ha"),
    "P27": (lambda yard: yard.template.rename(yard.release / "cluster-template-ha.yaml"), "only flavors"),
    "P28": (lambda yard: yard.replace("kind: Cluster\n", "kind: Fleet\n"), "no Cluster"),
    "P30": (
        lambda yard: yard.template.write_text(
            f"{TEMPLATE}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: here}}\n"
        ),
        "Namespace here",
    ),
    "P31": (
        lambda yard: yard.template.write_text(TEMPLATE.replace("namespace: ${NAMESPACE}", "namespace: other", 1)),
        "2 namespaces: ${NAMESPACE}, other",
    ),
    "P33": (lambda yard: yard.replace("${KUBERNETES_VERSION}", "${SHIPYARD_K8S_VERSION}"), "${KUBERNETES_VERSION}"),
    "P36": (
        lambda yard: yard.change(
            "Deployment", lambda one: manager(one)["args"].append("--home=infrastructure-shipyard-system")
        ),
        "args names the namespace",
    ),
    "P37": (
        lambda yard: yard.change(
            "Deployment", lambda one: manager(one).update(envFrom=[{"secretRef": {"name": "elsewhere"}}])
        ),
        "Secret elsewhere",
    ),
    "P38": (lambda yard: yard.replace("berths:", "credentialsSecretRef: {name: elsewhere}\n  berths:"), "elsewhere"),
    "P40": (lambda yard: yard.change("CustomResourceDefinition", global_and_moved), "cluster-wide"),
    "P43": (lambda yard: yard.change("CustomResourceDefinition", unlabel), "cluster.x-k8s.io/v1beta2"),
    "P44": (
        lambda yard: yard.change("ClusterRole", lambda one: one.update(apiVersion="rbac.authorization.k8s.io/v1beta1")),
        "gone from",
    ),
    "P46": (
        lambda yard: yard.replace("infrastructureRef: {", "infrastructureRef: {namespace: default, "),
        "spec.infrastructureRef.namespace is always default",
    ),
    "P47": (lambda yard: yard.metadata(OLD), "v1alpha3"),
    "P48": (of_old_with_a_second_namespace, "2 Namespace objects"),
    "P45": (lambda yard: yard.change("Deployment", lambda one: manager(one).update(image="nginx:1")), "'nginx:1'"),
}


def test_a_good_release_keeps_every_rule(yard):
    verdicts = judged(read_material(yard.folder))
    broken = {one.rule.id: one.findings for one in verdicts if one.outcome is Outcome.FAIL}
    assert broken == {}
    assert {one.rule.id for one in verdicts} == RULES.keys()
    assert {one.rule.id for one in verdicts if one.outcome is Outcome.PASS} == BROKEN.keys()
    assert all(one.findings for one in verdicts if one.outcome is Outcome.UNKNOWN), "it says why"


def test_each_rule_is_kept_by_one_and_broken_by_another():
    """All that files can show; live objects have theirs in test_live_words, and the rest nobody could judge."""
    checked = {rule.id for rule in RULES.values() if rule.release is not None or rule.repository is not None}
    assert checked == BROKEN.keys()
    assert {rule.id for rule in RULES.values() if rule.live} == {"P34", "P35"}
    assert all(rule.unknown for rule in RULES.values() if rule.id not in checked)
    assert sorted(RULES) == [f"P{number:02}" for number in range(1, len(RULES) + 1)]


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_found(yard, rule):
    spoil, told = BROKEN[rule]
    spoil(yard)
    folder = next(yard.folder.parent.iterdir())
    verdicts = [one for one in judged(read_material(folder), only=[rule]) if one.outcome is Outcome.FAIL]
    assert len(verdicts) == 1
    assert told in "\n".join(verdicts[0].findings)
    assert verdicts[0].breaks == (RULES[rule].level is Level.MUST)


def test_one_version_can_be_named_alone(yard):
    write_repository(yard.folder.parent, [infrastructure("v1.1.0")])
    assert [one.version for one in read_material(yard.folder).releases] == ["v1.0.0", "v1.1.0"]
    assert [one.version for one in read_material(yard.release).releases] == ["v1.0.0"]


@pytest.mark.parametrize("text", ["\x00", "a: &a [*a]", "[" * 5000, "${" * 5000, "a: b: c", "- 1", "\udcff"])
def test_files_that_cannot_be_read_are_told_of(yard, text):
    yard.components.write_bytes(text.encode("utf-8", "surrogateescape"))
    yard.template.write_bytes(text.encode("utf-8", "surrogateescape"))
    broken = {one.rule.id for one in judged(read_material(yard.folder)) if one.outcome is Outcome.FAIL}
    assert {"P11", "P28"} & broken


@pytest.mark.parametrize("value", [None, 7, "text", [7], {"a": 7}])
def test_fields_of_any_type_are_looked_at(yard, value):
    """Each field of each object in turn is something else than it should be; every rule is answered all the same."""

    def spoilt(thing: Any) -> list[Any]:
        if isinstance(thing, list):
            return [[*thing[:at], one, *thing[at + 1 :]] for at, part in enumerate(thing) for one in spoilt(part)]
        if not isinstance(thing, dict):
            return []
        inside = [{**thing, name: one} for name, part in thing.items() for one in spoilt(part)]
        return inside + [{**thing, name: value} for name in thing]

    for kind in ("Deployment", "CustomResourceDefinition", "ClusterRoleBinding", "Certificate", "Service"):
        whole = next(one for one in yard.objects() if one["kind"] == kind)
        yard.write(spoilt(whole))
        material = read_material(yard.folder)
        assert len(material.releases[-1].objects) > 10, "they can be read, and so they are looked at"
        assert {one.rule.id for one in judged(material)} == RULES.keys()
        documented(material.releases[-1])
        yard.write(labelled(RELEASE.objects()))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ClusterctlError, match="not a folder"):
        read_material(tmp_path / "nothing")


def test_the_words(ours, yard):
    ended = ours("lint", str(yard.folder))
    assert ended.code == 0, ended.out
    assert "P16  MUST    pass" in ended.out
    yard.add(SHARED)
    ended = ours("lint", str(yard.folder), "--rule", "P16,P15", "-o", "json")
    assert ended.code == 1
    assert {one["rule"]: one["outcome"] for one in json.loads(ended.out)} == {"P16": "fail", "P15": "pass"}
    assert "Today's clusterctl: Refuses the release." in ours("lint", str(yard.folder)).out
    yard.drop("Namespace")
    assert ours("lint", str(yard.folder)).code == 0
    assert ours("lint", str(yard.folder), "--strict").code == 1
    assert ours("lint", str(yard.folder), "--rule", "P99").err.startswith("Error: there is no rule 'P99'")
    assert ours("lint").code == 1
    assert len(ours("lint", "--list-rules").out.splitlines()) == len(RULES)
    yard.components.write_text("")
    assert ours("lint", str(yard.components), "--rule", "P12").code == 1, "a file there stands for its release"
    assert "did you mean its infrastructure-shipyard?" in ours("lint", str(yard.folder.parent)).out


def test_what_only_today_asks_for_can_be_left_out(ours, yard):
    """A provider that keeps the contract of v1alpha3, and breaks with today's clusterctl."""
    yard.metadata(OLD)
    yard.add(SHARED)
    ended = ours("lint", str(yard.folder))
    assert ended.code == 1
    assert "Today's clusterctl: Counts capi-webhook-system, too" in ended.out
    ended = ours("lint", str(yard.folder), "--compat", "v1alpha3")
    assert (ended.code, "P47" in ended.out) == (0, False), ended.out
    assert ours("lint", str(yard.folder), "--compat", "v1alpha2").code == 1
