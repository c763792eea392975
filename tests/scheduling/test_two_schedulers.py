"""Two schedulers at once against one API server: neither knows of the other, and nothing is sold twice."""

from __future__ import annotations

import asyncio

from machine_kit import Witness, doomed, in_turn, proxy_before, until_all_granted, until_nothing_is_left
from scheduling_kit import scheduling

from mooring.api.claims import claimants
from mooring.api.clusters import Cluster
from mooring.api.purposes import Purpose
from mooring.api.requests import ClusterRequest
from mooring.kube import key_of
from mooring.testing.managers import until

REQUESTS = 500


async def test_no_seat_is_sold_twice(world):
    await world.profile()
    await world.purpose("workload", dedicated=False, tenancyCount=3)
    witness = Witness(seats=3)
    async with (
        witness.watching(world.kube),
        scheduling(world.connection),
        scheduling(world.connection),
    ):
        await in_turn(world.request(f"r{number}", purpose="workload", prefix="team-") for number in range(REQUESTS))
        await until_all_granted(world, REQUESTS)
        await until_sound(world, seats=3)
        await in_turn(world.delete(ClusterRequest, f"r{number}") for number in range(REQUESTS))
        await until_nothing_is_left(world, grants=False)
    assert witness.versions >= REQUESTS / 3
    assert not witness.wrongs


async def until_sound(world, *, seats):
    """Claims that the loser has still to give back are given back."""
    wrong = None

    async def sound():
        nonlocal wrong
        try:
            await world.assert_sound(seats=seats)
        except (AssertionError, KeyError, StopIteration) as error:
            wrong = error
            return False
        return True

    await until(sound, lambda: f"all is sound: {wrong}")


LANES, ROUNDS = 10, 5


async def test_the_last_one_out_against_the_next_one_in(world):
    """Whoever comes while the last one leaves gets the cluster, or another one; never one that is going."""
    await world.profile()
    for lane in range(LANES):
        await world.purpose(f"lane{lane}", dedicated=False)

    async def race(lane):
        await world.request(f"{lane}-0", purpose=f"lane{lane}")
        await world.granted(f"{lane}-0")
        for turn in range(ROUNDS):
            leaver, comer = f"{lane}-{turn}", f"{lane}-{turn + 1}"
            await asyncio.gather(world.delete(ClusterRequest, leaver), world.request(comer, purpose=f"lane{lane}"))
            await world.gone(ClusterRequest, leaver)
            request, cluster = await world.granted(comer)
            assert cluster is not None, f"{comer} was granted a cluster that is gone"
            assert not cluster.metadata.deleting, f"{comer} was granted {key_of(cluster)}, which is being deleted"
            assert request.metadata.uid in claimants(cluster.metadata)

    witness = Witness()
    async with witness.watching(world.kube), scheduling(world.connection), scheduling(world.connection):
        await asyncio.gather(*map(race, range(LANES)))
        await until_sound(world, seats=None)
        held = {one.metadata.uid for one in await world.all(ClusterRequest)}
        assert not held & witness.deleted_under.keys(), "a cluster was deleted under a fresh claim"
        await until(lambda: is_number_of_clusters(world, LANES), "each lane has one cluster")
    assert not witness.wrongs


async def is_number_of_clusters(world, count):
    return len(await world.all(Cluster)) == count


def refused_status(request):
    return request.subresource == "status" and request.resource == "clusterrequests" and request.server_status == 409


async def test_a_scheduler_that_is_behind_does_not_unsay_a_grant(world, plane):
    """It has not heard that the purpose asks for less now, nor that the other one has granted the request."""
    await world.profile("gold")
    await world.purpose("workload", dedicated=True, traits=[{"trait": "fast"}])
    async with proxy_before(plane) as proxy, doomed(proxy.connection):
        await world.request("one", purpose="workload")
        await world.reaches("one", "Denied")
        proxy.freeze_watches(matching=lambda request: request.resource != "clusterprofiles")
        await world.patch(Purpose, "workload", {"spec": {"traits": None}})
        async with scheduling(world.connection):
            await world.granted("one")
        await world.profile("silver")  # which is not fast either: to the one that is behind, a further reason to deny
        await proxy.wait_for(refused_status, count=2)
        assert await world.phase("one") == "Granted"
        proxy.thaw_watches()
    await world.assert_sound()
