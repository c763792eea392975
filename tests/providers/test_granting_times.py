"""Tokens and time: renewed before they end, retired when they must, whatever the clocks say and whoever is away."""

from __future__ import annotations

import datetime

import pytest
from deployment_kit import Ahead
from granting_kit import Gate, a_gate, clock_at, is_granted, let_in, passing, refused
from provider_kit import is_ready

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.entry.renewing import GRACE
from mooring.runtime import clock as clocks
from mooring.testing.managers import quiet

HOUR = 3600.0
DAY = 24 * HOUR


@pytest.fixture
async def gate(world, kube, fault_proxy):
    """The way to the cluster can be told to fail."""
    async with a_gate(world, kube, proxy=fault_proxy) as gate:
        yield gate


async def granted(gate: Gate, clock, **token):
    """A grant, while time passes: a cluster has to be made first, and whatever fails is tried again."""

    async def ready():
        return is_ready(await gate.world.get(Cluster, "one"))

    await passing(clock, ready, "the cluster is ready")
    request = await gate.ask(**({"token": {"permissions": [], **token}} if token else {}))

    async def is_done():
        return is_granted(await gate.world.get(AccessRequest, "mine"))

    await passing(clock, is_done, "it is granted", step=0.1)
    return request


async def another(gate: Gate, clock, first, *, step=10.0):
    """The record of the next token."""

    async def there():
        record = await gate.record()
        return record if record is not None and record.issue not in ("", first.issue) else None

    return await passing(clock, there, "there is another token", step=step)


async def test_renewed_in_time_and_the_old_one_ends(gate: Gate) -> None:
    clock = clock_at()
    async with gate.granting(clock=clock) as manager:
        request = await granted(gate, clock, lifetime="1h")
        first, old = await gate.record(), await gate.entry()
        assert first.expires - first.created == HOUR
        secret = await gate.secret()
        assert {"kubeconfig", "creationTimestamp", "expirationTimestamp"} == set(secret["data"])
        await clock.advance(0.69 * HOUR - (clock.now().timestamp() - first.created))
        await quiet(manager)
        assert (await gate.record()).issue == first.issue
        second = await another(gate, clock, first)
        assert 0.7 * HOUR <= second.created - first.created < HOUR
        assert (second.retiring, second.retire_at) == (first.issue, second.created + GRACE)
        assert first.issue in (await gate.parts(request))["Secret"]

        async def is_retired():
            return not (await gate.record()).retiring

        await passing(clock, is_retired, "the old token is retired")
        assert (await gate.parts(request))["Secret"] == [second.issue]
        await refused(old)


async def test_lives_no_longer_than_asked_though_the_cluster_was_away(gate: Gate) -> None:
    """Servers issue no token for less than ten minutes: this one would still work when its time is over."""
    clock = clock_at()
    async with gate.granting(clock=clock):
        request = await granted(gate, clock, lifetime="5m")
        first, old = await gate.record(), await gate.entry()
        assert first.expires - first.created == 300
        await gate.proxy.down()
        await clock.advance(400)

        async def is_told():
            ready = (await gate.world.get(AccessRequest, "mine")).status
            return ready.reason == "CannotEnterCluster" and ready.phase == "Granted"

        await passing(clock, is_told, "it is told")
        await gate.proxy.up()
        second = await another(gate, clock, first)
        assert second.retiring == ""
        assert (await gate.parts(request))["Secret"] == [second.issue]
        await refused(old)


async def test_another_lifetime_is_another_token(gate: Gate) -> None:
    clock = clock_at()
    async with gate.granting(clock=clock):
        await granted(gate, clock)
        first = await gate.record()
        assert first.expires - first.created == 30 * DAY
        await gate.world.patch(AccessRequest, "mine", {"spec": {"token": {"lifetime": "2h"}}})
        second = await another(gate, clock, first, step=0.1)
        assert (second.expires - second.created, second.retiring) == (2 * HOUR, first.issue)


