"""Clusters that are kept ready: as many as a purpose says, handed over, replaced, and never taken from anybody."""

from __future__ import annotations

import pytest
from scheduling_kit import HOME, scheduling

from mooring.api.claims import claimants
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, WARM_LABEL
from mooring.api.purposes import Purpose
from mooring.api.requests import ClusterRequest
from mooring.testing.managers import heard, quiet, until

TEAM = "metadata.open-control-plane.io/team"
OWNER = "metadata.open-control-plane.io/owner"


async def warm(world, purpose="mcp"):
    """The clusters that are kept ready now."""
    there = await world.all(Cluster)
    return [one for one in there if one.metadata.labels.get(WARM_LABEL) == purpose and not one.metadata.deleting]


async def kept(world, number, *, purpose="mcp", but=(), **spec):
    """So many of them, once there are; ``but``: none of these any more."""
    unwanted = {one.metadata.uid for one in but}

    async def there():
        found = await warm(world, purpose)
        fits = all(getattr(one.spec, name) == value for one in found for name, value in spec.items())
        others = unwanted.isdisjoint(one.metadata.uid for one in found)
        return (found or [True]) if len(found) == number and fits and others else None

    async def seen():
        return f"{number} are kept ready; there are {[one.metadata.name for one in await warm(world, purpose)]}"

    found = await until(there, seen)
    return found if number else []


@pytest.mark.parametrize("purpose", ["mcp", "workload"])
async def test_they_are_kept_taken_and_refilled(world, purpose):
    await world.profile()
    seats = {"dedicated": True} if purpose == "mcp" else {"dedicated": False, "tenancyCount": 1}
    await world.purpose(purpose, warm=2, **seats)
    async with scheduling(world.connection) as manager:
        ready = await kept(world, 2, purpose=purpose)
        await quiet(manager)
        for one in ready:
            assert one.metadata.namespace == HOME
            assert claimants(one.metadata) == ()
            assert one.metadata.labels[DELETE_WITHOUT_REQUESTS_LABEL] == "true"
            assert one.spec.purposes == (purpose,)
        request = await world.request("one", purpose=purpose, metadata={"labels": {TEAM: "a"}})
        _, cluster = await world.granted("one")
        assert cluster.metadata.uid in {one.metadata.uid for one in ready}
        assert WARM_LABEL not in cluster.metadata.labels
        assert claimants(cluster.metadata) == (request.metadata.uid,)
        assert cluster.metadata.labels.get(TEAM) == ("a" if purpose == "mcp" else None)
        await kept(world, 2, purpose=purpose, but=[cluster])
        await world.assert_sound()
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name, HOME)
        assert len(await kept(world, 2, purpose=purpose)) == 2


async def test_requests_take_more_than_are_ready(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True, warm=2)
    async with scheduling(world.connection) as manager:
        await kept(world, 2)
        for number in range(6):
            await world.request(f"r{number}", purpose="mcp")
        for number in range(6):
            await world.granted(f"r{number}")
        await kept(world, 2)
        await quiet(manager)
        assert len(await world.assert_sound()) == 8


async def test_fewer_and_none(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True, warm=3)
    async with scheduling(world.connection):
        ready = await kept(world, 3)
        await world.set_ready(ready[1].metadata.name, namespace=HOME)
        await world.patch(Purpose, "mcp", {"spec": {"warm": 1}})
        (left,) = await kept(world, 1)
        assert left.metadata.uid in {one.metadata.uid for one in ready}
        await world.request("one", purpose="mcp")
        _, cluster = await world.granted("one")
        await world.patch(Purpose, "mcp", {"spec": {"warm": 0}})
        await kept(world, 0)
        assert not (await world.get(Cluster, cluster.metadata.name, HOME)).metadata.deleting


async def test_a_purpose_that_is_gone_keeps_none(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True, warm=2)
    async with scheduling(world.connection):
        await kept(world, 2)
        await world.request("one", purpose="mcp")
        _, cluster = await world.granted("one")
        await kept(world, 2)
        await world.delete(Purpose, "mcp")
        await kept(world, 0)
        assert not (await world.get(Cluster, cluster.metadata.name, HOME)).metadata.deleting


