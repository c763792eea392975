"""Requests that cannot be answered yet, and what ends their waiting: the change itself, not a timer.

Nothing looks at a request again by itself, except where nothing can be watched. So a wake-up that is lost is a test
that waits in vain.
"""

from __future__ import annotations

import datetime
import uuid

import pytest
from scheduling_kit import condition, scheduling

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import RANDOMIZE_NAME_LABEL
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest
from mooring.testing.builders import NAMESPACES, namespace_object
from mooring.testing.clock import SimulatedClock
from mooring.testing.managers import heard, quiet, until

KEEPER = "example.org/keeper"


async def test_an_unknown_purpose_is_waited_for(world):
    await world.profile()
    await world.purpose("other")
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        waits = await world.reaches("one", "Pending", reason="PurposeNotFound")
        assert "mcp" in waits.status.message
        assert "other" in waits.status.message
        assert condition(waits, "Stalled") is None
        assert condition(waits, "Ready").reason == "PurposeNotFound"
        await world.purpose("mcp", dedicated=True)
        await world.granted("one")


async def test_profiles_are_waited_for(world):
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        await world.reaches("one", "Pending", reason="NoProfilesYet")
        await world.profile()
        await world.granted("one")


async def test_nobody_is_denied_while_a_provider_has_not_published_its_profiles(world):
    await world.profile(provider="loud")
    await world.purpose("mcp", dedicated=True)
    for name in ("loud", "silent"):
        await world.create(ClusterProvider, name, spec={"image": "example.org/provider:1"})
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp", traits=[{"trait": "rare"}])
        waits = await world.reaches("one", "Pending", reason="NoProfilesYet")
        assert "silent" in waits.status.message
        await world.delete(ClusterProvider, "silent")
        await world.reaches("one", "Denied", reason="NoFittingProfile")
        await world.profile("late", provider="loud", traits=["rare"])
        request, cluster = await world.granted("one")
        assert cluster.spec.profile == "late"
        assert condition(request, "Stalled") is None


async def test_a_denied_request_is_planned_again_when_profiles_or_equivalences_change(world):
    await world.profile(traits=["gpu"], versions=["1.32.0"])
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("trait", purpose="mcp", traits=[{"trait": "accelerator"}])
        await world.request("version", purpose="mcp", kubernetes={"version": "1.33"})
        await world.reaches("trait", "Denied", reason="NoFittingProfile")
        await world.reaches("version", "Denied", reason="NoFittingProfile")
        await world.create(TraitEquivalence, "gpus", spec={"traits": ["gpu", "accelerator"]})
        await world.granted("trait")
        versions = {"spec": {"supportedVersions": [{"version": "1.32.0"}, {"version": "1.33.9"}]}}
        await world.patch(ClusterProfile, "gold", versions)
        _, cluster = await world.granted("version")
        assert cluster.spec.kubernetes.version == "1.33.9"


async def test_capacity_is_waited_for_until_a_cluster_is_given_back(world):
    await world.profile(maxClusters=1)
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        await world.granted("one")
        await world.request("two", purpose="mcp")
        await world.request("three", purpose="mcp")
        waits = await world.reaches("two", "Pending", reason="NoCapacity")
        assert "gold (1 of 1)" in waits.status.message
        await world.reaches("three", "Pending", reason="NoCapacity")
        await world.delete(ClusterRequest, "one")
        await until(lambda: _granted(world, "two", "three"), "one of both is granted")
        await world.patch(ClusterProfile, "gold", {"spec": {"maxClusters": 2}})
        await world.granted("two")
        await world.granted("three")
        assert len(await world.assert_sound()) == 2


async def test_a_seat_is_waited_for_until_it_is_given_back(world):
    await world.profile(maxClusters=1)
    await world.purpose("workload", dedicated=False, tenancyCount=1)
    async with scheduling(world.connection):
        await world.request("one", purpose="workload", waitForClusterDeletion=False)
        _, cluster = await world.granted("one")
        no_end = {"metadata": {"labels": {"clusters.openmcp.cloud/delete-without-requests": "false"}}}
        await world.patch(Cluster, cluster.metadata.name, no_end)
        await world.request("two", purpose="workload")
        await world.reaches("two", "Pending", reason="NoCapacity")
        await world.delete(ClusterRequest, "one")
        _, again = await world.granted("two")
        assert again.metadata.uid == cluster.metadata.uid