@pytest.mark.parametrize("days", [-40, 400])
async def test_a_clock_that_was_wrong(gate: Gate, days) -> None:
    """Issued long ago, or in the far future: neither tells when the token ends."""
    wrong = clock_at(days=days)
    async with gate.granting(clock=wrong):
        request = await granted(gate, wrong)
        first = await gate.record()
    async with gate.granting():
        second = await gate.recorded(lambda one: one.issue not in ("", first.issue), "is of another token")
        assert abs(second.created - first.created) > 30 * DAY
        await let_in(await gate.entry())
        await gate.is_tidy(request)


async def test_a_clock_that_is_put_right_meanwhile(gate: Gate, monkeypatch) -> None:
    """It was behind, and nothing but the calendar changes: the token ends sooner than it seemed when it was issued."""
    monkeypatch.setattr(clocks, "_LONGEST_NAP", 0.1)
    clock = Ahead()
    async with gate.granting(clock=clock) as manager:
        await gate.ask(token={"permissions": [], "lifetime": "1h"})
        await gate.granted()
        await quiet(manager)
        first = await gate.record()
        clock.by = datetime.timedelta(minutes=50)
        second = await gate.recorded(lambda one: one.issue != first.issue, "is of another token")
        assert second.created >= first.created + 50 * 60


async def test_rotated_twice_at_once_only_two_work(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        entry, first = await gate.entry(), await gate.record()
        await gate.annotate("mine", "rotate")
        second = await gate.recorded(lambda one: one.issue != first.issue, "is of another token")
        await gate.world.becomes(AccessRequest, "mine", _is_heard, "is heard")
        await gate.annotate("mine", "rotate")
        third = await gate.recorded(lambda one: one.issue not in (first.issue, second.issue), "is of a third")
        assert third.retiring == second.issue
        await gate.is_tidy(request)
        await refused(entry)


def _is_heard(request) -> bool:
    return "openmcp.cloud/operation" not in request.metadata.annotations


async def test_a_cluster_that_is_away_when_it_is_to_be_entered(gate: Gate) -> None:
    await gate.proxy.down()
    async with gate.granting():
        await gate.ask()
        waiting = await gate.standing("mine", "CannotEnterCluster")
        assert (waiting.status.phase, waiting.status.secret_ref) == ("Pending", None)
        await gate.proxy.up()
        await gate.granted()
        await let_in(await gate.entry())


async def test_a_cluster_that_is_somebody_elses_by_now(gate: Gate) -> None:
    """Where it was, a server answers that knows none of its paths."""
    stranger = gate.proxy.answer(404, times=None)
    async with gate.granting():
        request = await gate.ask()
        await gate.standing("mine", "CannotEnterCluster")
        stranger.lift()
        await gate.granted()
        stranger = gate.proxy.answer(404, times=None)
        await gate.world.delete(AccessRequest, "mine")
        await gate.standing("mine", "CannotEnterCluster")
        stranger.lift()
        await gate.world.gone(AccessRequest, "mine")
        assert await gate.parts(request) == {}


async def test_a_cluster_that_is_away_when_it_is_left(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        entry = await gate.entry()
        await gate.proxy.down()
        await gate.world.delete(AccessRequest, "mine")
        await gate.standing("mine", "CannotEnterCluster")
        await gate.proxy.up()
        await gate.world.gone(AccessRequest, "mine")
        assert await gate.parts(request) == {}
        await refused(entry)


async def test_revoked_while_the_cluster_is_away(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        await gate.proxy.down()
        await gate.annotate("mine", "revoke")
        denied = await gate.standing("mine", "CannotEnterCluster")
        assert (denied.status.phase, denied.status.secret_ref, await gate.secret()) == ("Denied", None, None)
        await gate.proxy.up()
        await gate.standing("mine", "Revoked")
        assert await gate.parts(request) == {}


async def test_a_cluster_that_is_away_for_good(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        await gate.proxy.down()
        await gate.world.delete(AccessRequest, "mine")
        await gate.standing("mine", "CannotEnterCluster")
        await gate.world.delete(Cluster, "one")
        await gate.world.gone(AccessRequest, "mine")
    await gate.clear_target(request.metadata.uid)
