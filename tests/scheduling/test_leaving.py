"""Requests that are deleted: what goes with them, in which order, and what they wait for."""

from __future__ import annotations

import pytest
from scheduling_kit import scheduling

from mooring.api.access import AccessRequest
from mooring.api.claims import claims_on
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, GRANT_FINALIZER, OPERATION_ANNOTATION
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.testing.builders import NAMESPACES, namespace_object
from mooring.testing.managers import heard, quiet, until

KEEPER = "example.org/keeper"


@pytest.fixture
async def offers(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    await world.purpose("mcp", dedicated=True)


async def keep(world, cluster):
    """Play a provider that needs its time to take the cluster down."""
    there = await world.get(Cluster, cluster.metadata.name)
    body = {"finalizers": [*there.metadata.finalizers, KEEPER], "resourceVersion": there.metadata.resource_version}
    await world.patch(Cluster, cluster.metadata.name, {"metadata": body})


async def ending(world, cluster):
    there = await world.get(Cluster, cluster.metadata.name)
    return there is not None and there.metadata.deleting and not claims_on(there.metadata)


@pytest.mark.usefixtures("offers")
async def test_the_last_one_out_takes_the_cluster_along(world):
    async with scheduling(world.connection) as manager:
        for name in ("one", "two"):
            await world.request(name, purpose="workload")
        _, cluster = await world.granted("one")
        await world.granted("two")
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        await quiet(manager)
        there = await world.get(Cluster, cluster.metadata.name)
        assert not there.metadata.deleting
        assert [claim.name for claim in claims_on(there.metadata)] == ["two"]
        await world.delete(ClusterRequest, "two")
        await world.gone(ClusterRequest, "two")
        await world.gone(Cluster, cluster.metadata.name)


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize("label", ["false", None])
async def test_a_cluster_that_is_to_stay_stays(world, label):
    async with scheduling(world.connection) as manager:
        await world.request("one", purpose="mcp", waitForClusterDeletion=True)
        _, cluster = await world.granted("one")
        body = {"metadata": {"labels": {DELETE_WITHOUT_REQUESTS_LABEL: label}}}
        await heard(manager, await world.patch(Cluster, cluster.metadata.name, body))
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        there = await world.get(Cluster, cluster.metadata.name)
        assert not there.metadata.deleting
        assert claims_on(there.metadata) == ()
        assert not any(mark.startswith("request.") for mark in there.metadata.annotations)


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize(
    ("purpose", "spec", "waits"),
    [
        ("mcp", {}, True),
        ("mcp", {"waitForClusterDeletion": True}, True),
        ("mcp", {"waitForClusterDeletion": False}, False),
        ("workload", {}, False),
        ("workload", {"waitForClusterDeletion": True}, True),
        ("workload", {"waitForClusterDeletion": False}, False),
    ],
)
async def test_a_request_waits_for_the_end_of_its_cluster_if_it_is_to(world, purpose, spec, waits):
    async with scheduling(world.connection):
        await world.request("one", purpose=purpose, **spec)
        _, cluster = await world.granted("one")
        await keep(world, cluster)
        await world.delete(ClusterRequest, "one")
        if waits:
            request = await world.reaches("one", "Granted", reason="WaitingForClusterDeletion")
            assert cluster.metadata.name in request.status.message
            assert await ending(world, cluster)
            await world.strip(Cluster, cluster.metadata.name)
            await world.gone(Cluster, cluster.metadata.name)
            await world.gone(ClusterRequest, "one")
        else:
            await world.gone(ClusterRequest, "one")
            assert await ending(world, cluster)


@pytest.mark.usefixtures("offers")
async def test_the_end_of_the_cluster_is_not_missed_when_the_status_was_lost(world):
    """Only the Grant tells which cluster it was."""
    async with scheduling(world.connection) as manager:
        await world.request("one", purpose="mcp")
        _, cluster = await world.granted("one")
        await keep(world, cluster)
        await quiet(manager)
    await world.patch(ClusterRequest, "one", {"status": None}, subresource="status")
    await world.delete(ClusterRequest, "one")
    async with scheduling(world.connection):
        await world.reaches("one", "Pending", reason="WaitingForClusterDeletion")
        await world.strip(Cluster, cluster.metadata.name)
        await world.gone(ClusterRequest, "one")


@pytest.mark.usefixtures("offers")
async def test_access_goes_first_also_where_the_cluster_lives_on(world):
    async with scheduling(world.connection) as manager:
        for name in ("one", "other"):
            await world.request(name, purpose="workload")
            await world.granted(name)
        _, cluster = await world.granted("one")
        refs = {
            "quick": {"name": "one"},
            "slow": {"name": "one", "namespace": world.namespace},
            "foreign": {"name": "other"},
        }
        for name, ref in refs.items():
            metadata = {"finalizers": [KEEPER]} if name == "slow" else {}
            made = await world.create(AccessRequest, name, metadata=metadata, spec={"requestRef": ref, "token": {}})
            await heard(manager, made)
        await world.delete(ClusterRequest, "one")
        request = await world.reaches("one", "Granted", reason="WaitingForAccessRequestDeletion")
        assert "slow" in request.status.message
        await world.gone(AccessRequest, "quick")
        assert (await world.get(AccessRequest, "slow")).metadata.deleting
        await quiet(manager)
        held = [claim.name for claim in claims_on((await world.get(Cluster, cluster.metadata.name)).metadata)]
        assert held == ["one", "other"]  # until the access is revoked
        await world.strip(AccessRequest, "slow")
        await world.gone(ClusterRequest, "one")
        there = await world.get(Cluster, cluster.metadata.name)
        assert [claim.name for claim in claims_on(there.metadata)] == ["other"]
        assert not (await world.get(AccessRequest, "foreign")).metadata.deleting
        assert not there.metadata.deleting


@pytest.mark.usefixtures("offers")
async def test_strangers_keep_no_request(world):
    """Anybody may create access requests that name it, with whatever finalizers; only an open door is waited for."""
    there = f"{world.namespace}-b"
    await world.kube.create(NAMESPACES, namespace_object(there))

    async def ask(name, request, **metadata):
        _, cluster = await world.granted(request)
        place = {"name": cluster.metadata.name, "namespace": cluster.metadata.namespace}
        spec = {"requestRef": {"name": request, "namespace": world.namespace}, "clusterRef": place, "token": {}}
        return await world.create(AccessRequest, name, namespace=there, metadata=metadata, spec=spec)

    async with scheduling(world.connection) as manager:
        await world.request("one", purpose="workload")
        await heard(
            manager,
            await ask("stranger", "one", finalizers=[KEEPER]),
            await ask("forged", "one", finalizers=[KEEPER, GRANT_FINALIZER]),
        )
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        # Where everybody may enter, a door of somebody else's may be open.
        (profile,) = await world.all(ClusterProfile)
        everybody = {"spec": {"access": {"policy": "All"}}}
        await heard(manager, await world.patch(ClusterProfile, profile.metadata.name, everybody))
        await world.request("two", purpose="workload")
        await heard(
            manager,
            await ask("guest", "two", finalizers=[KEEPER, GRANT_FINALIZER]),
            await ask("ignored", "two", finalizers=[GRANT_FINALIZER], annotations={OPERATION_ANNOTATION: "ignore"}),
        )
        await world.delete(ClusterRequest, "two")
        waiting = await world.reaches("two", "Granted", reason="WaitingForAccessRequestDeletion")
        assert f"{there}/guest are" in waiting.status.message
        await world.patch(AccessRequest, "guest", {"metadata": {"finalizers": [KEEPER]}}, namespace=there)
        await world.gone(ClusterRequest, "two")


@pytest.mark.usefixtures("offers")
async def test_a_request_that_has_nothing_goes_at_once(world):
    async with scheduling(world.connection):
        await world.request("waits", purpose="unknown")
        await world.request("denied", purpose="mcp", traits=[{"trait": "none/has/it"}])
        await world.reaches("waits", "Pending")
        await world.reaches("denied", "Denied")
        for name in ("waits", "denied"):
            await world.delete(ClusterRequest, name)
            await world.gone(ClusterRequest, name)


@pytest.mark.usefixtures("offers")
async def test_a_cluster_is_not_deleted_under_its_requests(world):
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp", waitForClusterDeletion=True)
        _, cluster = await world.granted("one")
        await world.set_ready(cluster.metadata.name)
        await world.delete(Cluster, cluster.metadata.name)

        async def told():
            request = await world.get(ClusterRequest, "one")
            ready = next(one for one in request.status.conditions if one.type == "Ready")
            return ready.reason == "ClusterTerminating"

        await until(told, "the request says that its cluster is being deleted")
        assert len(claims_on((await world.get(Cluster, cluster.metadata.name)).metadata)) == 1
        assert await world.get(ClusterRequestGrant, "one") is not None
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name)


@pytest.mark.usefixtures("offers")
async def test_a_new_request_does_not_join_a_cluster_that_is_ending(world):
    async with scheduling(world.connection):
        await world.request("one", purpose="workload")
        _, cluster = await world.granted("one")
        await keep(world, cluster)
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        await world.request("two", purpose="workload")
        await world.reaches("two", "Pending", reason="ClusterTerminating")
        await world.strip(Cluster, cluster.metadata.name)
        _, again = await world.granted("two")
        assert again.metadata.uid != cluster.metadata.uid
        await world.assert_sound()
