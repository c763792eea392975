"""Requests are resolved, labelled and handed to their provider: with as few writes as can be, and none when idle."""

from __future__ import annotations

import pytest
from access_kit import claim, preparing, refusal, writes

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import OPERATION_ANNOTATION, PROFILE_LABEL, PROVIDER_LABEL
from mooring.api.requests import ClusterRequest
from mooring.testing.managers import heard, until


async def test_one_write_prepares_a_request_for_a_provider_of_our_sdk(world, proxy):
    await world.cluster()
    await world.access()
    async with preparing(proxy.connection) as manager:
        request = await world.prepared()
        await heard(manager, request)
    assert writes(proxy) == ["patch accessrequests"]
    assert request.spec.cluster_ref.namespace == world.namespace
    assert request.status is None


async def test_upstreams_providers_are_told_in_a_second_write(world, proxy):
    await world.cluster(profile=world.iron)
    await world.access()
    async with preparing(proxy.connection) as manager:
        await world.prepared(profile=world.iron)
        request = await world.stands("Pending", "Prepared")
        await heard(manager, request)
    assert writes(proxy) == ["patch accessrequests", "patch accessrequests status"]
    assert refusal(request) is None, "they tell by the phase alone, so nobody would take it back"


@pytest.mark.parametrize("by", ["grant", "status"])
async def test_a_request_leads_to_its_cluster(world, proxy, by):
    request = await world.request()
    cluster = await world.cluster(claims=[claim(request)])
    if by == "grant":
        await world.grant(request, cluster)
    else:
        await world.answer("team", "Granted", cluster={"name": "home", "namespace": world.namespace})
    await world.access(requestRef={"name": "team"})
    async with preparing(proxy.connection) as manager:
        access = await world.prepared()
        await heard(manager, access)
    assert writes(proxy) == ["patch accessrequests"]
    assert access.spec.request_ref.name == "team"


async def test_a_request_is_followed_until_it_has_a_cluster(world):
    async with preparing(world.connection):
        await world.access(requestRef={"name": "team"})
        there = await world.stands("Pending", "RequestMissing")
        assert "team" in refusal(there).message
        request = await world.request()
        await world.stands("Pending", "RequestPending")
        await world.answer("team", "Denied", reason="NoFittingProfile", message="Nothing fits.")
        there = await world.stands("Pending", "RequestDenied")
        assert "Nothing fits." in there.status.message
        cluster = await world.cluster(claims=[claim(request)])
        await world.grant(request, cluster)
        await world.prepared()


async def test_missing_clusters_and_profiles_are_waited_for(world):
    async with preparing(world.connection):
        await world.access()
        await world.stands("Pending", "ClusterMissing")
        await world.cluster(profile=f"{world.gold}-late")
        await world.stands("Pending", "ProfileMissing")
        await world.profile(f"{world.gold}-late")
        await world.prepared(profile=f"{world.gold}-late")


async def test_the_cluster_counts_over_the_request(world):
    request = await world.request()
    other = await world.cluster("other", claims=[claim(request)])
    await world.grant(request, other)
    await world.cluster()
    await world.access(clusterRef={"name": "home"}, requestRef={"name": "team"})
    async with preparing(world.connection):
        await world.prepared()


async def test_a_grant_of_an_earlier_request_of_the_name_leads_nowhere(world):
    earlier = await world.request()
    await world.grant(earlier, await world.cluster())
    await world.delete(ClusterRequest, "team")
    await world.request()
    await world.access(requestRef={"name": "team"})
    async with preparing(world.connection):
        await world.stands("Pending", "RequestPending")


async def test_nothing_is_written_when_nothing_changes(world, proxy):
    await world.cluster()
    await world.cluster("iron", profile=world.iron)
    await world.access("ours")
    await world.patch(AccessRequest, "ours", {"metadata": {"annotations": {"a": "b"}}})
    await world.access("theirs", clusterRef={"name": "iron"})
    await world.access("wrong", labels={PROVIDER_LABEL: "somebody"})
    await world.access("early", requestRef={"name": "nobody"})
    async with preparing(world.connection):
        await world.until(lambda one: PROFILE_LABEL in one.metadata.labels, "is prepared", "ours")
        await world.stands("Pending", "Prepared", "theirs")
        await world.stands("Denied", "WrongLabel", "wrong")
        await world.stands("Pending", "RequestMissing", "early")
    await world.granted("theirs")
    names = ("ours", "theirs", "wrong", "early")
    before = [await world.get(AccessRequest, name) for name in names]
    async with preparing(proxy.connection) as manager:
        await world.patch(Cluster, "home", {"metadata": {"labels": {"seen": "again"}}})
        await heard(manager, *before, await world.get(Cluster, "home"))
        assert [await world.get(AccessRequest, name) for name in names] == before
    assert writes(proxy) == []


