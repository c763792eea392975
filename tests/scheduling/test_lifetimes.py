"""Requests with a time to live: warned of, extended, and ended."""

from __future__ import annotations

import datetime

import pytest
from machine_kit import proxy_before
from scheduling_kit import condition, scheduling

from mooring.api.clusters import Cluster
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.testing.clock import SimulatedClock
from mooring.testing.fault_rules import where
from mooring.testing.managers import heard, quiet, until

HOUR = 3600.0


@pytest.fixture
def clock():
    return SimulatedClock(datetime.datetime.now(datetime.UTC))


@pytest.fixture
async def offers(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)


async def begin(world, manager, ttl):
    """A granted request, at a moment in which nothing is under way."""
    await world.request("one", purpose="mcp", ttl=ttl)
    request, cluster = await world.granted("one")
    await heard(manager, request)
    return request, cluster


@pytest.mark.usefixtures("offers")
async def test_a_request_is_warned_and_then_ends_with_its_cluster(world, clock):
    async with scheduling(world.connection, clock=clock) as manager:
        request, cluster = await begin(world, manager, "10h")
        assert condition(request, "Expiring") is None
        await clock.advance(7.5 * HOUR)
        await quiet(manager)
        assert condition(await world.get(ClusterRequest, "one"), "Expiring") is None
        await clock.advance(HOUR)  # the last fifth has begun
        warned = await until(lambda: _expiring(world), "the request is warned")
        assert "spec.ttl" in condition(warned, "Expiring").message
        assert warned.status.phase == "Granted"
        assert (await world.told(request, "Expiring"))["type"] == "Warning"
        await heard(manager, warned)

        async def gone():
            await clock.advance(600)
            return await world.get(ClusterRequest, "one") is None

        assert await world.get(Cluster, cluster.metadata.name) is not None
        await until(gone, "the request is gone")
        await world.gone(Cluster, cluster.metadata.name)
        await world.told(request, "Expired")
        left = (request.metadata.namespace, await world.get(ClusterRequest, "one"))
        assert left == (world.namespace, None)


@pytest.mark.usefixtures("offers")
async def test_an_extension_takes_the_warning_away(world, clock):
    async with scheduling(world.connection, clock=clock) as manager:
        await begin(world, manager, "10h")
        await clock.advance(8.5 * HOUR)
        warned = await until(lambda: _expiring(world), "the request is warned")
        await heard(manager, warned)
        longer = await world.patch(ClusterRequest, "one", {"spec": {"ttl": "100h"}})

        async def unwarned():
            there = await world.get(ClusterRequest, "one")
            return there if condition(there, "Expiring") is None else None

        calm = await until(unwarned, "the warning is taken back")
        assert calm.status.observed_generation == longer.metadata.generation
        await heard(manager, calm)
        await clock.advance(10 * HOUR)
        await quiet(manager)
        assert not (await world.get(ClusterRequest, "one")).metadata.deleting
        assert await world.phase("one") == "Granted"


@pytest.mark.usefixtures("offers")
async def test_an_extension_at_the_last_moment_counts(world, plane, clock):
    """The scheduler has not heard of it when the time is over: only the server's word about the revision stops it."""
    async with proxy_before(plane) as proxy, scheduling(proxy.connection, clock=clock) as manager:
        request, _ = await begin(world, manager, "10h")
        await clock.advance(8.5 * HOUR)
        await heard(manager, await until(lambda: _expiring(world), "the request is warned"))
        proxy.freeze_watches(matching=where(resource="clusterrequests"))
        longer = await world.patch(ClusterRequest, "one", {"spec": {"ttl": "1000h"}})
        await clock.advance(2 * HOUR)
        await proxy.wait_for(where(verb="delete", resource="clusterrequests", status=409))
        proxy.thaw_watches()
        await heard(manager, longer)
        there = await world.get(ClusterRequest, "one")
        assert there is not None
        assert there.metadata.uid == request.metadata.uid
        assert not there.metadata.deleting
        await world.assert_sound()


@pytest.mark.usefixtures("offers")
async def test_what_ended_while_nobody_looked_ends_at_the_next_start(world, clock):
    async with scheduling(world.connection, clock=clock) as manager:
        _, cluster = await begin(world, manager, "1h")
    await clock.advance(2 * HOUR)
    async with scheduling(world.connection, clock=clock):
        await world.gone(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name)


@pytest.mark.usefixtures("offers")
async def test_without_a_ttl_nothing_ends(world, clock):
    async with scheduling(world.connection, clock=clock) as manager:
        await world.request("one", purpose="mcp")
        request, _ = await world.granted("one")
        await heard(manager, request)
        await clock.advance(10_000 * HOUR)
        await quiet(manager)
        assert await world.phase("one") == "Granted"
        assert await world.get(ClusterRequestGrant, "one") is not None


@pytest.mark.usefixtures("offers")
async def test_a_request_that_waits_ends_as_well(world, clock):
    async with scheduling(world.connection, clock=clock):
        await world.request("one", purpose="unknown", ttl="1h")
        await world.reaches("one", "Pending")

        async def gone():
            await clock.advance(300)
            return await world.get(ClusterRequest, "one") is None

        await until(gone, "the request is gone")


async def _expiring(world):
    there = await world.get(ClusterRequest, "one")
    assert there is not None, "it ended without a warning"
    return there if condition(there, "Expiring") is not None else None
