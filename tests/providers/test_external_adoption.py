"""One cluster backs one Cluster: whoever brings it, however often, and wherever a provider dies."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from external_kit import claim_by_hand, doomed_external, external
from provider_kit import condition, is_ready, reason_of

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube.errors import Conflict
from mooring.providers.external import AdoptedCluster, ExternalConfig
from mooring.providers.external.adoption import Adoptions, Holder, Occupied, claim_name
from mooring.testing.managers import until

FINALIZER = "external.clusters.openmcp.cloud/cluster"
# The configuration's finalizer, the profile, the configuration's status; the cluster's finalizer, the claim, the
# cluster's marks and its status.
MAKING = range(1, 8)
# The cluster's status, the claim, the cluster's finalizer.
ENDING = range(1, 4)


async def settled(dock, *names):
    """One is ready, and the others know why they are not: the name of the one, and the others'."""

    async def are_settled():
        clusters = {name: await dock.get(Cluster, name) for name in names}
        ready = [name for name, one in clusters.items() if is_ready(one)]
        waiting = [name for name, one in clusters.items() if reason_of(one) == "AlreadyAdopted"]
        return (ready[0], waiting) if len(ready) == 1 and len(waiting) == len(names) - 1 else None

    return await until(are_settled, f"one of {names} is ready and the others are not")


async def test_two_kubeconfigs_of_one_cluster_make_one(dock, harbour):
    async with external(dock.connection):
        await dock.config_for("family")
        for name in ("one", "two", "three"):
            await dock.secret(name, await harbour.kubeconfig())
            await dock.member(name, name)
        first, others = await settled(dock, "one", "two", "three")
        assert list(await dock.claims()) == [first]
        for name in others:
            told = condition(await dock.get(Cluster, name)).message
            assert f"backs the Cluster {dock.namespace}/{first} already" in told
        await dock.delete(Cluster, first)
        await dock.gone(Cluster, first)
        second, _ = await settled(dock, *others)
        assert list(await dock.claims()) == [second]


async def test_two_instances_side_by_side(dock, harbour, other_harbour):
    async with external(dock.connection), external(dock.connection, name="elsewhere"):
        for config, provider in (("ours", "external"), ("theirs", "elsewhere")):
            await dock.secret(config, await harbour.kubeconfig())
            await dock.config_for(config, config, provider=provider)
            await dock.exists(ClusterProfile, f"test.{provider}.{config}")
        await dock.cluster("one", profile="test.external.ours")
        await dock.cluster("two", profile="test.elsewhere.theirs")
        first, (second,) = await settled(dock, "one", "two")
        assert list(await dock.claims()) == [first]
        # The second gets a cluster of its own; nothing was claimed for it yet, so that is no exchange.
        await dock.secret({"one": "ours", "two": "theirs"}[second], await other_harbour.kubeconfig())
        await dock.ready(second)
        assert await dock.claims() == {first: await harbour.identity(), second: await other_harbour.identity()}


@pytest.mark.parametrize("nth", MAKING)
async def test_a_provider_that_dies_after_a_write_claims_once(dock, proxy, harbour, nth):
    await dock.secret("theirs", await harbour.kubeconfig())
    async with doomed_external(proxy.connection):
        rule = proxy.stop_after_write(nth, matching=ours)
        await dock.config_for("family")
        await dock.member("one", "theirs")
        await until(lambda: rule.hits, "the write was made")
    async with external(dock.connection):
        await assert_adopted(dock, harbour)


@pytest.mark.parametrize("fate", ["cut_before_write", "cut_after_write"])
async def test_a_claim_whose_answer_is_lost_is_made_once(dock, proxy, harbour, fate):
    await dock.secret("theirs", await harbour.kubeconfig())
    async with doomed_external(proxy.connection):
        rule = getattr(proxy, fate)(matching=is_claim)
        await dock.config_for("family")
        await dock.member("one", "theirs")
        await until(lambda: rule.hits, "the write was made")
        await assert_adopted(dock, harbour)


