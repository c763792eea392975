"""Who may not enter is told why, gets nothing, and is judged again when that may have changed."""

from __future__ import annotations

import pytest
from access_kit import RULE, claim, preparing, refusal, unique, writes

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.conditions import is_true
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL, claim_of
from mooring.testing.builders import NAMESPACES, namespace_object
from mooring.testing.managers import heard


@pytest.fixture
async def elsewhere(world):
    """Another namespace."""
    name = unique("else")
    await world.kube.create(NAMESPACES, namespace_object(name))
    yield name
    await world.kube.delete(NAMESPACES, name)


async def policy(world, profile, **rules):
    return await world.patch(ClusterProfile, profile, {"spec": {"access": rules or None}})


async def test_a_cluster_of_another_namespace_is_not_entered(world, elsewhere):
    await world.cluster(namespace=elsewhere)
    await world.access(clusterRef={"name": "home", "namespace": elsewhere})
    async with preparing(world.connection) as manager:
        there = await world.stands("Denied", "ForeignNamespace")
        assert refusal(there).message == there.status.message
        assert is_true(there.status.conditions, "Stalled")
        assert "policy" in there.status.message, "what to do about it"
        await heard(manager, there)
        assert not (await world.get(AccessRequest)).metadata.labels
        await policy(world, world.gold, policy="All")
        await world.prepared()
        await world.until(lambda one: one.status.phase == "Pending", "is no longer denied")
        await policy(world, world.gold)
        await world.stands("Denied", "ForeignNamespace")


async def test_a_request_that_holds_the_cluster_opens_it_across_namespaces(world, elsewhere):
    request = await world.request()
    cluster = await world.cluster(namespace=elsewhere, claims=[claim(request)])
    await world.grant(request, cluster)
    await world.access("by-request", requestRef={"name": "team"})
    await world.access("by-both", requestRef={"name": "team"}, clusterRef={"name": "home", "namespace": elsewhere})
    await world.cluster("other", namespace=elsewhere)
    await world.access("beside", requestRef={"name": "team"}, clusterRef={"name": "other", "namespace": elsewhere})
    async with preparing(world.connection):
        await world.prepared("by-request")
        await world.prepared("by-both")
        await world.stands("Denied", "RequestHasNoClaim", "beside")


async def test_a_claim_that_is_made_or_given_up_is_judged_again(world, elsewhere):
    request = await world.request()
    cluster = await world.cluster(namespace=elsewhere)
    await world.access(requestRef={"name": "team"}, clusterRef={"name": "home", "namespace": elsewhere})
    mark = claim_of(request.metadata.uid)
    words = f'{{"namespace": "{world.namespace}", "name": "team"}}'
    async with preparing(world.connection):
        await world.stands("Denied", "RequestHasNoClaim")
        await world.patch(Cluster, "home", {"metadata": {"annotations": {mark: words}, "finalizers": [mark]}},
                          namespace=elsewhere)  # fmt: skip
        await world.prepared()
        await world.granted()
        await world.patch(Cluster, "home", {"metadata": {"annotations": {mark: None}, "finalizers": None}},
                          namespace=elsewhere)  # fmt: skip
        there = await world.stands("Denied", "RequestHasNoClaim")
        assert there.status.secret_ref is None
    assert cluster.metadata.namespace == elsewhere


async def test_within_a_prefix(world):
    await policy(world, world.gold, boundToPrefix=True)
    request = await world.request()
    cluster = await world.cluster(claims=[claim(request, prefix="abc-")])
    await world.grant(request, cluster)
    inside, outside = ({"permissions": [{"namespace": one, "rules": [RULE]}]} for one in ("abc-x", "kube-system"))
    await world.access("inside", requestRef={"name": "team"}, token=inside)
    await world.access("outside", requestRef={"name": "team"}, token=outside)
    async with preparing(world.connection):
        await world.prepared("inside")
        there = await world.stands("Denied", "OutsideOfPrefix", "outside")
        assert "spec.token.permissions[0].namespace" in there.status.message
        await world.patch(AccessRequest, "outside", {"spec": {"token": inside}})
        await world.prepared("outside")


# -- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [(), (PROVIDER_LABEL,), (PROFILE_LABEL,), (PROVIDER_LABEL, PROFILE_LABEL)])
async def test_right_labels_are_kept_and_completed(world, there):
    await world.cluster()
    right = world.labels()
    await world.access(labels={name: right[name] for name in there} | {"mine": "own"})
    async with preparing(world.connection):
        request = await world.prepared()
    assert dict(request.metadata.labels) == right | {"mine": "own"}


@pytest.mark.parametrize("wrong", [PROVIDER_LABEL, PROFILE_LABEL])
@pytest.mark.parametrize("alone", [True, False])
async def test_a_wrong_label_is_never_overwritten_and_gets_nothing(world, wrong, alone):
    await world.cluster(profile=world.iron)
    given = {wrong: "somebody"} if alone else world.labels(world.iron) | {wrong: "somebody"}
    await world.access(labels=given)
    async with preparing(world.connection) as manager:
        there = await world.stands("Denied", "WrongLabel")
        for word in (wrong, "somebody", world.labels(world.iron)[wrong]):
            assert word in refusal(there).message
        await heard(manager, there)
        there = await world.get(AccessRequest)
        assert dict(there.metadata.labels) == given
        assert there.spec.cluster_ref.namespace == ""
        await world.patch(AccessRequest, "entry", {"metadata": {"labels": {wrong: None}}})
        await world.prepared(profile=world.iron)
        await world.stands("Pending", "Prepared")


async def test_a_label_that_is_changed_afterwards_closes_the_door(world):
    await world.cluster()
    await world.access()
    async with preparing(world.connection):
        await world.prepared()
        await world.granted()
        await world.patch(AccessRequest, "entry", {"metadata": {"labels": {PROVIDER_LABEL: "somebody"}}})
        await world.stands("Denied", "WrongLabel")
        await world.patch(AccessRequest, "entry", {"metadata": {"labels": {PROVIDER_LABEL: None}}})
        await world.prepared()
        await world.until(lambda one: one.status.phase == "Pending", "is no longer denied")


async def test_upstreams_providers_do_not_begin_before_the_request_is_judged(world, elsewhere):
    """Labelled by its author, for a cluster that is not there yet: with Pending, its provider would begin."""
    await world.access(labels=world.labels(world.iron), clusterRef={"name": "home", "namespace": elsewhere})
    async with preparing(world.connection):
        await world.stands("Denied", "ClusterMissing")
        await world.cluster(namespace=elsewhere, profile=world.iron)
        await world.stands("Denied", "ForeignNamespace")


async def test_a_refusal_that_is_written_over_is_said_again(world, elsewhere):
    """A provider that has not heard of the policy yet may still grant."""
    await world.cluster(namespace=elsewhere)
    await world.access(clusterRef={"name": "home", "namespace": elsewhere})
    async with preparing(world.connection) as manager:
        await heard(manager, await world.stands("Denied", "ForeignNamespace"))
        await world.granted()
        await world.stands("Denied", "ForeignNamespace")


async def test_a_request_without_a_spec_is_answered(world, proxy):
    await world.create(AccessRequest, "entry")
    async with preparing(proxy.connection) as manager:
        there = await world.stands("Denied", "NoReference")
        await heard(manager, there)
    assert writes(proxy) == ["patch accessrequests status"]
