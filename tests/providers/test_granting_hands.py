"""What people do to what was granted, on either side: it is put right, or left alone if it is not ours."""

from __future__ import annotations

import pytest
from granting_kit import ACCOUNTS, PODS, Gate, a_gate, clock_at, is_granted, let_in, may, passing, refused
from provider_kit import is_ready

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.marks import GRANT_FINALIZER
from mooring.entry.entrants import ENTRANT_LABEL, INSTALLATION_LABEL
from mooring.entry.resources import ACCOUNTS as ACCOUNT_KIND
from mooring.entry.resources import NAMESPACES, PARTS, SECRETS
from mooring.kube import MergePatch
from mooring.providers.sdk.granting.records import GRANT_ANNOTATION
from mooring.testing.managers import at_work, quiet, until

ROLES = PARTS["ClusterRole"]


@pytest.fixture
async def gate(world, kube):
    async with a_gate(world, kube) as gate:
        yield gate


# -- on the platform ------------------------------------------------------------------------------------------------


async def test_a_secret_without_its_record_is_written_anew(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        first = await gate.record()
        for spoiled in (None, "{", '{"door": 1}', '{"door": "x", "server": "y", "issue": "../../other"}'):
            before = await gate.record()
            await gate.touch_secret({"metadata": {"annotations": {GRANT_ANNOTATION: spoiled}}})
            await gate.recorded(lambda one, last=before: one.issue not in ("", last.issue), "is whole again")
        await gate.is_tidy(request)
        assert first.issue not in (await gate.parts(request))["Secret"]


@pytest.mark.parametrize(
    "body",
    [
        {"stringData": {"kubeconfig": "nonsense"}},
        {"data": {"kubeconfig": None}},
        {"immutable": True, "stringData": {"expirationTimestamp": "9999999999"}},
    ],
    ids=["changed", "removed", "frozen"],
)
async def test_a_kubeconfig_that_was_spoiled_is_replaced(gate: Gate, body) -> None:
    async with gate.granting():
        await gate.ask()
        await gate.granted()
        first = await gate.record()
        await gate.touch_secret(body)
        await gate.recorded(lambda one: one.issue != first.issue, "is of another token")
        await let_in(await gate.entry())
        assert "immutable" not in await gate.secret()


async def test_what_others_add_to_the_secret_stays(gate: Gate) -> None:
    async with gate.granting() as manager:
        await gate.ask()
        await gate.granted()
        first = await gate.record()
        await gate.touch_secret({"metadata": {"labels": {"team": "a"}}, "stringData": {"note": "ours"}})
        await gate.world.patch(AccessRequest, "mine", {"metadata": {"labels": {"heard": "of-it"}}})
        await gate.annotate("mine", "reconcile")
        await gate.world.becomes(
            AccessRequest, "mine", lambda one: "openmcp.cloud/operation" not in one.metadata.annotations, "is heard"
        )
        await quiet(manager)
        assert await gate.record() == first
        assert "note" in (await gate.secret())["data"]


async def test_marks_that_were_taken_away_come_back(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        await gate.touch_secret({"metadata": {"labels": {ENTRANT_LABEL: None}}})

        async def is_marked():
            labels = (await gate.secret())["metadata"].get("labels") or {}
            return labels.get(ENTRANT_LABEL) == request.metadata.uid

        await until(is_marked, "the Secret is marked again")
        await gate.world.patch(AccessRequest, "mine", {"metadata": {"finalizers": None}})
        held = lambda one: GRANT_FINALIZER in one.metadata.finalizers  # noqa: E731
        await gate.world.becomes(AccessRequest, "mine", held, "is held again")


async def test_somebody_elses_secret_is_never_touched(gate: Gate) -> None:
    name, namespace = "mine.kubeconfig", gate.world.namespace
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": {}}
    theirs = await gate.world.kube.create(SECRETS, body)
    async with gate.granting():
        request = await gate.ask()
        denied = await gate.standing("mine", "NameIsTaken")
        assert denied.status.secret_ref is None

        async def no_token():
            return "Secret" not in await gate.parts(request)

        await until(no_token, "no token is left that nobody was given")
        there = await gate.secret()
        assert there["metadata"]["resourceVersion"] == theirs["metadata"]["resourceVersion"]
        await gate.remove_secret()
        await gate.granted()
        await gate.is_tidy(request)


async def test_a_word_that_comes_in_between_is_heard(gate: Gate, proxy) -> None:
    """While the word to rotate is being taken away, somebody says to revoke: that one must not be taken away."""
    async with gate.killed_later(connection=proxy.connection):
        request = await gate.ask()
        await gate.granted()
        taken = lambda one: one.verb == "patch" and one.resource == "accessrequests" and not one.subresource  # noqa: E731
        before = len([one for one in proxy.requests if taken(one)])
        proxy.delay(5.0, times=1, matching=taken)
        await gate.annotate("mine", "rotate")
        await proxy.wait_for(taken, count=before + 1)
        await gate.annotate("mine", "revoke")
        await gate.standing("mine", "Revoked")
        assert await gate.parts(request) == {}


# -- in the cluster -------------------------------------------------------------------------------------------------


async def test_an_account_that_was_deleted_comes_back_with_a_new_token(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        first, old = await gate.record(), await gate.entry()
        [account] = (await gate.parts(request))["ServiceAccount"]
        await gate.target.delete(ACCOUNT_KIND, account, namespace=ACCOUNTS)
        await gate.sweep()
        second = await gate.recorded(lambda one: one.issue != first.issue, "is of another token")
        assert second.account != first.account
        await let_in(await gate.entry())
        await refused(old)
        # Once more, and this time it is noticed when a token is asked for.
        await gate.target.delete(ACCOUNT_KIND, account, namespace=ACCOUNTS)
        await gate.annotate("mine", "rotate")
        await gate.recorded(lambda one: one.account not in (first.account, second.account), "is of another account")
        await let_in(await gate.entry())


async def test_what_a_token_lives_with_was_deleted(gate: Gate) -> None:
    async with gate.granting():
        await gate.ask()
        await gate.granted()
        first = await gate.record()
        await gate.target.delete(SECRETS, first.issue, namespace=ACCOUNTS)
        await gate.sweep()
        await gate.recorded(lambda one: one.issue != first.issue, "is of another token")
        await let_in(await gate.entry())


async def test_rights_that_somebody_gave_are_taken_back(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        entry, first = await gate.entry(), await gate.record()
        [role] = (await gate.parts(request))["ClusterRole"]
        everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        await gate.target.patch(ROLES, role, MergePatch({"rules": everything}))

        async def is_mighty():
            return await may(entry, NAMESPACES)

        async def is_not():
            return await may(entry, NAMESPACES) is False and await may(entry, PODS)

        await until(is_mighty, "the token can do everything")
        await gate.sweep()
        await until(is_not, "the token can do what was asked for, and no more")
        assert (await gate.record()).issue == first.issue


async def test_what_is_left_of_a_request_that_vanished_is_removed(gate: Gate) -> None:
    async with gate.granting() as manager:
        await gate.world.ready()
        sibling = await gate.ask("sibling")
        await gate.granted("sibling")
        lost = await gate.ask()
        await gate.granted()
        await gate.annotate("mine", "ignore")
        await gate.world.patch(AccessRequest, "mine", {"metadata": {"finalizers": None}})
        await gate.world.delete(AccessRequest, "mine")
        await gate.world.gone(AccessRequest, "mine")
        await quiet(manager)

        async def swept():
            await gate.sweep()
            return await gate.parts(lost) == {}

        await until(swept, "nothing is left")
        assert set(await gate.parts(sibling)) == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Secret"}
        await gate.is_tidy(sibling, "sibling")


@pytest.mark.parametrize("days", [0, 1])
async def test_a_token_that_nobody_wrote_down_goes_when_it_is_old(gate: Gate, days) -> None:
    clock = clock_at(days=days)
    async with gate.granting(clock=clock):

        async def ready():
            return is_ready(await gate.world.get(Cluster, "one"))

        async def done():
            return is_granted(await gate.world.get(AccessRequest, "mine"))

        await passing(clock, ready, "the cluster is ready")
        request = await gate.ask()
        await passing(clock, done, "it is granted", step=0.1)
        record = await gate.record()
        first = await gate.target.get(SECRETS, record.issue, namespace=ACCOUNTS)
        copied = {name: first["metadata"][name] for name in ("labels", "annotations", "namespace")}
        stray = {"apiVersion": "v1", "kind": "Secret", "metadata": {**copied, "name": f"{record.issue}0"}}
        await gate.target.create(SECRETS, stray)
        assert INSTALLATION_LABEL in copied["labels"]
        await gate.sweep()
        assert len((await gate.parts(request))["Secret"]) == (1 if days else 2)
        assert (await gate.record()).issue == record.issue


async def test_a_sweep_spares_what_is_just_being_issued(gate: Gate, proxy) -> None:
    """By the clock it looks old, and it is not written down yet."""
    clock = clock_at(days=1)
    async with gate.manager(clock=clock, connection=proxy.connection) as manager:
        gate.add(manager)
        async with at_work(manager):

            async def ready():
                return is_ready(await gate.world.get(Cluster, "one"))

            await passing(clock, ready, "the cluster is ready")
            slow = lambda one: one.verb == "create" and one.resource == "secrets"  # noqa: E731
            proxy.delay(5.0, times=1, matching=slow)
            await gate.ask()
            await proxy.wait_for(slow)
            await gate.sweep()

            async def done():
                return is_granted(await gate.world.get(AccessRequest, "mine"))

            await passing(clock, done, "it is granted", step=0.1)
            await let_in(await gate.entry())
