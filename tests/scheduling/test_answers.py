"""Requests on a real server, and the answers they get."""

from __future__ import annotations

import datetime

from scheduling_kit import condition, scheduling

from mooring.api.claims import claims_on
from mooring.api.clusters import Cluster
from mooring.api.purposes import TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.kube import key_of
from mooring.testing.clock import SimulatedClock
from mooring.testing.managers import quiet, until


async def test_a_dedicated_request_gets_a_cluster_of_its_own_and_gives_it_back(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        request, cluster = await world.granted("one")
        assert cluster.spec.tenancy == "Exclusive"
        assert cluster.spec.profile == "gold"
        assert cluster.spec.kubernetes.version == ""  # nobody asked for one, so nobody is held to one
        assert [claim.uid for claim in claims_on(cluster.metadata)] == [request.metadata.uid]
        await world.assert_sound()
        await world.delete(ClusterRequest, "one")
        await world.gone(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name)


async def test_shared_requests_share_until_the_seats_are_taken(world):
    await world.profile()
    await world.purpose("workload", dedicated=False, tenancyCount=3)
    async with scheduling(world.connection):
        for number in range(7):
            await world.request(f"r{number}", purpose="workload", prefix="team-")
        for number in range(7):
            await world.granted(f"r{number}")
        clusters = await world.assert_sound(seats=3)
        assert len(clusters) == 3
        grant = await world.get(ClusterRequestGrant, "r0")
        assert grant.status.request.spec.purpose == "workload"
        for number in range(7):
            await world.delete(ClusterRequest, f"r{number}")
        for number in range(7):
            await world.gone(ClusterRequest, f"r{number}")
        for key in clusters:
            await world.gone(Cluster, key.name, key.namespace)


async def test_both_shapes_of_a_request_mean_what_they_say(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)
    await world.purpose("workload", dedicated=False)
    async with scheduling(world.connection):
        await world.request("upstream", purpose="mcp")
        await world.request("adr", purposes=["workload", "mcp"])
        await world.request("shared", purposes=["workload", "mcp"], dedicated=False)
        await world.request("alone", purpose="workload", dedicated=True)
        found = {name: (await world.granted(name))[1] for name in ("upstream", "adr", "shared", "alone")}
        assert {name: str(one.spec.tenancy) for name, one in found.items()} == {
            "upstream": "Exclusive",
            "adr": "Exclusive",
            "shared": "Shared",
            "alone": "Exclusive",
        }
        assert found["adr"].spec.purposes == ("workload", "mcp")
        assert found["upstream"].metadata.name.startswith("mcp-")
        assert found["shared"].metadata.name == "workload"
        assert len({one.metadata.name for one in found.values()}) == 4
        await world.assert_sound()


async def test_versions_are_resolved_against_what_is_supported(world):
    old = {"version": "1.34.0", "deprecated": True}
    await world.profile(versions=["1.32.1", "1.33.3", "1.32.5", old])
    await world.purpose("mcp", dedicated=True)
    wanted = {"": "", "1.32": "1.32.5", "1": "1.33.3", "1.32.1": "1.32.1", "1.34.0": "1.34.0"}
    async with scheduling(world.connection):
        for version in (*wanted, "1.34", "1.30", "1.33.4"):
            spec = {"kubernetes": {"version": version}} if version else {}
            await world.request(f"v-{version or 'any'}", purpose="mcp", **spec)
        for version, given in wanted.items():
            _, cluster = await world.granted(f"v-{version or 'any'}")
            assert cluster.spec.kubernetes.version == given, version
        for version in ("1.34", "1.30", "1.33.4"):
            denied = await world.reaches(f"v-{version}", "Denied", reason="NoFittingProfile")
            assert version in denied.status.message
        await world.assert_sound()


async def test_traits_choose_the_profile(world):
    await world.profile("aws", traits=["vendor/aws", "gpu"])
    await world.profile("gcp", traits=["vendor/gcp", "accelerator"])
    await world.profile("plain", traits=[])
    await world.create(TraitEquivalence, "gpus", spec={"traits": ["gpu", "accelerator"]})
    await world.purpose("mcp", dedicated=True)
    asked = {
        "one": ([{"trait": "vendor/gcp"}], "gcp"),
        "same": ([{"trait": "accelerator"}], "aws"),  # both have it, the first by name is taken
        "neither": ([{"trait": "gpu", "negated": True}], "plain"),
        "either": ([{"or": [{"name": "vendor/azure"}, {"name": "vendor/gcp"}]}], "gcp"),
        "not-both": ([{"xor": [{"trait": "vendor/aws"}, {"trait": "gpu"}]}], "gcp"),
        "preferred": ([{"trait": "vendor/gcp", "optional": True}], "gcp"),
    }
    async with scheduling(world.connection):
        for name, (traits, _) in asked.items():
            await world.request(name, purpose="mcp", traits=traits)
        await world.request("nobody", purpose="mcp", traits=[{"trait": "vendor/azure"}])
        for name, (_, profile) in asked.items():
            _, cluster = await world.granted(name)
            assert cluster.spec.profile == profile, name
        denied = await world.reaches("nobody", "Denied", reason="NoFittingProfile")
        assert "vendor/azure" in denied.status.message


async def test_prefixes_are_granted_as_proposed_if_they_can_be(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("first", purpose="workload", prefix="team-")
        await world.granted("first")
        proposals = {"taken": "team-", "longer": "team-a", "shorter": "tea", "short": "ab", "free": "crew-", "none": ""}
        for name, prefix in proposals.items():
            await world.request(name, purpose="workload", **({"prefix": prefix} if prefix else {}))
        await world.request("alone", purpose="mcp", prefix="mine-")
        granted = {}
        for name in ("first", *proposals, "alone"):
            request, _ = await world.granted(name)
            granted[name] = (await world.get(ClusterRequestGrant, name)).spec.prefix
            assert (granted[name] in request.status.message) or not granted[name]
        assert granted["first"] == "team-"
        assert granted["free"] == "crew-"
        assert granted["alone"] == ""
        others = [granted[name] for name in ("taken", "longer", "shorter", "short", "none")]
        assert all(len(prefix) >= 3 for prefix in others)
        assert not set(others) & set(proposals.values())
        assert len(await world.assert_sound()) == 2


async def test_ready_follows_the_cluster(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp")
        request, cluster = await world.granted("one")
        ready = condition(request, "Ready")
        assert (ready.status, ready.reason) == ("False", "ClusterNotReady")
        assert request.status.observed_generation == request.metadata.generation
        assert request.status.last_reconcile_time

        async def ready_is(status):
            async def look():
                one = condition(await world.get(ClusterRequest, "one"), "Ready")
                return one if one.status == status else None

            return await until(look, f"Ready is {status}")

        await world.set_ready(cluster.metadata.name)
        assert (await ready_is("True")).reason == "ClusterReady"
        await world.set_ready(cluster.metadata.name, "False", message="the disk is full")
        assert "the disk is full" in (await ready_is("False")).message
        assert await world.phase("one") == "Granted"


async def test_the_grant_says_what_was_granted_and_whose_it_is(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    async with scheduling(world.connection):
        await world.request("one", purpose="workload", prefix="team-", traits=[{"trait": "x", "optional": True}])
        request, cluster = await world.granted("one")
        grant = await world.get(ClusterRequestGrant, "one")
        owner = grant.metadata.owner_references[0]
        assert (owner.kind, owner.name, owner.uid) == ("ClusterRequest", "one", request.metadata.uid)
        assert (grant.spec.cluster_ref.namespace, grant.spec.cluster_ref.name) == (world.namespace, "workload")
        assert grant.status.request.spec == request.spec
        assert grant.status.request.metadata.name == "one"
        claim = claims_on(cluster.metadata)[0]
        assert (claim.namespace, claim.name, claim.prefix) == (world.namespace, "one", "team-")
        event = await world.told(request, "Granted")
        assert event["type"] == "Normal"


async def test_nothing_is_written_where_nothing_changes(world):
    """A scheduler that starts looks at everything; what is as it should be stays as it is, to the revision."""
    await world.profile()
    await world.purpose("workload", dedicated=False)
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection) as manager:
        for name, purpose in (("a", "workload"), ("b", "workload"), ("c", "mcp")):
            await world.request(name, purpose=purpose)
        await world.request("denied", purpose="mcp", traits=[{"trait": "none/has/it"}])
        await world.request("waits", purpose="unheard-of")
        for name in ("a", "b", "c"):
            await world.granted(name)
        await world.reaches("denied", "Denied")
        await world.reaches("waits", "Pending")
        await quiet(manager)
    before = await _revisions(world)
    later = SimulatedClock(datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1))
    async with scheduling(world.connection, clock=later) as manager:
        await quiet(manager)
    assert await _revisions(world) == before


async def test_a_denied_request_says_so_to_people_and_programs(world):
    await world.profile(traits=["a"])
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection):
        await world.request("one", purpose="mcp", traits=[{"trait": "b"}])
        request = await world.reaches("one", "Denied", reason="NoFittingProfile")
        assert "gold" in request.status.message
        assert "traits: b" in request.status.message
        for kind, status in (("Stalled", "True"), ("Ready", "False")):
            one = condition(request, kind)
            assert (one.status, one.reason) == (status, "NoFittingProfile")
        assert (await world.told(request, "NoFittingProfile"))["type"] == "Warning"
        assert request.metadata.finalizers == ()
        assert await world.all(Cluster) == []


async def _revisions(world):
    kinds = (ClusterRequest, ClusterRequestGrant, Cluster)
    return {(kind, key_of(one)): one.metadata.resource_version for kind in kinds for one in await world.all(kind)}
