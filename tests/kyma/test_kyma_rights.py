"""What the face may do is enough for all that it does; and it speaks for whoever asked, not for itself."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid

import pytest
from kyma_kit import World

from mooring.access.admission import GROUP
from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.crds import KINDS
from mooring.api.kyma import KubeconfigRequest
from mooring.api.marks import CREATOR_ANNOTATION
from mooring.kube import Client, Impersonation, typed, untyped
from mooring.kube.errors import Forbidden
from mooring.kyma.controllers import RIGHTS
from mooring.testing.managers import until

RBAC = "rbac.authorization.k8s.io"
ROLES = untyped(group=RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False)
BINDINGS = untyped(group=RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False)
READ = [
    {"apiGroups": [kind.API.group], "resources": [kind.API.plural], "verbs": ["get", "list", "watch"]} for kind in KINDS
]


@pytest.fixture
async def restricted(world: World):
    """A connection as somebody who may read our kinds, and do what the face says it does."""
    name = f"face-{uuid.uuid4().hex[:8]}"
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
    who = Impersonation(user="face", groups=(name, GROUP))
    connection = dataclasses.replace(world.kube.connection, impersonation=who)
    async with Client(connection) as client:

        async def may_read():
            with contextlib.suppress(Forbidden):
                return await client.list(typed(KubeconfigRequest))

        await until(may_read, "the rights are known")
    yield connection
    await world.kube.delete(BINDINGS, name)
    await world.kube.delete(ROLES, name)


async def test_they_are_enough_for_everything(world: World, restricted) -> None:
    async with world.granting(), world.face(connection=restricted):
        await world.ask(secretRef={"name": "copy"})
        await world.issued()
        await world.say(rotate="true")
        await world.change(secretRef=None, expiration=7200)
        await world.issued()
        await world.say(revoke="true")
        await world.standing("Revoked")
        await world.say(revoke="false")
        await world.issued()


async def test_nothing_else_is_allowed(world: World, restricted) -> None:
    await world.ask()
    async with Client(restricted) as client:
        with pytest.raises(Forbidden):
            await client.delete(typed(Cluster), "one", namespace=world.namespace)
        with pytest.raises(Forbidden):
            await client.delete(typed(KubeconfigRequest), "mine", namespace=world.namespace)
        with pytest.raises(Forbidden):
            await client.delete(typed(AccessRequest), "kyma-mine", namespace=world.namespace)


async def test_the_stamp_of_the_creator_is_carried_over(world: World) -> None:
    def stamped(stamp):
        return lambda one: one.metadata.annotations.get(CREATOR_ANNOTATION) == stamp

    async with world.face():
        await world.ask(annotations={CREATOR_ANNOTATION: '{"user":"alice"}'})
        await world.becomes(stamped('{"user":"alice"}'), "is alice's", name="kyma-mine", kind=AccessRequest)
        for stamp in ('{"user":"bob"}', None):
            patch = {"metadata": {"annotations": {CREATOR_ANNOTATION: stamp}}}
            await world.patch(KubeconfigRequest, "mine", patch)
            await world.becomes(stamped(stamp), "is another's", name="kyma-mine", kind=AccessRequest)
