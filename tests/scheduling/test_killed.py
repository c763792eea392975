"""Schedulers that die, or are cut off, at each write of what they do. The next one always finds its way."""

from __future__ import annotations

import pytest
from machine_kit import SERVED, Witness, doomed, obliging_provider, ours, proxy_before, until_nothing_is_left
from scheduling_kit import scheduling

from mooring.api.access import AccessRequest
from mooring.api.claims import claimants
from mooring.api.clusters import Cluster
from mooring.api.marks import WARM_LABEL
from mooring.api.names import name_hash
from mooring.api.requests import ClusterRequest
from mooring.kube import key_of
from mooring.scheduling.reasons import Reason
from mooring.testing.fault_rules import where
from mooring.testing.managers import until

GRANT = (1, 2, 3, 4)  # finalizer, claim, Grant, status


def dies(proxy, nth):
    """The write is done, and nothing more gets through."""
    return proxy.stop_after_write(nth, matching=ours)


def is_cut_before(proxy, nth):
    """The write is lost on its way; the scheduler lives on."""
    return proxy.cut_before_write(nth, matching=ours)


def is_cut_after(proxy, nth):
    """The write is done, its answer is lost; the scheduler lives on."""
    return proxy.cut_after_write(nth, matching=ours)


FATES = (dies, is_cut_before, is_cut_after)


@pytest.fixture
async def proxy(plane):
    async with proxy_before(plane) as proxy:
        yield proxy


SCENES = ("dedicated", "shared", "join", "warm")

# Only the claim differs from scene to scene, so only that is cut in all of them.
CUTS = [(scene, fate, nth) for scene in SCENES for fate in FATES for nth in GRANT if fate is dies or nth == 2]
CUTS += [("dedicated", fate, nth) for fate in (is_cut_before, is_cut_after) for nth in (1, 3, 4)]


@pytest.fixture
async def scene(request, world):
    """A world in which a request for the purpose can be granted: by a new cluster, a seat, or a warm cluster."""
    await world.profile()
    match request.param:
        case "dedicated":
            await world.purpose("workload", dedicated=True)
        case "shared":
            await world.purpose("workload", dedicated=False, tenancyCount=3)
        case "join":
            await world.purpose("workload", dedicated=False, tenancyCount=3)
            await world.cluster("there")
        case "warm":
            await world.purpose("workload", dedicated=True, warm=1)
            async with scheduling(world.connection):
                await until_warm(world, 1)
    return request.param


async def until_warm(world, count):
    async def there():
        return len(await warm_clusters(world)) == count

    await until(there, f"{count} warm clusters are there")


async def warm_clusters(world):
    return [one for one in await world.all(Cluster) if WARM_LABEL in one.metadata.labels]


async def struck(proxy, rule, done, what):
    """Wait for the fault; or until everything was done without one, which needs fewer writes than usual then."""

    async def over():
        return rule.hits or await done()

    await until(over, what)
    if rule.hits and rule.effect.stop:
        await proxy.wait_until(lambda: proxy.is_down)


async def assert_one_of_all(world, scene):
    """One cluster, one claim, one Grant; the pool is full again."""
    request, cluster = await world.granted("one")
    clusters = await world.assert_sound(seats=3)
    assert claimants(cluster.metadata) == (request.metadata.uid,)
    holders = [key for key, one in clusters.items() if claimants(one.metadata)]
    assert holders == [key_of(cluster)]
    if scene == "warm":
        await until_warm(world, 1)
        assert len(await world.all(Cluster)) == 2
    else:
        assert len(clusters) == 1


@pytest.mark.parametrize(("scene", "fate", "nth"), CUTS, indirect=["scene"])
async def test_a_grant_is_finished(world, proxy, scene, fate, nth):
    async with doomed(proxy.connection):
        rule = fate(proxy, nth)
        await world.request("one", purpose="workload", prefix="team-")
        await struck(proxy, rule, lambda: is_granted(world), f"write {nth} was made")
        if fate is not dies:
            await assert_one_of_all(world, scene)
    if fate is dies:
        async with scheduling(world.connection):
            await assert_one_of_all(world, scene)


async def is_granted(world):
    return await world.phase("one") == "Granted"


@pytest.mark.parametrize("nth", GRANT)
@pytest.mark.parametrize("scene", SCENES, indirect=True)
async def test_a_grant_that_was_begun_is_taken_back_with_its_request(world, proxy, scene, nth):
    """Deleted while no scheduler is there: the next one finds what the first had got to."""
    async with doomed(proxy.connection):
        rule = dies(proxy, nth)
        await world.request("one", purpose="workload")
        await struck(proxy, rule, lambda: is_granted(world), f"write {nth} was made")
    await world.delete(ClusterRequest, "one")
    async with scheduling(world.connection):
        await world.gone(ClusterRequest, "one")
        if scene == "warm":
            await until_warm(world, 1)
        there = [key_of(one) for one in await world.all(Cluster) if WARM_LABEL in one.metadata.labels]
        there += [key_of(one) for one in await world.all(Cluster) if one.metadata.name == "there"]
        await until_nothing_is_left(world, but=there)
        assert len(there) == (1 if scene in {"warm", "join"} else 0)