@pytest.mark.parametrize("nth", ENDING)
async def test_a_provider_that_dies_leaves_no_claim(dock, proxy, harbour, nth):
    await dock.secret("theirs", await harbour.kubeconfig())
    async with external(dock.connection):
        await dock.config_for("family")
        await dock.member("one", "theirs")
        await assert_adopted(dock, harbour)
        await dock.standing("family", "Published", kind=ExternalConfig)
    async with doomed_external(proxy.connection):
        rule = proxy.stop_after_write(nth, matching=ours)
        await dock.delete(Cluster, "one")
        await until(lambda: rule.hits, "the write was made")
    async with external(dock.connection):
        await dock.gone(Cluster, "one")
        assert await dock.claims() == {}


async def assert_adopted(dock, harbour):
    cluster = await dock.ready()
    assert cluster.metadata.finalizers == (FINALIZER,)
    assert await dock.claims() == {"one": await harbour.identity()}


def ours(request):
    return request.group != "events.k8s.io"


def is_claim(request):
    return request.resource == AdoptedCluster.API.plural


@pytest.mark.parametrize("name", ["one", "somebody-else"])
async def test_a_claim_of_a_cluster_that_is_gone_is_taken_over(dock, harbour, name):
    """Of one that is not there any more, or of an earlier one of the same name."""
    identity = await harbour.identity()
    whose = {"namespace": dock.namespace, "name": name, "uid": str(uuid.uuid4())}
    await claim_by_hand(dock, identity=identity, claim=claim_name(identity), **whose)
    await dock.secret("theirs", await harbour.kubeconfig())
    async with external(dock.connection):
        await dock.config_for("family")
        made = await dock.member("one", "theirs")
        await dock.ready()
        claim = await dock.get(AdoptedCluster, claim_name(identity))
        assert claim.spec.cluster_ref.uid == made.metadata.uid
        await dock.delete(Cluster, "one")
        await dock.gone(Cluster, "one")
        assert await dock.claims() == {}


async def test_a_claim_that_somebody_deleted_is_made_again(dock, harbour):
    await dock.secret("theirs", await harbour.kubeconfig())
    async with external(dock.connection):
        await dock.config_for("family")
        await dock.member("one", "theirs")
        await dock.ready()
        claim = claim_name(await harbour.identity())
        await dock.delete(AdoptedCluster, claim)
        await dock.look_now("one")
        await dock.exists(AdoptedCluster, claim)
        await dock.ready()


@pytest.mark.parametrize("stale", [False, True])
async def test_of_many_at_once_one_gets_it(dock, stale):
    identity, number = str(uuid.uuid4()), 8
    if stale:
        whose = {"namespace": dock.namespace, "name": "gone", "uid": str(uuid.uuid4())}
        await claim_by_hand(dock, identity=identity, claim=claim_name(identity), **whose)
    made = [await dock.cluster(f"c{index}", profile="test.nobody.here") for index in range(number)]
    holders = [Holder(namespace=dock.namespace, name=one.metadata.name, uid=one.metadata.uid) for one in made]
    calls = (Adoptions().adopt(dock.kube, holder, identity) for holder in holders)
    answers = await asyncio.gather(*calls, return_exceptions=True)
    (claim,) = await dock.all(AdoptedCluster)
    winners = [holder for holder, answer in zip(holders, answers, strict=True) if answer == claim.metadata.name]
    assert winners == [claim.spec.cluster_ref]
    assert all(isinstance(one, Occupied | Conflict) for one in answers if one != claim.metadata.name)
    # Whoever does not hold it can give nothing back.
    for holder in holders:
        if holder not in winners:
            assert await Adoptions().release(dock.kube, holder.uid)
    assert len(await dock.all(AdoptedCluster)) == 1
    assert await Adoptions().release(dock.kube, winners[0].uid)
    assert await dock.all(AdoptedCluster) == []
