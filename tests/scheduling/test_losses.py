"""What others take away from a request that was granted, and how it comes back."""

from __future__ import annotations

import json

import pytest
from scheduling_kit import condition, scheduling

from mooring.api.claims import claim_on, claims_on
from mooring.api.clusters import Cluster
from mooring.api.marks import REQUEST_FINALIZER, claim_of
from mooring.api.purposes import Purpose
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.testing.managers import heard, quiet, until

SHARED = {"purpose": "workload", "prefix": "team-"}


@pytest.fixture
async def offers(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    await world.purpose("mcp", dedicated=True)


async def sound(world, *names):
    """All are granted, and everything agrees; looked at until it does, because it is being restored."""

    async def agrees():
        try:
            for name in names:
                await world.reaches(name, "Granted")
            await world.assert_sound()
        except (AssertionError, KeyError) as error:
            agrees.why = error
            return False
        return True

    await until(agrees, lambda: f"everything agrees: {agrees.why!r}")


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize("purpose", ["workload", "mcp"])
async def test_a_status_that_was_wiped_is_written_again(world, purpose):
    async with scheduling(world.connection):
        await world.request("one", purpose=purpose)
        request, _ = await world.granted("one")
        wiped = await world.patch(ClusterRequest, "one", {"status": None}, subresource="status")
        assert wiped.status is None
        again, _ = await world.granted("one")
        assert again.status.cluster == request.status.cluster
        assert condition(again, "Ready") is not None
        await world.assert_sound()


@pytest.mark.usefixtures("offers")
async def test_a_grant_that_was_deleted_is_written_again(world):
    async with scheduling(world.connection):
        await world.request("one", **SHARED)
        await world.granted("one")
        grant = await world.get(ClusterRequestGrant, "one")
        await world.delete(ClusterRequestGrant, "one")

        async def there():
            again = await world.get(ClusterRequestGrant, "one")
            return again if again is not None and again.metadata.uid != grant.metadata.uid else None

        again = await until(there, "there is another Grant")
        assert again.spec == grant.spec
        await sound(world, "one")


@pytest.mark.usefixtures("offers")
async def test_all_but_the_claim_is_lost(world):
    async with scheduling(world.connection) as manager:
        await world.request("one", **SHARED)
        await world.granted("one")
        await quiet(manager)
    grant = await world.get(ClusterRequestGrant, "one")
    await world.delete(ClusterRequestGrant, "one")
    await world.patch(ClusterRequest, "one", {"status": None}, subresource="status")
    async with scheduling(world.connection):
        await world.granted("one")
        assert (await world.get(ClusterRequestGrant, "one")).spec == grant.spec
        await sound(world, "one")


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize(
    ("purpose", "names"), [("workload", ("one", "two", "three")), ("mcp", ("one",))], ids=["shared", "dedicated"]
)
async def test_a_cluster_that_was_removed_by_force_is_made_again(world, purpose, names):
    async with scheduling(world.connection):
        for name in names:
            await world.request(name, purpose=purpose, prefix="team-")
        for name in names:
            _, cluster = await world.granted(name)
        before = {name: (await world.get(ClusterRequestGrant, name)).spec for name in names}
        await world.remove_by_force(Cluster, cluster.metadata.name)

        async def held_again():
            there = await world.get(Cluster, cluster.metadata.name)
            if there is None or there.metadata.uid == cluster.metadata.uid:
                return False
            return len(claims_on(there.metadata)) == len(names)

        await until(held_again, "the cluster is back, with all its claims")
        await sound(world, *names)
        assert {name: (await world.get(ClusterRequestGrant, name)).spec for name in names} == before


@pytest.mark.usefixtures("offers")
async def test_a_lost_cluster_is_made_again_once_it_can_be(world):
    """Its purpose is gone as well; and what was granted stays granted."""
    async with scheduling(world.connection) as manager:
        await world.request("one", **SHARED)
        await world.granted("one")
        await quiet(manager)
    await world.delete(Purpose, "workload")
    await world.remove_by_force(Cluster, "workload")
    async with scheduling(world.connection):
        waits = await world.reaches("one", "Pending", reason="PurposeNotFound")
        assert waits.status.cluster.name == "workload"
        assert await world.get(ClusterRequestGrant, "one") is not None
        await world.purpose("workload", dedicated=False)
        await sound(world, "one")


@pytest.mark.usefixtures("offers")
async def test_a_cluster_that_somebody_tore_from_its_request_is_made_again_when_it_is_gone(world):
    async with scheduling(world.connection) as manager:
        await world.request("one", purpose="mcp")
        _, cluster = await world.granted("one")
        await quiet(manager)
    name = cluster.metadata.name
    await world.patch(Cluster, name, {"metadata": {"finalizers": ["example.org/keeper"]}})
    await world.delete(Cluster, name)
    async with scheduling(world.connection):
        waits = await world.reaches("one", "Pending", reason="ClusterTerminating")
        assert name in waits.status.message
        await world.strip(Cluster, name)
        _, again = await world.granted("one")
        assert again.metadata.name == name
        assert again.metadata.uid != cluster.metadata.uid
        await sound(world, "one")


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize("lost", ["all", "finalizer", "annotation", "edited"])
async def test_a_claim_that_was_dropped_is_restored(world, lost):
    async with scheduling(world.connection):
        request = await world.request("one", **SHARED)
        _, cluster = await world.granted("one")
        uid, mark = request.metadata.uid, claim_of(request.metadata.uid)
        claim = claim_on(cluster.metadata, uid)
        edited = json.dumps({"namespace": "elsewhere", "name": "other", "prefix": "mine-"})
        patch = {
            "all": {"finalizers": None, "annotations": None},
            "finalizer": {"finalizers": None},
            "annotation": {"annotations": {mark: None}},
            "edited": {"annotations": {mark: edited}},
        }[lost]
        await world.patch(Cluster, "workload", {"metadata": patch})

        async def restored():
            return claim_on((await world.get(Cluster, "workload")).metadata, uid) == claim

        await until(restored, "the claim is as it was")
        await sound(world, "one")


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize(("seats", "prefix"), [(1, "other-"), (0, "team-x")], ids=["seat", "prefix"])
async def test_both_sides_are_told_when_a_dropped_claim_cannot_be_restored(world, seats, prefix):
    """Seat or prefix are taken while no scheduler looks; the claim comes back when they are free."""
    await world.patch(Purpose, "workload", {"spec": {"tenancyCount": seats}})
    async with scheduling(world.connection) as manager:
        request = await world.request("one", purpose="workload", prefix="team-")
        _, cluster = await world.granted("one")
        await quiet(manager)
    name = cluster.metadata.name
    holder = await world.request("holder", purpose="unknown")
    lost, mark = claim_of(request.metadata.uid), claim_of(holder.metadata.uid)
    words = json.dumps({"namespace": world.namespace, "name": "holder", "prefix": prefix})
    body = {"metadata": {"finalizers": [mark], "annotations": {lost: None, mark: words}}}
    await world.patch(Cluster, name, body)
    async with scheduling(world.connection):
        waits = await world.reaches("one", "Pending", reason="ClaimLost")
        assert name in waits.status.message
        assert condition(waits, "Ready").reason == "ClaimLost"
        event = await world.told(cluster, "ClaimLost")
        assert f"{world.namespace}/one" in event["note"]
        assert event["type"] == "Warning"
        await world.reaches("holder", "Granted")
        await world.delete(ClusterRequest, "holder")
        await world.gone(ClusterRequest, "holder")
        _, again = await world.granted("one")
        assert again.metadata.name == name
        await sound(world, "one")
        assert (await world.get(ClusterRequestGrant, "one")).spec.prefix == "team-"


@pytest.mark.usefixtures("offers")
async def test_the_grant_of_an_earlier_request_of_the_same_name_counts_for_nothing(world):
    api, nobody = ClusterRequest.API, "00000000-0000-0000-0000-000000000000"
    earlier = {"apiVersion": api.api_version, "kind": api.kind, "name": "one", "uid": nobody}
    await world.request("keeper", **SHARED)
    async with scheduling(world.connection) as manager:
        await world.granted("keeper")
        await quiet(manager)
    request = await world.request("one", purpose="mcp")
    await world.create(
        ClusterRequestGrant,
        "one",
        metadata={"ownerReferences": [earlier]},
        spec={"clusterRef": {"name": "workload", "namespace": world.namespace}, "prefix": "old-"},
    )
    async with scheduling(world.connection):
        _, cluster = await world.granted("one")
        assert str(cluster.spec.tenancy) == "Exclusive"
        grant = await world.get(ClusterRequestGrant, "one")
        assert grant.metadata.owner_references[0].uid == request.metadata.uid
        assert grant.spec.cluster_ref.name == cluster.metadata.name
        await sound(world, "one", "keeper")


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize("running", [True, False], ids=["seen", "found"])
async def test_of_two_claims_the_one_that_was_granted_stays(world, running):
    other = await world.cluster("a-first")  # by its age and name it would come first
    async with scheduling(world.connection) as manager:
        request = await world.request("one", purpose="mcp")
        await world.granted("one")
        await quiet(manager)
        mark = claim_of(request.metadata.uid)
        if running:
            await world.patch(Cluster, other.metadata.name, {"metadata": {"finalizers": [mark]}})
            await until(lambda: _is_free(world, other), "the second claim is given up")
    if not running:
        await world.patch(Cluster, other.metadata.name, {"metadata": {"finalizers": [mark]}})
        async with scheduling(world.connection):
            await until(lambda: _is_free(world, other), "the second claim is given up")
    await sound(world, "one")


@pytest.mark.usefixtures("offers")
async def test_the_finalizer_of_a_granted_request_comes_back(world):
    async with scheduling(world.connection) as manager:
        await world.request("one", purpose="mcp")
        await world.granted("one")
        await heard(manager, await world.get(ClusterRequest, "one"))
        await world.strip(ClusterRequest, "one")

        async def held():
            return REQUEST_FINALIZER in (await world.get(ClusterRequest, "one")).metadata.finalizers

        await until(held, "the request has its finalizer again")
        await sound(world, "one")


async def _is_free(world, cluster):
    there = await world.get(Cluster, cluster.metadata.name)
    return there is not None and not claims_on(there.metadata)
