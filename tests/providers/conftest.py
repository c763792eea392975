"""The worker's own API server for providers: an instance looks at every Cluster and every configuration there is."""

from __future__ import annotations

import pytest
from external_kit import a_dock, a_harbour
from provider_kit import WorkshopProvider, World, new_world
from toy_provider import ToyProvider

from mooring.kube.tls import tls_context
from mooring.testing.faults import FaultProxy
from mooring.testing.providing import install_kinds


@pytest.fixture
async def world(own_kube):
    """An empty world, and emptied again afterwards."""
    await install_kinds(own_kube, WorkshopProvider, ToyProvider)
    world: World = await new_world(own_kube)
    try:
        yield world
    finally:
        await world.clear()


@pytest.fixture
async def proxy(own_plane):
    """A connection to the same server that can be told to fail."""
    context = tls_context(ca=own_plane.ca, certificate=own_plane.admin_certificate())
    async with FaultProxy(own_plane.server, ssl=context) as proxy:
        yield proxy


@pytest.fixture
async def dock(world):
    """The same world, for clusters that are brought along."""
    async with a_dock(world) as dock:
        yield dock


@pytest.fixture
async def harbour(kube, namespace):
    """The run's platform as somebody's cluster: other tests use it at the same time."""
    async with a_harbour(kube, namespace) as harbour:
        yield harbour


@pytest.fixture
async def other_harbour(dock):
    """Another cluster: the worker's own server, which is at the same time where the Clusters are."""
    async with a_harbour(dock.kube, dock.namespace) as harbour:
        yield harbour