async def test_a_seat_helps_also_who_waits_for_something_else(world):
    """No profile fits, so that nothing can be made; but a shared cluster that is there already would do."""
    await world.purpose("workload", dedicated=False, tenancyCount=1)
    await world.cluster("a")
    async with scheduling(world.connection):
        await world.request("one", purpose="workload")
        await world.granted("one")
        for name in ("two", "three"):
            await world.request(name, purpose="workload")
            await world.reaches(name, "Pending", reason="NoProfilesYet")
        await world.delete(ClusterRequest, "one")
        await until(lambda: _granted(world, "two", "three"), "one of both is granted")
        await world.cluster("b")
        await world.granted("two")
        await world.granted("three")
        await world.assert_sound(seats=1)


async def test_capacity_that_was_only_assumed_to_be_taken_is_not_waited_for_in_vain(world):
    """While the cluster of one request is being written, it counts; when it is refused, the others are told."""
    await world.profile(maxClusters=1)
    await world.purpose("broken", dedicated=True, template={"metadata": {"labels": {"example.org/a": "not a label"}}})
    await world.purpose("mcp", dedicated=True)
    await world.request("a", purpose="broken")
    await world.request("b", purpose="mcp")
    async with scheduling(world.connection):
        await world.granted("b")  # whoever comes first
        await world.delete(ClusterRequest, "b")
        await world.reaches("a", "Denied", reason="InvalidPurpose")


