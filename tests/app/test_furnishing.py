"""What a start puts in order of the platform's own objects, on landscapes of before as well."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from mooring.api.clusters import Cluster
from mooring.api.crds import definition_of
from mooring.api.providers import ClusterProvider
from mooring.app.furnishing import have_platform
from mooring.kube import Client, MergePatch
from mooring.kube.definitions import install, put
from mooring.kube.errors import AlreadyExists, Forbidden, NotFound
from mooring.providers.local import PLATFORM, LocalConfig
from mooring.providers.local.first import POLICY, kept
from mooring.testing.builders import NAMESPACES, an_object, namespace_object, plain_resource_of

CLUSTERS, CONFIGS = plain_resource_of(Cluster), plain_resource_of(LocalConfig)
HOLDER = "request.clusters.openmcp.cloud/11111111-1111-1111-1111-111111111111"


@pytest.fixture
async def ground(own_kube):
    """A server with our kinds, and without a platform's objects afterwards."""
    await install(own_kube, [definition_of(kind) for kind in (Cluster, LocalConfig, ClusterProvider)])
    with contextlib.suppress(AlreadyExists):
        await own_kube.create(NAMESPACES, namespace_object(PLATFORM.namespace))
    yield own_kube
    for document in kept("local"):
        await own_kube.delete(await own_kube.resource(document["apiVersion"], document["kind"]), POLICY)
    await _patiently(_cleared, own_kube)


async def test_a_platform_of_before_moves_to_its_own_profile_with_the_claims_on_it(ground: Client) -> None:
    old = {"profile": "blue.local.default", "tenancy": "Shared", "purposes": ["platform"]}
    before = an_object(Cluster, PLATFORM.name, PLATFORM.namespace, spec=old)
    note = '{"namespace": "team", "name": "mine", "prefix": "abc"}'
    before["metadata"] |= {"finalizers": [HOLDER], "annotations": {HOLDER: note}}
    made = await ground.create(CLUSTERS, before)
    for document in kept("local"):
        await put(ground, document)
    await _patiently(_denied, ground)

    await _patiently(have_platform, ground, environment="blue")
    after = await ground.get(CLUSTERS, PLATFORM.name, namespace=PLATFORM.namespace)
    assert after["spec"] == {**made["spec"], "profile": "blue.local.platform"}
    assert after["metadata"]["finalizers"] == [HOLDER]
    assert after["metadata"]["annotations"] == {HOLDER: note}
    config = await ground.get(CONFIGS, "platform")
    assert config["spec"]["access"]["policy"] == "Creator"
    await _patiently(_denied, ground)

    # What is in order stays as it is, and so does what the owner has decided.
    await ground.patch(CONFIGS, "platform", MergePatch({"spec": {"access": {"boundToPrefix": True}}}))
    await have_platform(ground, environment="blue")
    assert await ground.get(CLUSTERS, PLATFORM.name, namespace=PLATFORM.namespace) == after
    assert (await ground.get(CONFIGS, "platform"))["spec"]["access"]["boundToPrefix"] is True


async def _patiently(deed, *words, **named):
    """Policies take effect a moment after they were written: what they forbid meanwhile is tried again."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await deed(*words, **named)
            except Forbidden:
                await asyncio.sleep(0.1)


async def _denied(kube: Client) -> None:
    """Once the policy keeps the platform."""
    path = CLUSTERS.path(namespace=PLATFORM.namespace, name=PLATFORM.name)
    async with asyncio.timeout(60):
        while True:
            try:
                await kube.raw("DELETE", path, parameters={"dryRun": "All"})
            except Forbidden:
                return
            await asyncio.sleep(0.1)


async def _cleared(kube: Client) -> None:
    free = MergePatch({"metadata": {"finalizers": None}})
    for resource, namespace in ((CLUSTERS, PLATFORM.namespace), (CONFIGS, None)):
        try:
            await kube.patch(resource, PLATFORM.name, free, namespace=namespace)
            await kube.delete(resource, PLATFORM.name, namespace=namespace)
        except NotFound:
            continue
