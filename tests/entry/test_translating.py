"""Rules that speak of kinds become rules that RBAC understands, by what a real server serves."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from entry_kit import token

from mooring.api.rbac import PolicyRule
from mooring.entry.serving import Served, ServedKind, served_by
from mooring.entry.translating import translated, translated_access
from mooring.kube import Client, connection_from_document
from mooring.kube.definitions import install
from mooring.kube.errors import BadAnswer
from mooring.testing.managers import until

GROUP, OTHER = "connector.example.dev", "strongboxes.example.dev"


def rule(resources, groups=("",), verbs=("get",), **more):
    return msgspec.convert({"apiGroups": groups, "resources": resources, "verbs": verbs, **more}, PolicyRule)


def definition(group, kind, plural):
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"status": {}},
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "shortNames": [f"{plural[:3]}x"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Cluster", "versions": [version]},
    }


@pytest.fixture(scope="session")
def extended(own_plane):
    """The worker's own server, with a kind of Kyma's, and one that is called like one of Kubernetes' own."""
    made = [definition(GROUP, "Application", "applications"), definition(OTHER, "Secret", "strongboxes")]

    async def extend():
        async with Client(connection_from_document(own_plane.admin_kubeconfig(name="own"))) as client:
            await install(client, made)

    asyncio.run(extend())


@pytest.fixture
async def served(extended, own_kube):
    async def is_told():
        told = await served_by(own_kube)
        return told if told.plurals_of("application", [GROUP]) and OTHER in told.plurals_of("secret", None) else None

    return await until(is_told, "the server tells of its new kinds")


async def test_the_rules_of_the_seed(served) -> None:
    done = translated([rule(["Application"], [f"{GROUP}/v1alpha1"], ["get"])], served)
    assert done.rules == (rule(["applications"], [GROUP], ["get"]),)
    assert done.notes == (f"{GROUP}/v1alpha1 -> {GROUP}", "Application -> applications")
    # In every group that has such a kind, and under the name that it has there: nothing else is allowed.
    done = translated([rule(["Secret"], ["*"])], served)
    assert done.rules == (rule(["secrets"], [""]), rule(["strongboxes"], [OTHER]))
    assert (done.notes, done.unknown) == (("Secret -> secrets and strongboxes",), ())


@pytest.mark.parametrize(
    ("word", "groups", "resource"),
    [
        ("ConfigMap", [""], "configmaps"),
        ("configmap", [""], "configmaps"),
        ("CONFIGMAPS", [""], "configmaps"),
        ("cm", [""], "configmaps"),
        ("Deployment", ["apps/v1"], "deployments"),
        ("deploy", ["apps"], "deployments"),
        ("Deployment/scale", ["apps"], "deployments/scale"),
        ("Pod/log", ["v1"], "pods/log"),
        ("Node/metrics", [""], "nodes/metrics"),
        ("Secret/*", [""], "secrets/*"),
        ("Application/status", [GROUP], "applications/status"),
        ("appx", [GROUP], "applications"),
    ],
)
async def test_a_kind_is_known_by_all_its_names(served, word, groups, resource) -> None:
    done = translated([rule([word], groups)], served)
    assert [one.resources for one in done.rules] == [(resource,)]
    assert done.rules[0].api_groups == tuple(one.removesuffix("/v1").removeprefix("v1") for one in groups)
    assert f"{word} -> {resource}" in done.notes


@pytest.mark.parametrize(
    "one",
    [
        rule(["pods", "pods/log"]),
        rule(["*"], ["*"], ["*"]),
        rule(["*/scale"], ["*"]),
        rule(["configmaps"], ["*"]),
        rule(["foos", "bars/status"], ["not-there.example.dev"]),  # may come later
        rule(["secrets"], [""], ["get"], resourceNames=["Secret"]),
        msgspec.convert({"nonResourceURLs": ["/healthz"], "verbs": ["get"]}, PolicyRule),
    ],
)
async def test_what_rbac_understands_stays_as_it_is(served, one) -> None:
    done = translated([one], served)
    assert (done.rules, done.notes, done.unknown) == ((one,), (), ())


async def test_resources_stay_where_they_were_written_for_and_kinds_go_where_they_are(served) -> None:
    mixed = rule(["pods", "Deployment", "StatefulSet", "ConfigMap"], ["", "apps/v1"], ["list"], resourceNames=["mine"])
    done = translated([mixed], served)
    assert done.rules == (
        rule(["pods"], ["", "apps"], ["list"], resourceNames=["mine"]),
        rule(["configmaps"], [""], ["list"], resourceNames=["mine"]),
        rule(["deployments", "statefulsets"], ["apps"], ["list"], resourceNames=["mine"]),
    )


async def test_a_kind_in_several_groups_is_one_rule(served) -> None:
    done = translated([rule(["Event"], ["*"])], served)
    assert done.rules == (rule(["events"], ["", "events.k8s.io"]),)


async def test_what_is_not_served_is_named(served) -> None:
    done = translated([rule(["Aplication", "ConfigMap"], [f"{GROUP}/v1alpha1", ""]), rule(["Nonsense"], ["*"])], served)
    assert done.unknown == (f"the kind 'Aplication' in {GROUP} or the core group", "the kind 'Nonsense'")
    # A kind of another group is none of this one.
    assert translated([rule(["Deployment"], [""])], served).unknown == ("the kind 'Deployment' in the core group",)


async def test_a_whole_wish(served) -> None:
    plain = token(permissions=[{"rules": [msgspec.to_builtins(rule(["pods"]))]}], lifetime="1h")
    assert translated_access(plain, served).wish is plain
    assert translated_access(plain, served).message == ""
    permissions = [
        {"rules": [{"apiGroups": ["apps/v1"], "resources": ["Deployment"], "verbs": ["get"]}]},
        {"namespace": "here", "rules": [{"apiGroups": [""], "resources": ["Secret", "Widget"], "verbs": ["get"]}]},
    ]
    done = translated_access(token(permissions=permissions, lifetime="1h"), served)
    assert done.wish.lifetime == "1h"
    assert [one.namespace for one in done.wish.permissions] == ["", "here"]
    assert done.wish.permissions[0].rules == (rule(["deployments"], ["apps"]),)
    assert done.message == "apps/v1 -> apps; Deployment -> deployments; Secret -> secrets"
    assert "the kind 'Widget' in the core group" in done.trouble


def test_a_kinds_name_counts_over_what_others_are_called() -> None:
    """Metrics of pods are served as ``pods``, too; who asks for the kind Pod does not ask for them."""
    served = Served(
        [
            ServedKind(group="", plural="pods", kind="Pod", singular="pod", short_names=("po",)),
            ServedKind(group="metrics.k8s.io", plural="pods", kind="PodMetrics", singular="pod"),
            ServedKind(group="polls.dev", plural="polls", kind="Po"),
        ]
    )
    assert translated([rule(["Pod"], ["*"])], served).rules == (rule(["pods"], [""]),)
    assert translated([rule(["Po"], ["*"])], served).rules == (rule(["polls"], ["polls.dev"]),)
    assert translated([rule(["po"], [""])], served).rules == (rule(["pods"], [""]),)


async def test_an_answer_of_another_kind_is_an_error(own_kube) -> None:
    class Old:
        """Servers that do not know the question answer with what they have."""

        async def raw(self, method, path, *, accept):
            return await own_kube.raw(method, path, accept="application/json")

    with pytest.raises(BadAnswer):
        await served_by(Old())
