"""Claims without a request: given up on evidence, and only then."""

from __future__ import annotations

import json

import pytest
from machine_kit import proxy_before
from scheduling_kit import scheduling

from mooring.api.claims import claimants
from mooring.api.clusters import Cluster
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, claim_of
from mooring.api.requests import ClusterRequest
from mooring.testing.fault_rules import where
from mooring.testing.managers import heard, until

NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
async def offers(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    await world.purpose("mcp", dedicated=True)


async def is_free(world, name, *uids):
    """Whether just these hold the cluster."""
    there = await world.get(Cluster, name)
    return there is not None and claimants(there.metadata) == uids


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize("running", [True, False], ids=["seen", "found"])
async def test_the_claim_of_a_request_that_was_removed_by_force_is_given_up(world, running):
    async with scheduling(world.connection):
        one, two = [await world.request(name, purpose="workload") for name in ("one", "two")]
        _, cluster = await world.granted("one")
        await world.granted("two")
        if running:
            await world.remove_by_force(ClusterRequest, "one")
            await until(lambda: is_free(world, cluster.metadata.name, two.metadata.uid), "the claim of one is gone")
    if not running:
        await world.remove_by_force(ClusterRequest, "one")
        async with scheduling(world.connection):
            await until(lambda: is_free(world, cluster.metadata.name, two.metadata.uid), "the claim of one is gone")
    there = await world.get(Cluster, cluster.metadata.name)
    assert claim_of(one.metadata.uid) not in there.metadata.annotations
    await world.assert_sound()


@pytest.mark.usefixtures("offers")
async def test_a_cluster_whose_last_claim_was_stale_goes(world):
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        _, cluster = await world.granted("one")
        await world.remove_by_force(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name)


@pytest.mark.usefixtures("offers")
async def test_a_request_that_was_made_anew_does_not_inherit_the_claim(world):
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        await world.granted("one")
    await world.remove_by_force(ClusterRequest, "one")
    new = await world.request("one", purpose="workload")
    async with scheduling(world.connection):
        _, cluster = await world.granted("one")
        assert claimants(cluster.metadata) == (new.metadata.uid,)
        assert cluster.metadata.name == "workload"

        async def alone():
            return len(await world.all(Cluster)) == 1

        await until(alone, "the old cluster is gone")
        await world.assert_sound()


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize("words", [None, "{}", "no json", {"namespace": "nowhere", "name": "nobody"}])
async def test_a_claim_of_nobody_is_given_up_however_it_is_signed(world, words):
    mark = claim_of(NOBODY)
    signed = json.dumps(words) if isinstance(words, dict) else words
    marks = {"finalizers": [mark], "annotations": {mark: signed} if signed else {}}
    await world.cluster("kept", metadata=marks)
    await world.cluster("goes", metadata={**marks, "labels": {DELETE_WITHOUT_REQUESTS_LABEL: "true"}})
    async with scheduling(world.connection):
        await until(lambda: is_free(world, "kept"), "the claim is given up")
        await world.gone(Cluster, "goes")
    assert not (await world.get(Cluster, "kept")).metadata.deleting


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize("words", [None, {"namespace": "nowhere", "name": "nobody", "prefix": "abc-"}])
async def test_a_claim_is_never_given_up_for_a_request_that_lives(world, words):
    """However wrong its annotation is: it is known by its uid. Even if the request is left alone at present."""
    async with scheduling(world.connection) as manager:
        request = await world.request("one", purpose="workload", prefix="team-")
        _, cluster = await world.granted("one")
        await heard(manager, cluster)
    mark = claim_of(request.metadata.uid)
    ignored = {"metadata": {"annotations": {"openmcp.cloud/operation": "ignore"}}}
    await world.patch(ClusterRequest, "one", ignored)
    changed = {"metadata": {"annotations": {mark: json.dumps(words) if words else None}}}
    await world.patch(Cluster, cluster.metadata.name, changed)
    async with scheduling(world.connection) as manager:
        await heard(manager, await world.get(Cluster, cluster.metadata.name))
    assert await is_free(world, cluster.metadata.name, request.metadata.uid)


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize("signed", [True, False])
async def test_that_the_cache_does_not_know_a_request_is_no_evidence(world, plane, signed):
    """The claim is seen before its request is. The server is asked, and knows better."""
    requests = where(resource="clusterrequests")
    async with proxy_before(plane) as proxy, scheduling(proxy.connection) as manager:
        proxy.freeze_watches(matching=requests)
        request = await world.request("one", purpose="workload")
        mark = claim_of(request.metadata.uid)
        words = json.dumps({"namespace": world.namespace, "name": "one", "prefix": "team-"})
        marks = {"finalizers": [mark], "annotations": {mark: words} if signed else {}}
        cluster = await world.cluster("workload", metadata=marks)
        asked = where(verb="get" if signed else "list", resource="clusterrequests", status=200)
        await proxy.wait_for(asked, count=1 if signed else 2)  # the first list was that of its start
        await heard(manager, cluster)
        assert await is_free(world, "workload", request.metadata.uid)
        proxy.thaw_watches()
        await world.granted("one")
        await world.assert_sound()
