"""Scheduling as its configuration says, and as annotations say: what is left alone, and what is looked at now."""

from __future__ import annotations

import uuid

from scheduling_kit import scheduling

from mooring.api.clusters import Cluster
from mooring.api.requests import ClusterRequest
from mooring.scheduling.configuration import configuration_of
from mooring.testing.builders import NAMESPACES, namespace_object
from mooring.testing.managers import heard, quiet, until

OPERATION = "openmcp.cloud/operation"
MAPPINGS = {
    "workload": {"template": {"spec": {"profile": "gold", "tenancy": "Shared", "purposes": ["workload"]}}},
    "mcp": {"template": {"spec": {"profile": "gold", "tenancy": "Exclusive", "purposes": ["mcp"]}}},
}


def configured(**scheduler):
    return configuration_of({"scheduler": scheduler})


async def test_upstreams_purpose_mappings_are_purposes(world):
    await world.profile()
    configuration = configured(purposeMappings=MAPPINGS)
    async with scheduling(world.connection, configuration=configuration) as manager:
        await world.request("shared", purpose="workload")
        await world.request("alone", purpose="mcp")
        _, shared = await world.granted("shared")
        _, alone = await world.granted("alone")
        assert (str(shared.spec.tenancy), str(alone.spec.tenancy)) == ("Shared", "Exclusive")
        await heard(manager, await world.purpose("mcp", dedicated=False))
        await world.request("next", purpose="mcp")
        _, cluster = await world.granted("next")
        assert str(cluster.spec.tenancy) == "Shared"  # an object counts over the file


async def test_clusters_may_serve_their_own_namespace_only(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    other = f"other-{uuid.uuid4().hex[:8]}"
    await world.kube.create(NAMESPACES, namespace_object(other))
    async with scheduling(world.connection, configuration=configured(scope="Namespaced")):
        await world.request("one", purpose="workload")
        await world.request("one", purpose="workload", namespace=other)
        for namespace in (world.namespace, other):
            request, _ = await world.granted("one", namespace)
            assert request.status.cluster.namespace == namespace
    await world.request("two", purpose="workload", namespace=other)
    async with scheduling(world.connection):
        await world.granted("two", other)
        assert len(await world.assert_sound()) == 2  # it shares one of them, whichever


async def test_requests_that_are_not_selected_are_left_to_others(world):
    await world.profile()
    await world.purpose("workload", dedicated=False)
    configuration = configured(selectors={"requests": {"matchLabels": {"for": "us"}}})
    async with scheduling(world.connection, configuration=configuration) as manager:
        theirs = await world.request("theirs", purpose="workload", metadata={"labels": {"for": "them"}})
        await world.request("ours", purpose="workload", metadata={"labels": {"for": "us"}})
        await world.granted("ours")
        await heard(manager, theirs)
        there = await world.get(ClusterRequest, "theirs")
        assert there.metadata.resource_version == theirs.metadata.resource_version
        await world.patch(ClusterRequest, "theirs", {"metadata": {"labels": {"for": "us"}}})
        await world.granted("theirs")


async def test_clusters_that_are_not_selected_are_not_shared(world):
    await world.profile()
    await world.cluster("hidden")
    await world.cluster("shown", metadata={"labels": {"show": "yes"}})
    await world.purpose("workload", dedicated=False)
    configuration = configured(selectors={"clusters": {"matchLabels": {"show": "yes"}}}, strategy="Simple")
    async with scheduling(world.connection, configuration=configuration):
        await world.request("one", purpose="workload")
        _, cluster = await world.granted("one")
        assert cluster.metadata.name == "shown"


async def test_another_configuration_is_taken_into_use(world):
    await world.profile()
    async with scheduling(world.connection, configuration=configured()) as manager:
        await world.request("one", purpose="workload")
        await world.reaches("one", "Pending", reason="PurposeNotFound")
        theirs = await world.request("theirs", purpose="workload", metadata={"labels": {"for": "them"}})
        await world.reaches("theirs", "Pending", reason="PurposeNotFound")
        ours = {"requests": {"matchExpressions": [{"key": "for", "operator": "NotIn", "values": ["them"]}]}}
        await quiet(manager)
        manager.configure(configured(selectors=ours, purposeMappings=MAPPINGS))
        await world.granted("one")
        await heard(manager, theirs)
        assert await world.phase("theirs") == "Pending"
        manager.configure(configured(purposeMappings=MAPPINGS, strategy="Packed"))
        await world.granted("theirs")


async def test_a_request_may_be_left_alone_for_a_while(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection) as manager:
        ignored = await world.request("one", purpose="mcp", metadata={"annotations": {OPERATION: "ignore"}})
        await world.request("two", purpose="mcp")
        await world.granted("two")
        await heard(manager, ignored)
        assert (await world.get(ClusterRequest, "one")).status is None
        await world.patch(ClusterRequest, "one", {"metadata": {"annotations": {OPERATION: None}}})
        _, cluster = await world.granted("one")
        await heard(manager, await world.patch(ClusterRequest, "one", _operation("ignore")))
        await world.delete(ClusterRequest, "one")
        await world.delete(ClusterRequest, "two")
        await world.gone(ClusterRequest, "two")
        await heard(manager, await world.get(ClusterRequest, "one"))
        assert not (await world.get(Cluster, cluster.metadata.name)).metadata.deleting
        await world.patch(ClusterRequest, "one", _operation(None))
        await world.gone(ClusterRequest, "one")
        await world.gone(Cluster, cluster.metadata.name)


async def test_a_request_is_looked_at_when_somebody_asks_for_it(world):
    await world.profile()
    await world.purpose("mcp", dedicated=True)
    async with scheduling(world.connection) as manager:
        await world.request("one", purpose="mcp")
        request, _ = await world.granted("one")
        # Nobody is woken when conditions alone are taken away.
        status = {"status": {"conditions": []}}
        await heard(manager, await world.patch(ClusterRequest, "one", status, subresource="status"))
        await world.patch(ClusterRequest, "one", _operation("reconcile"))

        async def noticed():
            there = await world.get(ClusterRequest, "one")
            return there if OPERATION not in there.metadata.annotations and there.status.conditions else None

        again = await until(noticed, "it was looked at, and the annotation is gone")
        assert again.status.conditions[0].type == request.status.conditions[0].type


def _operation(value):
    return {"metadata": {"annotations": {OPERATION: value}}}
