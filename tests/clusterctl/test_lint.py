"""The linter: a release that keeps every rule, and for each rule one that breaks it, and nothing else of that kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from releases import Release, definition, infrastructure, write_repository

from mooring.clusterctl.documenting import documented
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.lint import RULES, Level, Outcome, judged, read_material

TEMPLATE = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: ${CLUSTER_NAME}
  namespace: ${NAMESPACE}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: ShipyardCluster, name: "${CLUSTER_NAME}"}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: ShipyardCluster
metadata:
  name: ${CLUSTER_NAME}
  namespace: ${NAMESPACE}
spec:
  berths: ${SHIPYARD_BERTHS:=3}
  version: ${KUBERNETES_VERSION}
  counts: ["${CONTROL_PLANE_MACHINE_COUNT}", "${WORKER_MACHINE_COUNT:=0}"]
"""
RELEASE = infrastructure("v1.0.0", files={"cluster-template.yaml": TEMPLATE})


def labelled(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for one in objects:
        one["metadata"].setdefault("labels", {})["cluster.x-k8s.io/provider"] = "infrastructure-shipyard"
    return objects


class Yard:
    """A repository with one good release, to be spoilt."""

    def __init__(self, base: Path, release: Release = RELEASE) -> None:
        self.folder = base / release.label
        self.release = self.folder / release.version
        write_repository(base, [release])
        self.write(labelled(release.objects()))

    @property
    def components(self) -> Path:
        return self.release / "infrastructure-components.yaml"

    @property
    def template(self) -> Path:
        return self.release / "cluster-template.yaml"

    def objects(self) -> list[dict[str, Any]]:
        return list(yaml.load_all(self.components.read_text(), yaml.CSafeLoader))

    def write(self, objects: list[dict[str, Any]]) -> None:
        self.components.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper, sort_keys=False))

    def change(self, kind: str, change: Callable[[dict[str, Any]], None]) -> None:
        objects = self.objects()
        for one in objects:
            if one["kind"] == kind:
                change(one)
        self.write(objects)

    def drop(self, *kinds: str) -> None:
        self.write([one for one in self.objects() if one["kind"] not in kinds])

    def add(self, *objects: dict[str, Any]) -> None:
        self.write([*self.objects(), *labelled(list(objects))])

    def replace(self, old: str, new: str, file: Path | None = None) -> None:
        path = file or self.template
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def metadata(self, text: str) -> None:
        (self.release / "metadata.yaml").write_text(text)


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def manager(one: dict[str, Any]) -> dict[str, Any]:
    return one["spec"]["template"]["spec"]["containers"][0]


METADATA = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n"
OLD = f"{METADATA}- {{major: 1, minor: 0, contract: v1alpha3}}\n"


def webhooks(namespace: str) -> dict[str, Any]:
    hook = {"name": "a.b.c", "clientConfig": {"service": {"name": "hooks", "namespace": namespace}}}
    metadata = {"name": "hooks"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": [hook],
    }


def unlabel(one: dict[str, Any]) -> None:
    del one["metadata"]["labels"]


def old_contract_with(yard: Yard, namespace: str) -> None:
    yard.metadata(OLD)
    yard.add(webhooks(namespace))


def of_old_with_a_second_namespace(yard: Yard) -> None:
    yard.metadata(OLD)
    yard.add(SHARED)


def global_and_moved(one: dict[str, Any]) -> None:
    one["spec"]["scope"] = "Cluster"
    one["metadata"]["labels"]["clusterctl.cluster.x-k8s.io/move"] = ""


SHARED = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "capi-webhook-system"}}
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


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("Deployment", lambda one: one["spec"]["template"]["spec"].update(serviceAccountName="nobody")),
        ("Deployment", lambda one: one["spec"]["template"]["spec"].update(imagePullSecrets=[{"name": "nobody"}])),
        (
            "Deployment",
            lambda one: one["spec"]["template"]["spec"].update(
                volumes=[{"name": "a", "configMap": {"name": "nobody"}}]
            ),
        ),
        ("ClusterRoleBinding", lambda one: one["roleRef"].update(name="nobody")),
        ("RoleBinding", lambda one: one["subjects"][0].update(name="nobody")),
        ("Certificate", lambda one: one["spec"]["issuerRef"].update(name="nobody")),
        (
            "CustomResourceDefinition",
            lambda one: one["metadata"].update(annotations={"cert-manager.io/inject-ca-from": "home/nobody"}),
        ),
        (
            "CustomResourceDefinition",
            lambda one: one["spec"].update(
                conversion={"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "nobody"}}}}
            ),
        ),
        (
            "ClusterRole",
            lambda one: one.update(aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "nobody"}}]}),
        ),
    ],
)
def test_every_way_to_refer_to_something_elsewhere_is_found(yard, kind, change):
    yard.change(kind, change)
    (verdict,) = judged(read_material(yard.folder), only=["P37"])
    assert "nobody" in "\n".join(verdict.findings)


