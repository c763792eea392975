"""Purposes and what becomes of a request that names several, on a real server."""

from __future__ import annotations

import pytest
from scheduling_kit import scheduling

from mooring.api.clusters import Cluster
from mooring.api.requests import ClusterRequest


async def test_the_first_template_counts_and_the_strictest_seats(world):
    await world.profile("gold")
    await world.profile("silver", traits=["rare"])
    first = {"metadata": {"labels": {"example.org/from": "a"}}, "spec": {"tenancy": "Exclusive"}}
    await world.purpose("a", dedicated=False, tenancyCount=3, template=first)
    second = {"metadata": {"labels": {"example.org/from": "b"}}, "spec": {"profile": "silver"}}
    await world.purpose("b", tenancyCount=2, template=second)
    async with scheduling(world.connection):
        for number in range(3):
            await world.request(f"r{number}", purposes=["a", "b"])
        for number in range(3):
            _, cluster = await world.granted(f"r{number}")
            assert cluster.metadata.labels["example.org/from"] == "a"
            assert str(cluster.spec.tenancy) == "Shared"  # what is said of dedicated counts over the template
            assert cluster.spec.profile == "silver"
            assert cluster.spec.purposes == ("a", "b")
        assert len(await world.assert_sound(seats=2)) == 2


async def test_purposes_that_clash_are_named(world):
    await world.profile()
    await world.purpose("a", template={"spec": {"profile": "gold"}})
    await world.purpose("b", template={"spec": {"profile": "silver"}})
    async with scheduling(world.connection):
        await world.request("one", purposes=["a", "b"])
        denied = await world.reaches("one", "Denied", reason="PurposesClash")
        for word in ("purposes a and b", "spec.profile", "gold", "silver"):
            assert word in denied.status.message


async def test_selectors_choose_among_the_clusters_that_are_there(world):
    await world.profile()
    await world.purpose("workload", selector={"matchLabels": {"env": "live"}})
    await world.cluster("a", metadata={"labels": {"env": "test"}})
    await world.cluster("b", metadata={"labels": {"env": "live"}})
    await world.cluster("c", purposes=["other"], metadata={"labels": {"env": "live"}})
    await world.cluster("d", tenancy="Exclusive", metadata={"labels": {"env": "live"}})
    async with scheduling(world.connection):
        await world.request("one", purpose="workload")
        _, cluster = await world.granted("one")
        assert cluster.metadata.name == "b"
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        assert not (await world.get(Cluster, "b")).metadata.deleting  # a person's, not ours to delete


@pytest.mark.parametrize(("strategy", "spread"), [("Balanced", [2, 2]), ("Packed", [1, 3]), ("Simple", [1, 3])])
async def test_strategies_fill_clusters_in_their_own_way(world, strategy, spread):
    await world.profile()
    await world.purpose("workload", tenancyCount=3, strategy=strategy)
    await world.cluster("a")
    await world.cluster("b")
    async with scheduling(world.connection):
        for number in range(4):
            await world.request(f"r{number}", purpose="workload")
            await world.granted(f"r{number}")
        clusters = await world.assert_sound(seats=3)
        assert sorted(len(one.metadata.finalizers) for one in clusters.values()) == spread


async def test_an_unhealthy_cluster_is_passed_over_while_another_fits(world):
    await world.profile()
    await world.purpose("workload", strategy="Simple")
    await world.cluster("a")
    await world.cluster("b")
    await world.set_ready("a", "False")
    async with scheduling(world.connection):
        await world.request("one", purpose="workload")
        assert (await world.granted("one"))[1].metadata.name == "b"
        await world.delete(Cluster, "b")  # held, and from now on without seats
        await world.request("two", purpose="workload")
        assert (await world.granted("two"))[1].metadata.name == "a"  # better than nothing
