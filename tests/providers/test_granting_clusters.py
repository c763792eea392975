"""Access and the clusters it leads into: they move, go, come again, belong to others; and what all of it costs."""

from __future__ import annotations

from collections import Counter

import pytest
from granting_kit import (
    LABELS,
    Gate,
    Lodge,
    a_gate,
    clock_at,
    passing,
    refused,
)
from provider_kit import State, condition

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import PROFILE_LABEL
from mooring.runtime.recorder import EVENTS
from mooring.testing.managers import heard, quiet

PROFILE = LABELS[PROFILE_LABEL]


@pytest.fixture
async def gate(world, kube, fault_proxy):
    async with a_gate(world, kube, proxy=fault_proxy) as gate:
        yield gate


# -- clusters that change -------------------------------------------------------------------------------------------


async def test_another_cluster_of_the_same_name_is_another_cluster(gate: Gate) -> None:
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
        first, old = await gate.record(), await gate.entry()
        gate.works.states["one"] = State(ready=False, reason="Building", message="Not yet.")
        await gate.world.delete(Cluster, "one")
        await gate.world.gone(Cluster, "one")
        await gate.world.cluster("one")
        pending = lambda one: one.status.phase == "Pending"  # noqa: E731
        waiting = await gate.world.becomes(AccessRequest, "mine", pending, "waits")
        assert (waiting.status.reason, waiting.status.secret_ref) == ("ClusterNotReady", None)
        assert await gate.secret() is None
        del gate.works.states["one"]
        cluster = await gate.world.ready()
        second = await gate.recorded(lambda one: one.cluster == cluster.metadata.uid, "is of the new cluster")
        assert second.issue != first.issue
        await gate.granted()
        await gate.is_tidy(request)
        await refused(old)


async def test_the_kubeconfig_follows_its_cluster(gate: Gate) -> None:
    async with gate.granting():
        await gate.ask()
        await gate.granted()
        moved = "https://elsewhere.example:6443"
        gate.works.states["one"] = State(ready=True, version="1.33.3", api_server=moved)
        await gate.world.patch(Cluster, "one", {"metadata": {"annotations": {"openmcp.cloud/operation": "reconcile"}}})
        await gate.recorded(lambda one: one.server == moved, "tells the new address")
        assert (await gate.entry()).server == moved


async def test_others_clusters_are_others_matter(gate: Gate) -> None:
    async with gate.granting() as manager:
        spec = {
            "providerRef": {"name": "others"},
            "providerConfigRef": {"name": "theirs"},
            "supportedVersions": [{"version": "1.33.3"}],
        }
        await gate.world.create(ClusterProfile, "theirs", spec=spec)
        await gate.world.cluster("two", profile="theirs")
        request = await gate.ask(cluster="two", labels={**LABELS, PROFILE_LABEL: "theirs"})
        missing = await gate.ask("missing", cluster="nowhere")
        await heard(manager, request, missing)
        for one in (request, missing):
            there = await gate.world.get(AccessRequest, one.metadata.name)
            assert (there.metadata.finalizers, there.status) == ((), None)
            await gate.world.delete(AccessRequest, one.metadata.name)
            await gate.world.gone(AccessRequest, one.metadata.name)


# -- clusters that stay ---------------------------------------------------------------------------------------------


async def test_a_cluster_that_stays_is_left_clean(gate: Gate) -> None:
    gate.provider = Lodge
    async with gate.granting():
        await gate.world.cluster("two")
        mine, other = await gate.ask(), await gate.ask("other", cluster="two")
        await gate.granted()
        await gate.granted("other")
        entry = await gate.entry()
        await gate.world.delete(Cluster, "one")
        await gate.world.gone(Cluster, "one")
        assert await gate.parts(mine) == {}
        await refused(entry)
        # Both are the same cluster; who enters by the other name is not meant.
        await gate.is_tidy(other, "other")
        await gate.world.delete(AccessRequest, "mine")
        await gate.world.gone(AccessRequest, "mine")


async def test_a_cluster_that_cannot_be_left_clean_is_let_go_in_the_end(gate: Gate) -> None:
    gate.provider = Lodge
    async with gate.granting():
        request = await gate.ask()
        await gate.granted()
    await gate.proxy.down()
    await gate.world.delete(Cluster, "one")
    cluster = await gate.world.get(Cluster, "one")
    clock = clock_at()
    async with gate.granting(clock=clock):

        async def is_waiting():
            there = await gate.world.get(Cluster, "one")
            return "cannot be entered" in condition(there).message

        await passing(clock, is_waiting, "it waits, and tells why")

        async def is_gone():
            return await gate.world.get(Cluster, "one") is None

        await passing(clock, is_gone, "the cluster is let go", step=30.0)
        event = await _told(gate, clock, cluster, "LeftBehind")
        assert (event["type"], gate.address in event["note"]) == ("Warning", True)
    await gate.clear_target(request.metadata.uid)


async def _told(gate, clock, regarding, reason):
    async def there():
        events = (await gate.world.kube.list(EVENTS)).items
        found = [one for one in events if one["reason"] == reason]
        return next((one for one in found if one["regarding"]["uid"] == regarding.metadata.uid), None)

    return await passing(clock, there, f"an event {reason} is written")


# -- what it costs --------------------------------------------------------------------------------------------------


async def test_a_grant_costs_three_writes_here_and_five_there(gate: Gate, proxy) -> None:
    async with gate.killed_later(connection=proxy.connection) as manager:
        await gate.ask("before")  # makes the namespace of the accounts, if it is not there
        await gate.granted("before")
        await quiet(manager)
        platform, target = len(proxy.requests), len(gate.proxy.requests)
        await gate.ask()
        await gate.granted()
        await quiet(manager)
        assert _calls(list(proxy.requests)[platform:]) == {
            ("patch", "accessrequests", ""): 1,
            ("create", "secrets", ""): 1,
            ("patch", "accessrequests", "status"): 1,
        }
        assert _calls(list(gate.proxy.requests)[target:]) == {
            ("create", "serviceaccounts", ""): 1,
            ("create", "clusterroles", ""): 1,
            ("create", "clusterrolebindings", ""): 1,
            ("create", "secrets", ""): 1,
            ("create", "serviceaccounts", "token"): 1,
        }
        assert gate.entered == 1


async def test_whoever_is_asked_and_has_nothing_to_do_does_nothing(gate: Gate, proxy) -> None:
    async with gate.killed_later(connection=proxy.connection) as manager:
        await gate.ask()
        await gate.granted()
        await quiet(manager)
        before = await gate.world.get(AccessRequest, "mine"), await gate.secret()
        platform, target = len(proxy.requests), len(gate.proxy.requests)
        touched = await gate.world.patch(AccessRequest, "mine", {"metadata": {"labels": {"some": "label"}}})
        await heard(manager, touched)
        assert _calls(list(proxy.requests)[platform:]) == {}
        assert len(gate.proxy.requests) == target
        after = await gate.world.get(AccessRequest, "mine"), await gate.secret()
        assert after[0].metadata.resource_version == touched.metadata.resource_version
        assert (before[0].status, before[1]) == (after[0].status, after[1])


def _calls(requests) -> Counter:
    """Without watches, and events: those are told when there is time."""
    counted = (one for one in requests if not one.is_watch and one.resource != "events")
    return Counter((one.verb, one.resource, one.subresource) for one in counted)