@pytest.mark.parametrize(
    "spec",
    [
        "identityRef: {kind: Secret, name: nobody}",
        "resources: [{kind: ConfigMap, name: nobody}]",
        "files: [{contentFrom: {secret: {name: nobody, key: a}}}]",
        "passwordSecretName: nobody",
        "template: {spec: {infrastructureRef: {apiVersion: a/v1, kind: ShipyardMachine, name: nobody}}}",
        "clusterName: nobody",
    ],
)
def test_every_way_of_a_template_to_refer_to_something_elsewhere_is_found(yard, spec):
    yard.replace("spec:\n  berths:", f"spec:\n  {spec}\n  berths:")
    (verdict,) = judged(read_material(yard.folder), only=["P38"])
    assert "nobody" in "\n".join(verdict.findings)
    kind = "ConfigMap" if "ConfigMap" in spec else "Secret"
    kind = {"te": "ShipyardMachine", "cl": "Cluster"}.get(spec[:2], kind)
    there = f"---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: nobody}}\n"
    yard.template.write_text(yard.template.read_text() + there)
    assert judged(read_material(yard.folder), only=["P38"])[0].outcome is Outcome.PASS


def test_what_every_cluster_has_may_be_referred_to(yard):
    def change(one):
        one["spec"]["template"]["spec"].update(
            serviceAccountName="default",
            priorityClassName="system-cluster-critical",
            volumes=[
                {"name": "a", "secret": {"secretName": "infrastructure-shipyard-webhook-service-cert"}},
                {"name": "b", "secret": {"secretName": "perhaps", "optional": True}},
            ],
        )

    yard.change("Deployment", change)
    yard.change("ClusterRoleBinding", lambda one: one["roleRef"].update(name="view"))
    (verdict,) = judged(read_material(yard.folder), only=["P37"])
    assert verdict.findings == ()


