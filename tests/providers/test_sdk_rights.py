"""What an instance may do on the platform is enough for all that it does, and not more than that."""

from __future__ import annotations

import uuid

import pytest
from provider_kit import Detail, WorkshopProvider
from toy_provider import ToyConfig, ToyProvider

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube import Client, Connection, untyped
from mooring.kube.credentials import bearer
from mooring.kube.errors import Forbidden
from mooring.providers.sdk import init_rights_of, lease_rights, rights_of
from mooring.testing.builders import SECRETS, SERVICE_ACCOUNTS, service_account
from mooring.testing.providing import install_kinds, providing

RBAC = "rbac.authorization.k8s.io"
ROLES = untyped(group=RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False)
BINDINGS = untyped(group=RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False)


async def account_with(world, rights):
    """A connection as somebody with these rights, and no others."""
    name = f"maker-{uuid.uuid4().hex[:8]}"
    await world.kube.create(SERVICE_ACCOUNTS, service_account(name, world.namespace))
    about = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
    await world.kube.create(ROLES, {**about, "kind": "ClusterRole", "rules": rights})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": world.namespace}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    await world.kube.create(BINDINGS, {**about, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": role})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = await world.kube.create(SERVICE_ACCOUNTS, asked, name=name, namespace=world.namespace, subresource="token")
    connection = world.connection
    return Connection(server=connection.server, ca=connection.ca, credentials=bearer(answer["status"]["token"]))


async def test_a_provider_lives_with_its_rights(world):
    connection = await account_with(world, rights_of(ToyProvider))
    async with providing(connection, ToyProvider(), name="toys"):
        await world.config("box", provider="toys", kind=ToyConfig, versions=["1.33.3"])
        await world.cluster("teddy", profile="test.toys.box")
        cluster = await world.ready("teddy")
        await world.told(cluster, "Ready")
        await world.delete(ToyConfig, "box")
        await world.delete(Cluster, "teddy")
        await world.gone(Cluster, "teddy")
        await world.gone(ToyConfig, "box")
        assert await world.get(ClusterProfile, "test.toys.box") is None
    async with Client(connection) as client:
        for kind in (SERVICE_ACCOUNTS, ROLES):
            with pytest.raises(Forbidden):
                await client.list(kind)


async def test_init_lives_with_its_rights(world):
    async with Client(await account_with(world, init_rights_of(WorkshopProvider))) as client:
        await install_kinds(client, WorkshopProvider)
        with pytest.raises(Forbidden):
            await client.list(SECRETS)


def test_rights_name_what_they_are_for():
    def verbs(rules, resource):
        return {verb for rule in rules if resource in rule["resources"] for verb in rule["verbs"]}

    rights = rights_of(WorkshopProvider)
    assert verbs(rights, "clusters") == {"get", "list", "watch", "patch"}
    assert verbs(rights, "clusters/status") == {"patch"}
    assert verbs(rights, Detail.API.plural) == {"get", "list", "watch"}
    assert all("*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"] for rule in rights)
    assert lease_rights("toys")[1]["resourceNames"] == ["cluster-provider-toys"]
