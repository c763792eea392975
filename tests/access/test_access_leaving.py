"""Requests can always be deleted: upstream's providers are told to revoke, and what nobody would free is freed."""

from __future__ import annotations

import pytest
from access_kit import preparing, unique, writes

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import GRANT_FINALIZER
from mooring.api.providers import ClusterProvider
from mooring.testing.managers import heard

FOREIGN = "example.com/keep"
HELD = {"finalizers": [GRANT_FINALIZER]}


async def test_upstreams_providers_are_told_to_revoke(world):
    """They look at a Granted request again only when its status is set back, also for its deletion."""
    await world.cluster(profile=world.iron)
    await world.access(metadata={"finalizers": [FOREIGN]})
    async with preparing(world.connection):
        await world.stands("Pending", "Prepared")
        await world.granted()
        await world.delete(AccessRequest, "entry")
        there = await world.stands("Pending", "Revoking")
        assert there.metadata.finalizers == (FOREIGN,)


async def test_a_denied_request_is_revoked_by_upstreams_providers_too(world):
    await world.cluster(profile=world.iron)
    await world.access(metadata={"finalizers": [FOREIGN]})
    async with preparing(world.connection):
        await world.stands("Pending", "Prepared")
        await world.granted(phase="Denied")
        await world.delete(AccessRequest, "entry")
        await world.stands("Pending", "Revoking")


async def test_nothing_is_prepared_in_deletion(world, proxy):
    await world.cluster()
    await world.access(metadata={"finalizers": [FOREIGN]})
    await world.delete(AccessRequest, "entry")
    leaving = await world.get(AccessRequest)
    async with preparing(proxy.connection) as manager:
        await heard(manager, leaving)
    assert await world.get(AccessRequest) == leaving
    assert writes(proxy) == []


async def test_a_provider_of_our_sdk_is_left_to_itself(world, proxy):
    await world.cluster()
    await world.access(metadata=HELD)
    async with preparing(world.connection):
        await world.prepared()
    await world.granted()
    await world.delete(AccessRequest, "entry")
    leaving = await world.get(AccessRequest)
    async with preparing(proxy.connection) as manager:
        await world.delete(Cluster, "home")
        await world.gone(Cluster, "home")
        await heard(manager, leaving)
    assert await world.get(AccessRequest) == leaving
    assert writes(proxy) == []


@pytest.fixture
async def abandoned(world):
    """A request in deletion whose provider is about to vanish: name of its only profile, and of the provider."""
    provider, profile = unique("gone"), unique("gone")
    await world.profile(profile, provider=provider)
    await world.cluster(profile=profile)
    await world.access(metadata={"finalizers": [GRANT_FINALIZER, FOREIGN]}, labels=world.labels(profile, provider))
    await world.delete(AccessRequest, "entry")
    yield profile, provider
    await world.delete(ClusterProfile, profile)
    await world.delete(ClusterProvider, provider)


def is_freed(request):
    return request.metadata.finalizers == (FOREIGN,)


async def test_what_nobody_would_free_is_freed(world, abandoned):
    profile, _ = abandoned
    async with preparing(world.connection):
        await world.delete(Cluster, "home")
        await world.delete(ClusterProfile, profile)
        await world.until(is_freed, "is freed of our finalizer, and of no other")
        await world.patch(AccessRequest, "entry", {"metadata": {"finalizers": None}})
        await world.gone(AccessRequest)


@pytest.mark.parametrize("left", ["cluster", "profile", "provider"])
async def test_as_long_as_something_is_left_it_is_waited_for(world, abandoned, left):
    profile, provider = abandoned
    parts = {
        "cluster": (Cluster, "home"),
        "profile": (ClusterProfile, profile),
        "provider": (ClusterProvider, provider),
    }
    await world.create(ClusterProvider, provider, spec={"image": "example.com/provider:1"})
    for name in parts.keys() - {left}:
        await world.delete(*parts[name])
        await world.gone(*parts[name])
    leaving = await world.get(AccessRequest)
    async with preparing(world.connection) as manager:
        await heard(manager, leaving)
        assert GRANT_FINALIZER in (await world.get(AccessRequest)).metadata.finalizers
        await world.delete(*parts[left])
        await world.until(is_freed, "is freed in the end")
