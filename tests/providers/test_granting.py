"""Access by token, granted by the SDK: just what was asked for, renewed, rotated, taken back; on a real cluster."""

from __future__ import annotations

import pytest
from granting_kit import ACCOUNTS, LABELS, PODS, READ_PODS, Gate, a_gate, let_in, may, refused

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.marks import GRANT_FINALIZER
from mooring.entry.resources import NAMESPACES, SECRETS
from mooring.testing.managers import until


@pytest.fixture
async def gate(world, kube):
    """The run's platform as the cluster to enter: other tests use it at the same time."""
    async with a_gate(world, kube) as gate:
        yield gate


async def test_access_is_just_what_was_asked_for_and_goes_with_its_request(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        granted = await gate.granted()
        assert granted.status.phase == "Granted"
        assert granted.status.secret_ref.name == "mine.kubeconfig"
        assert GRANT_FINALIZER in granted.metadata.finalizers
        entry = await gate.entry()
        await let_in(entry)
        assert await may(entry, SECRETS, namespace=ACCOUNTS) is False
        assert await may(entry, NAMESPACES) is False
        assert set(await gate.parts(request)) == {
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "Secret",
        }
        await gate.world.delete(AccessRequest, "mine")
        await gate.world.gone(AccessRequest, "mine")
        assert await gate.parts(request) == {}
        await refused(entry, PODS)


async def test_less_is_less(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        entry = await gate.entry()
        token = {"permissions": [{"namespace": "default", "rules": [{**READ_PODS, "verbs": ["list"]}]}]}
        await gate.world.patch(AccessRequest, "mine", {"spec": {"token": token}})
        await gate.granted()
        assert set(await gate.parts(request)) == {"ServiceAccount", "Role", "RoleBinding", "Secret"}
        assert (await gate.entry()) is not None

        async def is_less():
            return await may(entry, PODS) is False and await may(entry, PODS, namespace="default")

        await until(is_less, "the token that was given out can do less")


async def test_labels_are_not_enough(gate: Gate) -> None:
    async with gate.granting():
        foreign = await gate.ask("foreign", labels={**LABELS, "clusters.openmcp.cloud/provider": "other"})
        wrong = await gate.ask("wrong", labels={**LABELS, "clusters.openmcp.cloud/profile": "another"})
        bare = await gate.ask("bare", labels={})
        await gate.ask()
        await gate.granted()
        for one in (foreign, wrong, bare):
            there = await gate.world.get(AccessRequest, one.metadata.name)
            assert (there.metadata.finalizers, there.status) == ((), None)
            assert await gate.parts(one) == {}


async def test_rotated_the_old_one_ends_and_the_new_one_works(gate: Gate) -> None:
    async with gate.granting():
        await gate.ask()
        await gate.ask("sibling")
        await gate.granted()
        await gate.granted("sibling")
        old, sibling = await gate.entry(), await gate.entry("sibling")
        before = (await gate.secret())["data"]["kubeconfig"]
        await gate.annotate("mine", "rotate")

        async def is_new():
            return (await gate.secret())["data"]["kubeconfig"] != before

        await until(is_new, "there is another kubeconfig")
        new = await gate.entry()
        await let_in(new)
        # The old one has its grace; revoking ends both at once.
        await gate.annotate("mine", "revoke")
        denied = await gate.standing("mine", "Revoked")
        assert (denied.status.phase, denied.status.secret_ref) == ("Denied", None)
        assert await gate.secret() is None
        await refused(old, PODS)
        await refused(new, PODS)
        await let_in(sibling)
        await gate.annotate("mine", None)
        await gate.granted()
        await let_in(await gate.entry())


async def test_what_a_hand_takes_away_comes_back(gate: Gate) -> None:
    async with gate.granting():
        await gate.ask()
        await gate.granted()
        first = await gate.secret()
        await gate.world.kube.delete(SECRETS, "mine.kubeconfig", namespace=gate.world.namespace)

        async def is_back():
            there = await gate.secret()
            return there is not None and there["metadata"]["uid"] != first["metadata"]["uid"]

        await until(is_back, "the Secret is back")
        await let_in(await gate.entry())


async def test_a_request_outlives_no_cluster(gate: Gate) -> None:
    async with gate.granting():
        await gate.ask()
        await gate.granted()
        await gate.world.delete(Cluster, "one")
        await gate.world.gone(Cluster, "one")
        await gate.world.delete(AccessRequest, "mine")
        await gate.world.gone(AccessRequest, "mine")
