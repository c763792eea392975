"""Access by token, granted by the SDK: just what was asked for, renewed, rotated, taken back; on a real cluster."""

from __future__ import annotations

import asyncio
import base64
import contextlib

import pytest
from granting_kit import ACCOUNTS, LABELS, PODS, READ_PODS, Gate, a_gate, let_in, may, refused

from mooring.access.controllers import add_access
from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.marks import GRANT_FINALIZER, PROFILE_LABEL, PROVIDER_LABEL
from mooring.entry.resources import NAMESPACES, PARTS, SECRETS
from mooring.kube import Client
from mooring.kube.errors import Forbidden, NotFound
from mooring.testing.builders import namespace_object
from mooring.testing.managers import at_work, quiet, until

ROLES = PARTS["ClusterRole"]
READ_SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
# What a cluster may take to refuse a token that was taken back: it remembers for ten seconds that it was good.
PROMISED = 15.0


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
        await let_in(old)
        # The old one has its grace; revoking ends both at once.
        await gate.annotate("mine", "revoke")
        denied = await gate.standing("mine", "Revoked")
        assert (denied.status.phase, denied.status.secret_ref) == ("Denied", None)
        assert await gate.secret() is None
        async with asyncio.TaskGroup() as waiting:
            for entry in (old, new):
                waiting.create_task(refused(entry, PODS, patience=PROMISED))
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
        await gate.ask("half")
        await gate.granted("half")
        await gate.world.delete(Cluster, "one")
        await gate.world.gone(Cluster, "one")
        # One label is enough to know whose it was: the provider is there, so nobody else would let go of it.
        await gate.world.patch(AccessRequest, "half", {"metadata": {"labels": {PROFILE_LABEL: None}}})
        for name in ("mine", "half"):
            await gate.world.delete(AccessRequest, name)
            await gate.world.gone(AccessRequest, name)


async def test_a_token_reads_nobody_elses_secrets(world) -> None:
    """Where it would hurt most: the cluster is the platform itself, so both kubeconfigs are in what they open."""
    async with a_gate(world, world.kube) as gate, gate.granting():
        await gate.ask()
        await gate.ask("other", token={"permissions": [{"namespace": "elsewhere", "rules": [READ_SECRETS]}]})
        for name in ("mine", "other"):
            await gate.granted(name)
        entry, issue = await gate.entry("other"), (await gate.record()).issue
        theirs = [(world.namespace, "mine.kubeconfig"), (world.namespace, "other.kubeconfig"), (ACCOUNTS, issue)]
        await let_in(await gate.entry())
        async with Client(entry) as client:

            async def is_let_in():
                with contextlib.suppress(Forbidden):  # servers learn of new bindings a moment later
                    return await client.list(SECRETS, namespace="elsewhere")

            await until(is_let_in, "it reads where it may")
            for namespace, name in theirs:
                with pytest.raises(Forbidden):
                    await client.get(SECRETS, name, namespace=namespace)
                with pytest.raises(Forbidden):
                    await client.list(SECRETS, namespace=namespace)


