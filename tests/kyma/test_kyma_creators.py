"""The policy Creator, through the face: whoever asked for the kubeconfig is judged, and nobody passes for another."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import uuid

import pytest
from kyma_kit import READ_PODS, PierConfig, World, works

from mooring.access.admission import admission_objects
from mooring.api.access import AccessRequest
from mooring.api.clusters import ClusterProfile
from mooring.api.kyma import KubeconfigRequest
from mooring.api.marks import CREATOR_ANNOTATION
from mooring.kube import Client, Impersonation, MergePatch, connection_from_document, typed, untyped
from mooring.kube.definitions import put
from mooring.kube.errors import Forbidden, ServerError
from mooring.testing.builders import an_object
from mooring.testing.managers import until

RBAC = "rbac.authorization.k8s.io"
ROLES = untyped(group=RBAC, plural="roles", kind="Role")
BINDINGS = untyped(group=RBAC, plural="rolebindings", kind="RoleBinding")
SPEC = {"cluster": "one", "clusterRole": {"rules": [READ_PODS]}}


async def allow(world: World, user, group, resource, *verbs):
    name, where = f"role-{uuid.uuid4().hex[:8]}", world.namespace
    metadata = {"name": name, "namespace": where}
    rules = [{"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}]
    await world.kube.create(ROLES, {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    bound = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }
    await world.kube.create(BINDINGS, bound)


@pytest.fixture
async def alice(world: World, own_plane):
    """Somebody who may ask for kubeconfigs, where admission notes down who does."""
    for one in admission_objects():
        await put(world.kube, one)
    await allow(world, "alice", KubeconfigRequest.API.group, KubeconfigRequest.API.plural, "create", "patch")
    admin = connection_from_document(own_plane.admin_kubeconfig(name="own"))
    async with Client(dataclasses.replace(admin, impersonation=Impersonation(user="alice"))) as client:
        probe = an_object(KubeconfigRequest, "probe", world.namespace, spec=SPEC)

        async def is_stamped():
            with contextlib.suppress(Forbidden, ServerError):
                made = await client.create(typed(KubeconfigRequest), probe, dry_run=True)
                return CREATOR_ANNOTATION in made.metadata.annotations

        await until(is_stamped, "requests are stamped")
        yield client


def stamped(user):
    def is_stamped(one):
        return json.loads(one.metadata.annotations.get(CREATOR_ANNOTATION, "{}")).get("user") == user

    return is_stamped


async def test_who_asked_is_who_is_judged(world: World, alice: Client) -> None:
    await world.patch(PierConfig, "plain", {"spec": {"access": {"policy": "Creator"}}})
    async with world.everybody():

        def has_policy(profile):
            return profile.spec.access is not None and profile.spec.access.policy == "Creator"

        await world.becomes(has_policy, "leaves it to creators", name="test.pier.plain", kind=ClusterProfile)
        await alice.create(typed(KubeconfigRequest), an_object(KubeconfigRequest, "mine", world.namespace, spec=SPEC))
        denied = await world.standing("CreatorMayNot")
        assert stamped("alice")(denied)
        assert stamped("alice")(await world.access())
        await allow(world, "alice", "clusters.openmcp.cloud", "clusters", "access")

        async def is_let_in():
            """Rights are told to nobody: so she asks again until the server knows of hers."""
            await world.patch(
                KubeconfigRequest, "mine", {"metadata": {"annotations": {"openmcp.cloud/operation": "reconcile"}}}
            )
            there = await world.get(KubeconfigRequest, "mine")
            return there.status.kubeconfig

        await works(await until(is_let_in, "alice is let in"))


async def test_nobody_can_pass_for_another(world: World, alice: Client) -> None:
    forged = json.dumps({"user": "system:admin", "groups": ["system:masters"]})
    body = an_object(KubeconfigRequest, "mine", world.namespace, spec=SPEC)
    body["metadata"]["annotations"] = {CREATOR_ANNOTATION: forged}
    async with world.face():
        assert stamped("alice")(await alice.create(typed(KubeconfigRequest), body))

        async def is_frozen():
            marks = MergePatch({"metadata": {"annotations": {CREATOR_ANNOTATION: forged}}})
            try:
                await alice.patch(typed(KubeconfigRequest), "mine", marks, namespace=world.namespace, dry_run=True)
            except Forbidden as error:
                return "written by the server" in str(error)

        await until(is_frozen, "stamps are frozen")
        await world.becomes(stamped("alice"), "is alice's", name="kyma-mine", kind=AccessRequest)
