"""Providers that die, or are cut off, at each write of what they do. The next one always finds its way."""

from __future__ import annotations

import pytest
from provider_kit import FINALIZER, Works, WorkshopConfig, doomed_workshop, workshop

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.testing.managers import until

# The configuration's finalizer, the profile, the configuration's status; the cluster's finalizer, its marks and status
# when it is begun, and both once more when it is ready.
MAKING = range(1, 9)
# The profile is closed; the cluster's status and finalizer; the profile; the configuration's finalizer.
ENDING = range(1, 6)


def ours(request):
    """What a provider writes, but for events: those are told when there is time."""
    return request.group != "events.k8s.io"


def dies(proxy, nth):
    """The write is done, and nothing more gets through."""
    return proxy.stop_after_write(nth, matching=ours)


def is_cut_before(proxy, nth):
    """The write is lost on its way; the provider lives on."""
    return proxy.cut_before_write(nth, matching=ours)


def is_cut_after(proxy, nth):
    """The write is done, its answer is lost; the provider lives on."""
    return proxy.cut_after_write(nth, matching=ours)


FATES = (dies, is_cut_before, is_cut_after)


@pytest.mark.parametrize("nth", MAKING)
@pytest.mark.parametrize("fate", FATES)
async def test_a_cluster_is_made_once(world, proxy, fate, nth):
    works = Works()

    async def is_there():
        cluster = await world.get(Cluster, "one")
        return cluster.status is not None and cluster.status.phase == "Ready"

    async with doomed_workshop(proxy.connection, works):
        rule = fate(proxy, nth)
        await world.config()
        await world.cluster()
        await struck(rule, is_there)
        if fate is not dies:
            await assert_made(world, works)
    if fate is dies:
        async with workshop(world.connection, works):
            await assert_made(world, works)


async def assert_made(world, works):
    cluster = await world.ready()
    assert cluster.metadata.finalizers == (FINALIZER,)
    assert works.made == {cluster.metadata.uid: "1.33.3"}
    assert [one.metadata.name for one in await world.all(ClusterProfile)] == ["test.workshop.house"]
    await world.standing("house", "Published", kind=WorkshopConfig)


@pytest.mark.parametrize("nth", ENDING)
@pytest.mark.parametrize("fate", FATES)
async def test_a_cluster_leaves_nothing(world, proxy, fate, nth):
    works = Works()
    async with workshop(world.connection, works):
        await world.config()
        await world.cluster()
        await world.ready()
        await world.standing("house", "Published", kind=WorkshopConfig)

    async def is_gone():
        return await world.get(WorkshopConfig, "house") is None

    async with doomed_workshop(proxy.connection, works):
        rule = fate(proxy, nth)
        await world.delete(WorkshopConfig, "house")
        await world.becomes(WorkshopConfig, "house", lambda one: one.metadata.deleting, "is to go")
        await world.delete(Cluster, "one")
        await struck(rule, is_gone)
        if fate is not dies:
            await assert_nothing_is_left(world, works)
    if fate is dies:
        async with workshop(world.connection, works):
            await assert_nothing_is_left(world, works)


async def assert_nothing_is_left(world, works):
    await world.gone(Cluster, "one")
    await world.gone(WorkshopConfig, "house")
    assert await world.all(ClusterProfile) == []
    assert not works.made


async def struck(rule, done):
    """Wait for the fault; or until everything was done without one: sometimes a write fewer is needed."""

    async def over():
        return rule.hits or await done()

    await until(over, "the write was made")
