"""Rules as the seed writes them: with kinds and versioned groups, translated by the cluster that is entered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml
from kyma_kit import World, condition, entry, may, works

from mooring.api.access import AccessRequest
from mooring.api.kyma import KubeconfigRequest
from mooring.entry.resources import PARTS
from mooring.entry.serving import served_by
from mooring.kube import Client, connection_from_document, untyped
from mooring.kube.definitions import install
from mooring.kube.errors import Forbidden, Unauthorized
from mooring.testing.builders import CONFIG_MAPS, SECRETS, plain_resource_of
from mooring.testing.managers import until

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "seeds" / "002-kubeconfigrequest.yaml"
GROUP = "application-connector.kyma-project.io"
APPLICATIONS = untyped(group=GROUP, version="v1alpha1", plural="applications", kind="Application", namespaced=False)


def definition(kind, plural, group=GROUP):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Cluster", "versions": [version]},
    }


@pytest.fixture(scope="session")
def kyma_kinds(own_plane):
    async def extend():
        async with Client(connection_from_document(own_plane.admin_kubeconfig(name="own"))) as client:
            await install(client, [definition("Application", "applications")])

    asyncio.run(extend())


async def rules_in(world: World, kind: str):
    access = await world.access()
    name = (await world.parts(access))[kind][0]
    return (await world.kube.get(PARTS[kind], name.name, namespace=name.namespace or None))["rules"]


async def is_made(client, resource, name, namespace=None):
    """Made and deleted again; the cluster may hear of a new role a moment later."""
    where = {"namespace": namespace} if namespace else {}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, **where}}

    async def is_let():
        try:
            return await client.create(resource, body)
        except (Forbidden, Unauthorized):
            return None

    await until(is_let, f"{resource.plural} may be made")
    await client.delete(resource, name, namespace=namespace)


async def tells_of(world: World, kind, group):
    async def is_told():
        return (await served_by(world.kube)).plurals_of(kind, [group])

    await until(is_told, f"the cluster tells of the kind {kind}")


async def test_the_example_of_the_seed(world: World, kyma_kinds) -> None:
    example = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    name, role = example["metadata"]["name"], example["spec"]["role"]
    await world.cluster(example["spec"]["cluster"])
    await tells_of(world, "Application", GROUP)
    async with world.everybody():
        body = {key: value for key, value in example.items() if key != "status"}
        body["metadata"] = {**example["metadata"], "namespace": world.namespace}
        await world.kube.create(plain_resource_of(KubeconfigRequest), body)
        issued = await world.issued(name)
        told = condition(issued, "RulesTranslated")
        assert (told.status, told.reason) == ("True", "KindsTranslated")
        for note in (f"{GROUP}/v1alpha1 -> {GROUP}", "Application -> applications", "Secret -> secrets"):
            assert note in told.message
        async with Client(entry(issued.status.kubeconfig)) as client:
            await is_made(client, APPLICATIONS, world.namespace)
            await is_made(client, SECRETS, world.namespace, namespace=role["namespace"])
        # Verbs that were not asked for, and other places.
        assert await may(entry(issued.status.kubeconfig), APPLICATIONS) is False
        assert await may(entry(issued.status.kubeconfig), SECRETS, namespace=world.namespace) is False


async def test_plain_rules_are_left_alone_and_nothing_is_said(world: World) -> None:
    rules = [{"apiGroups": ["apps"], "resources": ["deployments", "frobs"], "verbs": ["get"]}]
    async with world.everybody():
        await world.ask(clusterRole={"rules": rules})
        issued = await world.issued()
        assert condition(issued, "RulesTranslated") is None
        assert await rules_in(world, "ClusterRole") == rules


async def test_what_is_said_goes_with_what_is_asked_for(world: World) -> None:
    async with world.everybody():
        rule = {"apiGroups": ["v1"], "resources": ["ConfigMap"], "verbs": ["list"]}
        await world.ask(clusterRole={"rules": [rule]})
        issued = await world.issued()
        assert condition(issued, "RulesTranslated").message == "v1 -> the core group; ConfigMap -> configmaps"
        await works(issued.status.kubeconfig, CONFIG_MAPS)
        plain = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
        await world.change(clusterRole={"rules": [plain]})
        await world.becomes(lambda one: condition(one, "RulesTranslated") is None, "says nothing")
        await world.issued()


async def test_what_is_not_served_is_refused_by_name(world: World) -> None:
    async with world.everybody():
        rule = {"apiGroups": ["apps/v1"], "resources": ["Deployment", "Deploymint"], "verbs": ["list"]}
        await world.ask(clusterRole={"rules": [rule]})
        denied = await world.standing("InvalidRequest")
        assert "the kind 'Deploymint' in apps" in condition(denied).message
        assert condition(denied, "Stalled") is not None
        assert await world.parts(await world.access()) == {}
        await world.change(clusterRole={"rules": [{**rule, "resources": ["Deployment"]}]})
        await world.issued()


async def test_what_was_granted_stays_when_the_cluster_forgets_a_kind(world: World) -> None:
    crds = untyped(
        group="apiextensions.k8s.io",
        plural="customresourcedefinitions",
        kind="CustomResourceDefinition",
        namespaced=False,
    )
    group = f"{world.namespace}.example.dev"
    await install(world.kube, [definition("Gadget", "gadgets", group)])
    await tells_of(world, "Gadget", group)
    async with world.face():
        async with world.granting():
            rule = {"apiGroups": [f"{group}/v1alpha1"], "resources": ["Gadget"], "verbs": ["list"]}
            await world.ask(clusterRole={"rules": [rule]})
            issued = await world.issued()
            parts = await world.parts(await world.access())
        await world.kube.delete(crds, f"gadgets.{group}")

        async def is_forgotten():
            return not (await served_by(world.kube)).plurals_of("Gadget", [group])

        await until(is_forgotten, "the cluster has forgotten the kind")
        async with world.granting():
            told = await world.standing("InvalidRequest")
            assert told.status.kubeconfig == issued.status.kubeconfig
            assert await world.parts(await world.access()) == parts
            assert condition(told, "Stalled") is None


async def test_only_those_that_ask_for_it_are_translated(world: World) -> None:
    rules = [{"apiGroups": [""], "resources": ["ConfigMap"], "verbs": ["list"]}]
    async with world.granting():
        spec = {"clusterRef": {"name": "one"}, "token": {"permissions": [{"rules": rules}]}}
        await world.create(AccessRequest, "kyma-mine", spec=spec)

        def is_granted(one):
            return one.status is not None and one.status.phase == "Granted"

        await world.becomes(is_granted, "is granted", name="kyma-mine", kind=AccessRequest)
        assert await rules_in(world, "ClusterRole") == rules