async def test_the_secret_is_its_owners(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        secret = await gate.secret()
        [owner] = secret["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("AccessRequest", request.metadata.uid, True)
        times = [int(base64.b64decode(secret["data"][name])) for name in ("creationTimestamp", "expirationTimestamp")]
        assert times[1] - times[0] == 30 * 24 * 3600


async def test_somebody_elses_role_is_never_taken_over(gate: Gate) -> None:
    name = f"reader-{gate.world.namespace}"
    theirs = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    await gate.target.create(ROLES, {**theirs, "rules": []})
    try:
        async with gate.granting():
            request = await gate.ask(token={"permissions": [{"name": name, "rules": [READ_PODS]}]})
            await gate.standing("mine", "NameIsTaken")
            assert not (await gate.target.get(ROLES, name))["rules"]
            assert await gate.secret() is None
            await gate.target.delete(ROLES, name)
            await gate.granted()
            await let_in(await gate.entry())
            await gate.world.delete(AccessRequest, "mine")
            await gate.world.gone(AccessRequest, "mine")
            assert await gate.parts(request) == {}
    finally:
        with contextlib.suppress(NotFound):
            await gate.target.delete(ROLES, name)


async def test_namespaces_are_made_unless_that_is_not_wanted(gate: Gate) -> None:
    made, missing = f"made-{gate.world.namespace}", f"missing-{gate.world.namespace}"
    not_made = {"namespace": missing, "rules": [READ_PODS], "disableAutomaticNamespaceCreation": True}
    try:
        async with gate.granting():
            await gate.ask(token={"permissions": [{"namespace": made, "rules": [READ_PODS]}]})
            await gate.ask("other", token={"permissions": [not_made]})
            await gate.granted()
            waiting = await gate.standing("other", "NamespaceMissing")
            assert missing in waiting.status.message
            await gate.target.create(NAMESPACES, namespace_object(missing))
            await gate.granted("other")
            await gate.world.delete(AccessRequest, "mine")
            await gate.world.gone(AccessRequest, "mine")
            assert (await gate.target.get(NAMESPACES, made))["status"]["phase"] == "Active"
    finally:
        for name in (made, missing):
            with contextlib.suppress(NotFound):
                await gate.target.delete(NAMESPACES, name)


@pytest.mark.parametrize(
    "permission",
    [
        {"name": "../../namespaces", "rules": [READ_PODS]},
        {"name": "x", "namespace": "a/b", "rules": [READ_PODS]},
        {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"], "resources": ["pods"], "apiGroups": [""]}]},
        {"namespace": "default", "rules": [{"verbs": ["get"], "nonResourceURLs": ["*"]}]},
    ],
)
async def test_what_makes_no_sense_is_refused_and_nothing_is_made(gate: Gate, permission) -> None:
    async with gate.granting():
        request = await gate.ask(token={"permissions": [{"rules": [READ_PODS]}, permission]})
        denied = await gate.standing("mine", "InvalidRequest")
        assert "spec.token.permissions[1]" in denied.status.message
        assert (denied.status.phase, await gate.secret(), await gate.parts(request)) == ("Denied", None, {})
        # A request that was fine before is not fine any more: then nothing of it stays.
        await gate.world.patch(AccessRequest, "mine", {"spec": {"token": {"permissions": [{"rules": [READ_PODS]}]}}})
        await gate.granted()
        await gate.world.patch(AccessRequest, "mine", {"spec": {"token": {"permissions": [permission]}}})
        await gate.standing("mine", "InvalidRequest")
        assert (await gate.secret(), await gate.parts(request)) == (None, {})


async def test_prepared_and_granted_side_by_side(gate: Gate) -> None:
    """Both write one status, and both judge; what one says the other leaves."""
    async with gate.manager() as manager:
        add_access(manager)
        async with at_work(gate.add(manager)):
            request = await gate.ask(labels={})
            await gate.granted()
            await let_in(await gate.entry())
            wrong = {"metadata": {"labels": {PROVIDER_LABEL: "another"}}}
            await gate.world.patch(AccessRequest, "mine", wrong)
            denied = await gate.standing("mine", "WrongLabel")
            free = lambda one: not one.metadata.finalizers  # noqa: E731
            await gate.world.becomes(AccessRequest, "mine", free, "is free")
            await quiet(manager)
            told = await gate.world.get(AccessRequest, "mine")
            assert (told.status.phase, told.status.secret_ref) == ("Denied", None)
            assert (await gate.secret(), await gate.parts(request)) == (None, {})
            assert told.status.message == denied.status.message
            await gate.world.patch(AccessRequest, "mine", {"metadata": {"labels": {PROVIDER_LABEL: None}}})
            again = await gate.granted()
            assert {one.type: one.status for one in again.status.conditions} == {"Ready": "True"}