def test_shared_components_are_right_only_in_their_day(yard):
    old_contract_with(yard, "capi-webhook-system")
    yard.add(SHARED)
    by_rule = {one.rule.id: one.outcome for one in judged(read_material(yard.folder))}
    assert by_rule["P09"] is by_rule["P14"] is by_rule["P16"] is Outcome.PASS
    assert by_rule["P47"] is by_rule["P48"] is Outcome.FAIL, "today's clusterctl refuses that"


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("Service", "Service infrastructure-shipyard-webhook-service"),
        ("Deployment", "Deployment infrastructure-shipyard-controller-manager"),
        ("Certificate", "Certificate infrastructure-shipyard-serving-cert"),
        ("CustomResourceDefinition", "CustomResourceDefinition shipyardclusters"),
    ],
)
def test_all_that_serves_webhooks_is_shared(yard, kind, told):
    """The Service of the good release, once webhooks are asked there, and whatever is behind it."""
    old_contract_with(yard, "capi-webhook-system")
    service = {"name": "infrastructure-shipyard-webhook-service", "namespace": "infrastructure-shipyard-system"}

    def converted(one: dict[str, Any]) -> None:
        one["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}}

    yard.change("CustomResourceDefinition", converted)
    (verdict,) = judged(read_material(yard.folder), only=["P14"])
    assert any(finding.startswith(told) for finding in verdict.findings)
    yard.change(kind, lambda one: one["metadata"].update(namespace="capi-webhook-system"))
    service["namespace"] = "capi-webhook-system"
    yard.change("CustomResourceDefinition", converted)
    (verdict,) = judged(read_material(yard.folder), only=["P14"])
    assert not any(finding.startswith(told) for finding in verdict.findings)


def test_names_of_roles_are_fixed_only_today(yard):
    """They are renamed after the namespace for v1alpha3, and a text that names one leads nowhere then."""
    yard.change("Deployment", lambda one: manager(one)["args"].append("--role=infrastructure-shipyard-manager-role"))
    assert judged(read_material(yard.folder), only=["P36"])[0].outcome is Outcome.PASS
    yard.metadata(OLD)
    (verdict,) = judged(read_material(yard.folder), only=["P36"])
    assert "ClusterRole infrastructure-shipyard-manager-role" in verdict.findings[0]


def test_nothing_is_said_about_what_is_not_there(yard):
    yard.components.unlink()
    (yard.release / "metadata.yaml").unlink()
    by_rule = {one.rule.id: one.outcome for one in judged(read_material(yard.folder))}
    assert by_rule["P02"] is by_rule["P03"] is Outcome.FAIL
    unknown = ("P08", "P09", "P11", "P12", "P15", "P17", "P18", "P19", "P21", "P25", "P36", "P37", "P40", "P43", "P47")
    assert {by_rule[rule] for rule in unknown} == {Outcome.UNKNOWN}
    assert by_rule["P28"] is Outcome.PASS, "templates are there"
    empty = yard.folder.with_name("infrastructure-empty")
    empty.mkdir()
    by_rule = {one.rule.id: one.outcome for one in judged(read_material(empty))}
    assert by_rule.keys() == RULES.keys()
    assert [rule for rule, outcome in by_rule.items() if outcome is Outcome.FAIL] == ["P01"]


def test_an_object_without_a_namespace_is_in_none(yard):
    yard.change("Service", lambda one: one["metadata"].pop("namespace"))
    assert "in no namespace" in judged(read_material(yard.folder), only=["P17"])[0].findings[0]


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


def test_the_documentation(ours, yard, tmp_path):
    (yard.release / "cluster-template-ha.yaml").write_text(TEMPLATE.replace("SHIPYARD_BERTHS:=3", "SHIPYARD_BERTHS"))
    yard.add(definition("infrastructure.cluster.x-k8s.io", "ShipyardIdentity") | {"kind": "CustomResourceDefinition"})
    ended = ours("docs", str(yard.folder))
    assert ended.code == 0
    for line in (
        "# infrastructure-shipyard v1.0.0",
        "| `SHIPYARD_BERTHS` | `3` | TODO |",
        "| `SHIPYARD_BERTHS` | required | TODO |",
        "| `CLUSTER_NAME` | required | set by the argument of `generate cluster` |",
        "| `--flavor ha` | `cluster-template-ha.yaml` | Cluster, ShipyardCluster |",
        "- ShipyardIdentity: moved only if owner references lead from it to a Cluster or ClusterResourceSet",
    ):
        assert line in ended.out
    file = tmp_path / "docs.md"
    assert ours("docs", str(yard.folder), "--write-to", str(file)).out == ""
    assert file.read_text() == ended.out == documented(read_material(yard.folder).releases[-1])


def test_the_documentation_of_what_is_broken(ours, yard, tmp_path):
    """As far as it goes: what cannot be read is told in its place."""
    yard.components.unlink()
    yard.template.write_text("a: [\n")
    (yard.release / "metadata.yaml").unlink()
    ended = ours("docs", str(yard.release))
    assert (ended.code, ended.err) == (0, "")
    assert "- There is no components YAML (P03)." in ended.out
    assert "| (default) | `cluster-template.yaml` | cluster-template.yaml: " in ended.out
    for folder, told in ((tmp_path / "nothing", "not a folder"), (tmp_path, "not a provider's folder")):
        ended = ours("docs", str(folder))
        assert (ended.code, ended.out) == (1, "")
        assert told in ended.err
    unwritable = ours("docs", str(yard.folder), "--write-to", str(tmp_path / "no" / "such" / "file.md"))
    assert unwritable.code == 1
    assert "file.md" in unwritable.err


def test_the_documentation_of_what_move_leaves_out(ours, yard):
    """By scope and by label, as the contract tells."""
    for index, (scope, label) in enumerate(product(("Namespaced", "Cluster"), ("", "move", "move-hierarchy"))):
        one = definition("infrastructure.cluster.x-k8s.io", f"ShipyardPart{index}")
        one["spec"]["scope"] = scope
        if label:
            one["metadata"]["labels"][f"clusterctl.cluster.x-k8s.io/{label}"] = ""
        yard.add(one)
    text = ours("docs", str(yard.folder)).out
    told = {line.split(":")[0].removeprefix("- "): line for line in text.splitlines() if line.startswith("- Shipyard")}
    assert "moved only if owner references lead" in told["ShipyardPart0"]
    assert not told.keys() & {"ShipyardPart1", "ShipyardPart2"}, "they are moved"
    assert "not moved" in told["ShipyardPart3"]
    assert "copied, and stays" in told["ShipyardPart4"]
    assert "copied, and stays" in told["ShipyardPart5"]


def test_the_documentation_of_hostile_files(yard):
    yard.replace("${SHIPYARD_BERTHS:=3}", "${SHIPYARD_BERTHS:=<script>`|x}")
    text = documented(read_material(yard.folder).releases[-1])
    assert "``<script>`\\|x``" in text, "it is shown as code, and ends no cell"