@pytest.mark.parametrize(
    "change",
    [
        {"template": {"metadata": {"labels": {"example.org/tier": "two"}}}},
        {"template": {"spec": {"profile": "silver"}}},
        {"dedicated": False},
    ],
    ids=["labels", "profile", "tenancy"],
)
async def test_what_is_not_current_any_more_is_replaced_unless_it_is_taken(world, change):
    await world.profile("gold")
    await world.profile("silver")
    await world.purpose("mcp", dedicated=True, warm=2, template={"spec": {"profile": "gold"}})
    async with scheduling(world.connection):
        await kept(world, 2)
        await world.request("one", purpose="mcp")
        _, cluster = await world.granted("one")
        old = await kept(world, 2)
        await world.patch(Purpose, "mcp", {"spec": change})
        new = await kept(world, 2, but=old)
        if "template" in change and "spec" in change["template"]:
            assert {one.spec.profile for one in new} == {"silver"}
        same = await world.get(Cluster, cluster.metadata.name, HOME)
        assert not same.metadata.deleting
        assert same.spec == cluster.spec
        assert claimants(same.metadata) == claimants(cluster.metadata)


async def test_a_profile_that_goes_takes_its_warm_clusters_along(world):
    await world.profile("gold", versions=["1.33.3"])
    await world.purpose("mcp", dedicated=True, warm=1)
    async with scheduling(world.connection):
        old = await kept(world, 1, profile="gold")
        await world.profile("silver", versions=["1.33.3"])
        await world.delete(ClusterProfile, "gold")
        await kept(world, 1, profile="silver", but=old)


async def test_they_come_when_there_is_a_profile_and_room(world):
    await world.purpose("mcp", dedicated=True)
    await world.purpose("ready", dedicated=True, warm=1)
    async with scheduling(world.connection) as manager:
        full = await world.profile(maxClusters=1)
        await kept(world, 1, purpose="ready")
        await world.patch(Purpose, "ready", {"spec": {"warm": 0}})
        await kept(world, 0, purpose="ready")
        await world.request("one", purpose="mcp")
        _, cluster = await world.granted("one")
        changed = await world.patch(Purpose, "ready", {"spec": {"warm": 1}})
        await heard(manager, changed, full)
        assert await warm(world, "ready") == []
        await world.delete(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name)
        await kept(world, 1, purpose="ready")


async def test_marks_are_carried_over_to_a_cluster_of_its_own_only(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)
    await world.purpose("workload", dedicated=False)
    marks = {"labels": {TEAM: "a", "example.org/other": "x"}, "annotations": {OWNER: "me", "example.org/note": "y"}}
    async with scheduling(world.connection) as manager:
        await world.request("alone", purpose="mcp", metadata=marks)
        await world.request("shares", purpose="workload", metadata=marks)
        _, cluster = await world.granted("alone")
        _, shared = await world.granted("shares")
        assert (cluster.metadata.labels[TEAM], cluster.metadata.annotations[OWNER]) == ("a", "me")
        assert "example.org/other" not in cluster.metadata.labels
        assert "example.org/note" not in cluster.metadata.annotations
        for name in ("alone", "shares"):
            await world.patch(ClusterRequest, name, {"metadata": {"labels": {TEAM: "b"}}})
            changed = await world.patch(ClusterRequest, name, {"metadata": {"annotations": {OWNER: "you"}}})

        async def carried():
            there = (await world.get(Cluster, cluster.metadata.name)).metadata
            return (there.labels[TEAM], there.annotations[OWNER]) == ("b", "you")

        await until(carried, "the marks are carried over")
        await heard(manager, changed)
        there = (await world.get(Cluster, shared.metadata.name)).metadata
        assert TEAM not in there.labels
        assert OWNER not in there.annotations
