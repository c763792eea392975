"""A provider that dies, or is cut off, at each write about access, here or there. The next one brings it to an end."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from granting_kit import Gate, a_gate, clock_at, is_granted, let_in, refused

from mooring.api.access import AccessRequest
from mooring.testing.fault_rules import Matching, Rule
from mooring.testing.faults import FaultProxy
from mooring.testing.managers import until

# On the platform: the finalizer, the Secret, the status. In the cluster: the account, the role, the binding, the Secret
# that the token lives with, and the token.
GRANTING = [("platform", nth) for nth in range(1, 4)] + [("target", nth) for nth in range(1, 6)]
# The Secret, and the word is taken away. What the token lives with, and the token.
ROTATING = [("platform", 1), ("platform", 2), ("target", 1), ("target", 2)]
# The Secret, the finalizer, the status. The token's Secret, the binding, the account, the role.
REVOKING = [("platform", nth) for nth in range(1, 4)] + [("target", nth) for nth in range(1, 5)]
DELETING = [("platform", 1)] + [("target", nth) for nth in range(1, 5)]


@pytest.fixture
async def gate(world, kube, fault_proxy):
    """Both ways, to the platform and to the cluster, can be told to fail."""
    async with a_gate(world, kube, proxy=fault_proxy) as gate:
        yield gate


def about_access(request):
    return request.resource in ("accessrequests", "secrets")


@dataclass
class Fate:
    """What happens at which write, on which side."""

    proxy: FaultProxy
    matching: Matching
    nth: int
    rule: Rule | None = None

    def dies(self):
        """The write is done, and nothing more gets through."""
        self.rule = self.proxy.stop_after_write(self.nth, matching=self.matching)

    def is_cut_off(self):
        """The write is done, its answer is lost; the provider lives on."""
        self.rule = self.proxy.cut_after_write(self.nth, matching=self.matching)

    async def strikes(self, done):
        """Wait for it; or until everything was done without: sometimes a write fewer is needed."""

        async def over():
            return self.rule.hits or await done()

        await until(over, "the write was made")


@pytest.fixture
def fate(gate, proxy, side, nth):
    if side == "platform":
        return Fate(proxy, about_access, nth)
    return Fate(gate.proxy, lambda _: True, nth)


async def has_been_granted(gate: Gate, name="mine"):
    request = await gate.world.get(AccessRequest, name)
    return request is not None and is_granted(request)


async def assert_granted(gate: Gate, request):
    await gate.granted()
    await gate.is_tidy(request)
    await let_in(await gate.entry())


async def assert_gone(gate: Gate, request):
    await gate.world.gone(AccessRequest, "mine")
    assert await gate.parts(request) == {}


@pytest.mark.parametrize(("side", "nth"), GRANTING)
async def test_killed_in_a_grant(gate: Gate, proxy, fate):
    async with gate.killed_later(connection=proxy.connection):
        await gate.world.ready()
        fate.dies()
        request = await gate.ask()
        await fate.strikes(lambda: has_been_granted(gate))
    await gate.proxy.heal()
    async with gate.granting():
        await assert_granted(gate, request)
        await gate.world.delete(AccessRequest, "mine")
        await assert_gone(gate, request)


@pytest.mark.parametrize(("side", "nth"), GRANTING)
async def test_cut_off_in_a_grant(gate: Gate, proxy, fate):
    async with gate.killed_later(connection=proxy.connection):
        await gate.world.ready()
        fate.is_cut_off()
        request = await gate.ask()
        await fate.strikes(lambda: has_been_granted(gate))
        await assert_granted(gate, request)


@pytest.mark.parametrize(("side", "nth"), ROTATING)
async def test_killed_in_a_rotation(gate: Gate, proxy, fate):
    async with gate.killed_later(connection=proxy.connection):
        request = await gate.ask()
        await gate.granted()
        first = await gate.record()
        fate.dies()
        await gate.annotate("mine", "rotate")

        async def is_over():
            there = await gate.world.get(AccessRequest, "mine")
            return "openmcp.cloud/operation" not in there.metadata.annotations

        await fate.strikes(is_over)
    await gate.proxy.heal()
    async with gate.granting():
        await until(is_over, "the rotation is done")
        await gate.recorded(lambda one: one.issue != first.issue, "is of another token")
        await assert_granted(gate, request)


@pytest.mark.parametrize(("side", "nth"), REVOKING)
async def test_killed_in_a_revocation(gate: Gate, proxy, fate):
    async with gate.killed_later(connection=proxy.connection):
        request = await gate.ask()
        await gate.granted()
        entry = await gate.entry()
        await let_in(entry)
        fate.dies()
        await gate.annotate("mine", "revoke")

        async def is_over():
            there = await gate.world.get(AccessRequest, "mine")
            return there.status.reason == "Revoked"

        await fate.strikes(is_over)
    await gate.proxy.heal()
    async with gate.granting():
        await gate.standing("mine", "Revoked")
        assert (await gate.secret(), await gate.parts(request)) == (None, {})
        assert (await gate.world.get(AccessRequest, "mine")).metadata.finalizers == ()
        await refused(entry)


@pytest.mark.parametrize(("side", "nth"), DELETING)
async def test_killed_in_a_deletion(gate: Gate, proxy, fate):
    async with gate.killed_later(connection=proxy.connection):
        request = await gate.ask()
        await gate.granted()
        fate.dies()
        await gate.world.delete(AccessRequest, "mine")

        async def is_over():
            return await gate.world.get(AccessRequest, "mine") is None

        await fate.strikes(is_over)
    await gate.proxy.heal()
    async with gate.granting():
        await assert_gone(gate, request)

        async def no_secret():
            return await gate.secret() is None

        await until(no_secret, "the Secret goes with its request")


@pytest.mark.parametrize(("side", "nth"), [("platform", 1), ("target", 1)])
async def test_killed_when_the_old_token_is_retired(gate: Gate, proxy, fate):
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        first, old = await gate.record(), await gate.entry()
        await gate.annotate("mine", "rotate")
        second = await gate.recorded(lambda one: one.retiring == first.issue, "is of another token")
    later = clock_at(days=0.01)

    async def is_over():
        return not (await gate.record()).retiring

    fate.dies()
    async with gate.killed_later(connection=proxy.connection, clock=later):
        await fate.strikes(is_over)
    await gate.proxy.heal()
    async with gate.granting(clock=later):
        await until(is_over, "the old token is retired")
        assert (await gate.parts(request))["Secret"] == [second.issue]
        await refused(old)
        await let_in(await gate.entry())
