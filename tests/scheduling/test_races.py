"""The desks of two schedulers at one cluster, without the rest: quick, so that a race can be run a thousand times."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections import Counter
from dataclasses import dataclass

import pytest
from machine_kit import Witness, doomed, in_turn, proxy_before, until_all_granted

from mooring.api.claims import claimants
from mooring.api.clusters import Cluster
from mooring.api.kinds import Metadata
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, claim_of
from mooring.api.requests import ClusterRequest, ClusterRequestSpec
from mooring.kube import ObjectKey
from mooring.runtime import Manager
from mooring.scheduling.desk import Desk, SeatLost
from mooring.scheduling.seen import Seen
from mooring.testing.managers import until

RACES, LANES = 1_000, 20


@dataclass
class Clerk:
    """A scheduler that decides nothing by itself: it has eyes and a desk."""

    seen: Seen
    desk: Desk

    def ask(self, request):
        return self.seen.catalogue.ask(request.spec)


@contextlib.asynccontextmanager
async def clerk(connection):
    async with Manager(connection, identity=uuid.uuid4().hex) as manager:
        seen = Seen(manager)
        task = asyncio.create_task(manager.run())
        try:
            await until(lambda: manager.working or task.done(), "the clerk sees")
            yield Clerk(seen, Desk(manager.client, seen))
        finally:
            manager.stop()
            await task


@pytest.fixture
async def clerks(world):
    await world.profile()
    await world.purpose("workload", dedicated=False, tenancyCount=3)
    async with clerk(world.connection) as one, clerk(world.connection) as other:
        yield one, other


def a_request(world):
    uid = str(uuid.uuid4())
    metadata = Metadata(name=f"r-{uid[:8]}", namespace=world.namespace, uid=uid)
    return ClusterRequest(metadata=metadata, spec=ClusterRequestSpec(purpose="workload"))


async def held_cluster(world, name, *holders):
    marks = [claim_of(one.metadata.uid) for one in holders]
    metadata = {"finalizers": marks, "labels": {DELETE_WITHOUT_REQUESTS_LABEL: "true"}}
    return await world.cluster(name, metadata=metadata)


async def some_steps(chance):
    for _ in range(chance.randrange(12)):
        await asyncio.sleep(0)


async def test_the_last_one_out_against_the_next_one_in(world, clerks):
    one, other = clerks
    outcomes = Counter()

    async def race(number):
        chance, key = random.Random(number), ObjectKey(world.namespace, f"c{number}")
        leaver, comer = a_request(world), a_request(world)
        await held_cluster(world, key.name, leaver)
        await until(lambda: key in one.seen.clusters and key in other.seen.clusters, "both have heard of it")

        async def leave():
            await some_steps(chance)
            await one.desk.leave(key, leaver.metadata.uid)

        async def come():
            await some_steps(chance)
            try:
                return await other.desk.take(key, comer, other.ask(comer))
            except SeatLost:
                return None

        _, taken = await asyncio.gather(leave(), come())
        there = await world.get(Cluster, key.name)
        if taken is None:
            assert there is None, f"nobody has {key}, and it is still there: {there}"
        else:
            assert there is not None, f"{key} was deleted under a fresh claim"
            assert not there.metadata.deleting, f"{key} is deleted under a fresh claim"
            assert claimants(there.metadata) == (comer.metadata.uid,)
            await world.patch(Cluster, key.name, {"metadata": {"finalizers": None}})
            await world.delete(Cluster, key.name)
        outcomes["taken" if taken else "gone"] += 1

    witness = Witness(seats=3)
    async with witness.watching(world.kube):
        await asyncio.gather(*(in_a_row(race, lane) for lane in range(LANES)))
    assert outcomes.total() == RACES
    assert not witness.wrongs
    print(f"the last one out against the next one in: {dict(outcomes)}")


async def in_a_row(race, lane):
    for number in range(lane, RACES, LANES):
        await race(number)


async def test_more_takers_than_seats(world, clerks):
    """Eight at two desks for three seats: three get one, five are told so, and nobody comes in twice."""

    async def rush(number):
        key = ObjectKey(world.namespace, f"c{number}")
        await held_cluster(world, key.name)
        await until(lambda: all(key in clerk.seen.clusters for clerk in clerks), "both have heard of it")

        async def come(clerk):
            request = a_request(world)
            try:
                await clerk.desk.take(key, request, clerk.ask(request))
            except SeatLost:
                return None
            return request.metadata.uid

        seated = await asyncio.gather(*(come(clerks[place % 2]) for place in range(8)))
        there = await world.get(Cluster, key.name)
        assert sorted(claimants(there.metadata)) == sorted(filter(None, seated))
        assert len(claimants(there.metadata)) == 3

    witness = Witness(seats=3)
    async with witness.watching(world.kube):
        for first in range(0, 60, LANES):
            await asyncio.gather(*map(rush, range(first, first + LANES)))
    assert not witness.wrongs


async def test_one_cluster_for_all_makes_no_storm(world, plane):
    """As many workers as there are want the same cluster at once: they wait at its desk, and not for the server."""
    await world.profile()
    await world.purpose("open", dedicated=False)
    count = 300
    async with proxy_before(plane) as proxy, doomed(proxy.connection):
        await in_turn(world.request(f"r{number}", purpose="open") for number in range(count))
        await until_all_granted(world, count)
        asked = [one for one in proxy.requests if not one.is_watch and one.verb != "list"]
    clusters = await world.assert_sound()
    assert len(clusters) == 1
    conflicts = [one for one in asked if one.server_status == 409]
    claims = [one for one in asked if one.resource == "clusters"]
    print(f"{len(asked) / count:.2f} calls per grant, {len(claims)} for claims, {len(conflicts)} conflicts")
    print(Counter((one.verb, one.resource, one.subresource, one.server_status) for one in asked))
    assert len(asked) <= 6 * count