async def test_a_name_that_is_taken_and_what_can_be_done_about_it(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    await world.cluster("workload", tenancy="Exclusive", purposes=["other"])
    async with scheduling(world.connection):
        await world.request("one", purpose="workload")
        waits = await world.reaches("one", "Pending", reason="ClusterConflict")
        for word in (f"{world.namespace}/workload", "spec.template.metadata.generateName of the purpose workload"):
            assert word in waits.status.message
        await world.patch(Purpose, "workload", {"spec": {"template": {"metadata": {"generateName": "shared-"}}}})
        _, cluster = await world.granted("one")
        assert cluster.metadata.name.startswith("shared-")
        assert (await world.get(Cluster, "workload")).metadata.finalizers == ()


async def test_a_random_name_gets_out_of_the_way(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        _, cluster = await world.granted("one")
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name)
        await world.cluster(cluster.metadata.name, tenancy="Shared", purposes=["other"])
        await world.request("one", purpose="mcp")
        waits = await world.reaches("one", "Pending", reason="ClusterConflict")
        assert RANDOMIZE_NAME_LABEL in waits.status.message
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        await world.request("one", purpose="mcp", metadata={"labels": {RANDOMIZE_NAME_LABEL: "true"}})
        _, other = await world.granted("one")
        assert other.metadata.name != cluster.metadata.name


async def test_a_name_becomes_free_when_its_cluster_goes(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    await world.cluster("workload", purposes=["other"], metadata={"finalizers": [KEEPER]})
    async with scheduling(world.connection):
        await world.request("one", purpose="workload")
        await world.reaches("one", "Pending", reason="ClusterConflict")
        await world.delete(Cluster, "workload")
        await world.reaches("one", "Pending", reason="ClusterTerminating")
        await world.strip(Cluster, "workload")
        _, cluster = await world.granted("one")
        assert cluster.metadata.name == "workload"
        assert cluster.spec.purposes == ("workload",)


async def test_nobodys_cluster_of_the_right_name_and_form_is_taken(world):
    """Also if no selector finds it: it is what would have been made."""
    await world.profile()
    await world.purpose("workload", dedicated=False, selector={"matchLabels": {"example.org/found": "yes"}})
    made = await world.cluster("workload")
    async with scheduling(world.connection):
        await world.request("one", purpose="workload")
        _, cluster = await world.granted("one")
        assert cluster.metadata.uid == made.metadata.uid
        await world.assert_sound()


async def test_a_purpose_that_changes_never_moves_who_is_granted(world):
    await world.profile("gold")
    await world.profile("silver")
    await world.purpose("workload", dedicated=False, template={"spec": {"profile": "gold"}})
    async with scheduling(world.connection) as manager:
        await world.request("one", purpose="workload")
        _, cluster = await world.granted("one")
        changed = await world.patch(
            Purpose, "workload", {"spec": {"dedicated": True, "template": {"spec": {"profile": "silver"}}}}
        )
        await heard(manager, changed)
        await world.request("two", purpose="workload")
        _, other = await world.granted("two")
        assert (str(other.spec.tenancy), other.spec.profile) == ("Exclusive", "silver")
        await quiet(manager)
        same = await world.get(Cluster, cluster.metadata.name)
        assert same.spec == cluster.spec
        assert same.metadata.finalizers == cluster.metadata.finalizers
        await world.assert_sound()


async def test_a_profile_that_a_purpose_names_is_waited_for(world):
    await world.profile("gold")
    await world.purpose("mcp", dedicated=True, template={"spec": {"profile": "silver"}})
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        waits = await world.reaches("one", "Pending", reason="ProfileNotFound")
        assert "silver" in waits.status.message
        await world.profile("silver")
        _, cluster = await world.granted("one")
        assert cluster.spec.profile == "silver"


async def test_a_missing_namespace_is_looked_for_again(world):
    await world.profile()
    home = f"clusters-{uuid.uuid4().hex[:8]}"
    await world.purpose("mcp", dedicated=True, template={"metadata": {"namespace": home}})
    clock = SimulatedClock(datetime.datetime.now(datetime.UTC))
    async with scheduling(world.connection, clock=clock):
        await world.request("one", purpose="mcp")
        waits = await world.reaches("one", "Pending", reason="NamespaceNotFound")
        assert home in waits.status.message
        await world.kube.create(NAMESPACES, namespace_object(home))

        async def granted():
            await clock.advance(5)
            return await world.phase("one") == "Granted"

        await until(granted, "the request is granted")
        request, _ = await world.granted("one")
        assert request.status.cluster.namespace == home


async def test_what_is_forbidden_now_is_not_denied_for_ever(world):
    """A namespace that is ending takes nothing new; whether it comes back nobody can know."""
    await world.profile()
    home = f"clusters-{uuid.uuid4().hex[:8]}"
    await world.kube.create(NAMESPACES, namespace_object(home))
    await world.cluster("last", namespace=home, purposes=["other"], metadata={"finalizers": [KEEPER]})
    await world.kube.delete(NAMESPACES, home)
    await world.purpose("mcp", dedicated=True, template={"metadata": {"namespace": home}})
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        waits = await world.reaches("one", "Pending", reason="InvalidPurpose")
        assert home in waits.status.message
        assert condition(waits, "Stalled") is None
        await world.patch(Purpose, "mcp", {"spec": {"template": {"metadata": {"namespace": world.namespace}}}})
        await world.granted("one")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_purpose_with_an_impossible_template_is_denied_until_it_is_mended(world, when):
    await world.profile()
    await world.purpose("mcp", dedicated=True, template={"metadata": {"labels": {"example.org/a": "not a label"}}})
    if when == "before":
        await world.request("one", purpose="mcp")
    async with scheduling(world.connection):
        if when == "after":
            await world.request("one", purpose="mcp")
        denied = await world.reaches("one", "Denied", reason="InvalidPurpose")
        assert "metadata.labels" in denied.status.message
        assert "mcp" in denied.status.message
        await world.patch(Purpose, "mcp", {"spec": {"template": {"metadata": {"labels": {"example.org/a": "label"}}}}})
        _, cluster = await world.granted("one")
        assert cluster.metadata.labels["example.org/a"] == "label"


async def _granted(world, *names):
    return [name for name in names if await world.phase(name) == "Granted"]
