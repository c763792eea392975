"""Requests with a time to live end by themselves, whoever has answered them."""

from __future__ import annotations

import datetime

import pytest
from access_kit import preparing, refusal

from mooring.api.access import AccessRequest
from mooring.testing.clock import SimulatedClock
from mooring.testing.managers import heard, quiet, until

HOUR = 3600.0


@pytest.fixture
def clock():
    return SimulatedClock(datetime.datetime.now(datetime.UTC))


async def until_gone(world, clock, name="entry"):
    async def gone():
        await clock.advance(600)
        return await world.get(AccessRequest, name) is None

    await until(gone, f"{name} is gone")


@pytest.mark.parametrize("phase", ["", "Granted", "Denied"])
async def test_a_request_ends_whatever_became_of_it(world, clock, phase):
    await world.cluster(profile=world.iron)
    await world.access(clusterRef={"name": "home"}, ttl="8h")
    async with preparing(world.connection, clock) as manager:
        there = await world.stands("Pending", "Prepared")
        if phase:
            there = await world.granted(phase=phase)
        await heard(manager, there)
        await clock.advance(7 * HOUR)
        await quiet(manager)
        assert await world.get(AccessRequest) is not None
        await until_gone(world, clock)


async def test_a_request_that_leads_nowhere_ends_too(world, clock):
    await world.access(clusterRef={"name": "nowhere"}, ttl="1h")
    async with preparing(world.connection, clock) as manager:
        await heard(manager, await world.stands("Pending", "ClusterMissing"))
        await until_gone(world, clock)


async def test_what_is_over_when_preparation_starts_is_not_prepared(world, clock):
    await world.cluster()
    await world.access(clusterRef={"name": "home"}, ttl="1h")
    await clock.advance(2 * HOUR)
    async with preparing(world.connection, clock):
        await world.gone(AccessRequest)


async def test_a_longer_ttl_counts_from_the_creation(world, clock):
    await world.cluster()
    await world.access(clusterRef={"name": "home"}, ttl="1h")
    async with preparing(world.connection, clock) as manager:
        await heard(manager, await world.prepared())
        await heard(manager, await world.patch(AccessRequest, "entry", {"spec": {"ttl": "10h"}}))
        await clock.advance(9 * HOUR)
        await quiet(manager)
        assert await world.get(AccessRequest) is not None
        await until_gone(world, clock)


@pytest.mark.parametrize("ttl", ["soon", "-1h", "0s", "0", "1 h", "h"])
async def test_a_ttl_that_is_none_is_refused_with_words(world, clock, ttl):
    await world.cluster()
    await world.access(clusterRef={"name": "home"}, ttl=ttl)
    async with preparing(world.connection, clock) as manager:
        there = await world.stands("Denied", "InvalidTtl")
        assert "spec.ttl" in refusal(there).message
        await heard(manager, there)
        await clock.advance(100 * HOUR)
        await quiet(manager)
        assert await world.get(AccessRequest) is not None
        await world.patch(AccessRequest, "entry", {"spec": {"ttl": "1000h"}})
        await world.prepared()


async def test_a_ttl_beyond_all_time_does_not_end(world, clock):
    await world.cluster()
    await world.access(clusterRef={"name": "home"}, ttl="9" * 30 + "h")
    async with preparing(world.connection, clock):
        await world.prepared()
