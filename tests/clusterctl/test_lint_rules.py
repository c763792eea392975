"""The linter, rule by rule: every way to break one that has several, and what does not break it."""

from __future__ import annotations

from typing import Any

import pytest
from lint_kit import OLD, SHARED, Yard, manager, old_contract_with

from mooring.clusterctl.lint import RULES, Outcome, judged, read_material


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


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


def test_a_template_in_a_folder_of_its_own_is_not_found(yard):
    (yard.release / "templates").mkdir()
    yard.template.rename(yard.release / "templates" / "cluster-template-ha.yaml")
    assert "templates/cluster-template-ha.yaml" in judged(read_material(yard.folder), only=["P26"])[0].findings[0]


@pytest.mark.parametrize(
    ("version", "kind", "outcome"),
    [
        ("networking.k8s.io/v1beta1", "Ingress", Outcome.FAIL),
        ("networking.k8s.io/v1beta1", "IPAddress", Outcome.PASS),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", Outcome.FAIL),
        ("cert-manager.io/v1alpha2", "Issuer", Outcome.FAIL),
        ("cert-manager.io/v1", "Issuer", Outcome.PASS),
        ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy", Outcome.PASS),
    ],
)
def test_versions_are_gone_kind_by_kind(yard, version, kind, outcome):
    yard.add({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}})
    assert judged(read_material(yard.folder), only=["P44"])[0].outcome is outcome


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