async def test_a_change_of_the_spec_is_told_to_upstreams_providers_again(world):
    await world.cluster(profile=world.iron)
    await world.access()
    async with preparing(world.connection):
        await world.stands("Pending", "Prepared")
        await world.granted()
        changed = await world.patch(AccessRequest, "entry", {"spec": {"token": {"lifetime": "2h"}}})
        there = await world.stands("Pending", "Prepared")
        assert there.status.observed_generation == changed.metadata.generation
        assert there.status.secret_ref.name == "entry.kubeconfig"


async def test_a_provider_of_our_sdk_answers_changes_by_itself(world, proxy):
    await world.cluster()
    await world.access()
    async with preparing(proxy.connection) as manager:
        await world.prepared()
        granted = await world.granted()
        changed = await world.patch(AccessRequest, "entry", {"spec": {"token": {"lifetime": "2h"}}})
        await heard(manager, changed)
        there = await world.get(AccessRequest)
    assert writes(proxy) == ["patch accessrequests"]
    assert there.status == granted.status


async def test_upstreams_denials_stay(world, proxy):
    await world.cluster(profile=world.iron)
    await world.access()
    async with preparing(world.connection):
        await world.stands("Pending", "Prepared")
    denied = await world.granted(phase="Denied")
    async with preparing(proxy.connection) as manager:
        await heard(manager, denied)
    assert (await world.get(AccessRequest)).status.phase == "Denied"
    assert writes(proxy) == []


async def test_who_is_to_be_ignored_is_ignored(world):
    await world.cluster()
    await world.access(metadata={"annotations": {OPERATION_ANNOTATION: "ignore"}})
    async with preparing(world.connection) as manager:
        await world.access("other")
        await world.prepared("other")
        await heard(manager, await world.get(AccessRequest, "other"))
        assert not (await world.get(AccessRequest)).metadata.labels
        await world.patch(AccessRequest, "entry", {"metadata": {"annotations": {OPERATION_ANNOTATION: None}}})
        await world.prepared()


async def test_the_word_to_look_now_is_taken_away(world):
    await world.cluster()
    await world.access(metadata={"annotations": {OPERATION_ANNOTATION: "reconcile"}})
    async with preparing(world.connection):
        await world.prepared()
        await world.until(lambda one: OPERATION_ANNOTATION not in one.metadata.annotations, "is noticed")


async def test_what_is_in_the_cache_is_no_proof_of_absence(world, proxy):
    """The preparer has not heard of the cluster yet, and finds it all the same, without a word in between."""
    async with preparing(proxy.connection) as manager:
        proxy.freeze_watches(matching=lambda one: one.resource in {"clusters", "clusterprofiles"})
        profile = await world.profile(f"{world.gold}-new")
        await world.cluster(profile=profile.metadata.name)
        await world.access()
        await world.prepared(profile=profile.metadata.name)
        proxy.thaw_watches()
        await heard(manager, await world.get(AccessRequest), await world.get(ClusterProfile, profile.metadata.name))
    assert writes(proxy) == ["patch accessrequests"]


async def test_a_name_that_cannot_be_one_is_said_and_stops_nobody(world):
    await world.cluster()
    async with preparing(world.connection):
        await world.access("odd", clusterRef={"name": "../secrets"})
        await world.stands("Pending", "ClusterMissing", "odd")
        await world.access()
        await world.prepared()


async def test_a_profile_whose_name_is_no_label_is_said(world):
    long = f"{world.gold}.{'x' * 80}"
    await world.profile(long)
    await world.cluster(profile=long)
    await world.access()
    async with preparing(world.connection):
        there = await world.stands("Denied", "NotAccepted")
        assert "label" in there.status.message


async def test_a_wiped_status_is_told_again(world):
    await world.cluster(profile=world.iron)
    await world.access()
    async with preparing(world.connection) as manager:
        await heard(manager, await world.stands("Pending", "Prepared"))
        await world.patch(AccessRequest, "entry", {"status": None}, subresource="status")

        async def told():
            return (await world.get(AccessRequest)).status is not None

        await until(told, "the status is back")
        await world.stands("Pending", "Prepared")