# How many writes it takes: the request's finalizer, before that the claim, before that the cluster; a word on what is
# waited for; the access.
LEAVERS = {"first": 2, "last": 3, "waiting": 4, "with access": 6}


@pytest.mark.parametrize(("leaver", "nth"), [(name, nth + 1) for name in LEAVERS for nth in range(LEAVERS[name])])
@pytest.mark.parametrize("fate", FATES)
async def test_a_request_leaves_nothing(world, proxy, leaver, fate, nth):
    await world.profile()
    await world.purpose("workload", dedicated=False, tenancyCount=3)
    async with scheduling(world.connection):
        await world.request("one", purpose="workload", waitForClusterDeletion=leaver == "waiting")
        _, cluster = await world.granted("one")
        if leaver == "first":
            await world.request("two", purpose="workload")
            await world.granted("two")
    if leaver == "waiting":
        marks = {"metadata": {"finalizers": [*cluster.metadata.finalizers, SERVED]}}
        await world.patch(Cluster, cluster.metadata.name, marks)
    if leaver == "with access":
        for name in ("a", "b"):
            spec = {"requestRef": {"name": "one", "namespace": world.namespace}, "token": {}}
            await world.create(AccessRequest, name, spec=spec, metadata={"finalizers": [SERVED]})
    async with obliging_provider(world):
        async with doomed(proxy.connection):
            rule = fate(proxy, nth)
            await world.delete(ClusterRequest, "one")
            await struck(proxy, rule, lambda: is_gone(world), f"write {nth} was made")
            if fate is not dies:
                await assert_left(world, leaver, cluster)
        if fate is dies:
            async with scheduling(world.connection):
                await assert_left(world, leaver, cluster)


async def is_gone(world):
    return await world.get(ClusterRequest, "one") is None


async def assert_left(world, leaver, cluster):
    await world.gone(ClusterRequest, "one")
    assert not await world.all(AccessRequest)
    if leaver == "first":
        two, there = await world.granted("two")
        assert claimants(there.metadata) == (two.metadata.uid,)
        await world.assert_sound(seats=3)
        return
    if leaver == "waiting":
        assert await world.get(Cluster, cluster.metadata.name) is None, "the request was to wait for it"
    await until_nothing_is_left(world)


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("fate", FATES)
async def test_warm_clusters_are_made_each_once(world, proxy, fate, nth):
    await world.profile()
    witness = Witness()
    async with witness.watching(world.kube):
        async with doomed(proxy.connection):
            rule = fate(proxy, nth)
            await world.purpose("workload", dedicated=True, warm=3)
            await until(lambda: rule.hits, f"write {nth} was made")
            if fate is not dies:
                await until_warm(world, 3)
        async with scheduling(world.connection):
            await until_warm(world, 3)
            await world.request("one", purpose="workload")
            await world.granted("one")
            await until_warm(world, 3)
            assert len(await world.all(Cluster)) == 4
            await world.assert_sound()
    assert witness.most_warm <= 3
    assert not witness.wrongs


async def test_a_cluster_goes_though_its_last_claim_was_torn_off(world):
    """Somebody's patch took the claim while no scheduler was there, and then the request was deleted."""
    await world.profile()
    await world.purpose("workload", dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="workload")
        _, cluster = await world.granted("one")
    await world.patch(Cluster, cluster.metadata.name, {"metadata": {"finalizers": None, "annotations": None}})
    await world.delete(ClusterRequest, "one")
    async with scheduling(world.connection):
        await until_nothing_is_left(world)


async def test_a_name_that_was_taken_unseen_is_not_mistaken_for_a_creation_of_ours(world, proxy):
    """The scheduler has not heard of the cluster that stands where it makes one."""
    await world.profile()
    await world.purpose("workload", dedicated=True)
    name = f"workload-{name_hash(world.namespace, 'one')}"
    async with doomed(proxy.connection):
        proxy.freeze_watches(matching=where(resource="clusters"))
        await world.cluster(name, tenancy="Shared", purposes=["other"])
        await world.request("one", purpose="workload")
        await world.reaches("one", "Pending", reason=Reason.CLUSTER_CONFLICT)
        assert claimants((await world.get(Cluster, name)).metadata) == ()
        await world.delete(Cluster, name)
        proxy.thaw_watches()
        await world.granted("one")
    await world.assert_sound()
