"""Requests on a real server, and the answers they get."""

from __future__ import annotations

from scheduling_kit import scheduling

from mooring.api.claims import claims_on
from mooring.api.clusters import Cluster
from mooring.api.requests import ClusterRequest, ClusterRequestGrant


async def test_a_dedicated_request_gets_a_cluster_of_its_own_and_gives_it_back(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        request, cluster = await world.granted("one")
        assert cluster.spec.tenancy == "Exclusive"
        assert cluster.spec.profile == "gold"
        assert cluster.spec.kubernetes.version == "1.33.3"
        assert [claim.uid for claim in claims_on(cluster.metadata)] == [request.metadata.uid]
        await world.assert_sound()
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name)


async def test_shared_requests_share_until_the_seats_are_taken(world):
    await world.profile()
    await world.purpose("workload", dedicated=False, tenancyCount=3)
    async with scheduling(world.connection):
        for number in range(7):
            await world.request(f"r{number}", purpose="workload", prefix="team-")
        for number in range(7):
            await world.granted(f"r{number}")
        clusters = await world.assert_sound(seats=3)
        assert len(clusters) == 3
        grant = await world.get(ClusterRequestGrant, "r0")
        assert grant.status.request.spec.purpose == "workload"
        for number in range(7):
            await world.delete(ClusterRequest, f"r{number}")
        for number in range(7):
            await world.gone(ClusterRequest, f"r{number}")
        for key in clusters:
            await world.gone(Cluster, key.name, key.namespace)
