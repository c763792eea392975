"""What preparation may do is enough for all that it does, and is exactly that."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest
from access_kit import preparing, unique

from mooring.access.controllers import RIGHTS
from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.crds import KINDS
from mooring.api.marks import GRANT_FINALIZER, OPERATION_ANNOTATION
from mooring.kube import Client, Impersonation, typed, untyped
from mooring.kube.errors import Forbidden
from mooring.testing.managers import until

RBAC = "rbac.authorization.k8s.io"
ROLES = untyped(group=RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False)
BINDINGS = untyped(group=RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False)
READ = [
    {"apiGroups": [kind.API.group], "resources": [kind.API.plural], "verbs": ["get", "list", "watch"]} for kind in KINDS
]


@pytest.fixture
async def restricted(world):
    """A connection as somebody who may read our kinds, and do what preparation says it does."""
    name = unique("preparation")
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [*READ, *RIGHTS]}
    bound = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": name}],
    }
    await world.kube.create(ROLES, role)
    await world.kube.create(BINDINGS, bound)
    connection = dataclasses.replace(world.connection, impersonation=Impersonation(user="preparer", groups=(name,)))
    async with Client(connection) as client:

        async def may_read():
            with contextlib.suppress(Forbidden):
                return await client.list(typed(AccessRequest))

        await until(may_read, "the rights are known")
    yield connection
    await world.kube.delete(BINDINGS, name)
    await world.kube.delete(ROLES, name)


async def test_it_is_enough_for_everything(world, restricted):
    provider, profile = unique("gone"), unique("gone")
    await world.profile(profile, provider=provider)
    await world.cluster("gone", profile=profile)
    await world.cluster(profile=world.iron)
    await world.patch(ClusterProfile, world.gold, {"spec": {"access": {"policy": "Creator"}}})
    await world.cluster("creators")
    async with preparing(restricted):
        await world.access(metadata={"annotations": {OPERATION_ANNOTATION: "reconcile"}})
        await world.prepared(profile=world.iron)
        await world.stands("Pending", "Prepared")
        await world.access("asking", clusterRef={"name": "creators"})
        await world.until(lambda one: one.status is not None or one.metadata.labels, "is judged", "asking")
        await world.access("held", metadata={"finalizers": [GRANT_FINALIZER]}, clusterRef={"name": "gone"},
                           labels=world.labels(profile, provider))  # fmt: skip
        await world.delete(AccessRequest, "held")
        await world.delete(Cluster, "gone")
        await world.delete(ClusterProfile, profile)
        await world.gone(AccessRequest, "held")
        await world.access("short", clusterRef={"name": "home"}, ttl="1s")
        await world.gone(AccessRequest, "short")


async def test_nothing_else_is_allowed(world, restricted):
    await world.cluster()
    request = await world.access()
    async with Client(restricted) as client:
        with pytest.raises(Forbidden):
            await client.delete(typed(Cluster), "home", namespace=world.namespace)
        with pytest.raises(Forbidden):
            await client.create(typed(AccessRequest), {"metadata": {"name": "x", "namespace": world.namespace}})
        with pytest.raises(Forbidden):
            await client.replace(typed(AccessRequest), request, namespace=world.namespace)
