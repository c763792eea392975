"""An API server for the tests of scheduling alone, one for each worker: a scheduler answers every request there is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from scheduling_kit import World, new_world

from mooring.api.crds import definitions
from mooring.app.installing import install
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, new_identity
from mooring.kube import Client, Connection, connection_from_document


@pytest.fixture(scope="session")
def plane(landscape: Landscape) -> Iterator[ControlPlane]:
    """A control plane that knows our kinds, and on which nothing of ours runs."""
    plane = landscape.control_plane(new_identity())

    async def begin() -> None:
        await plane.start()
        async with Client(_connection(plane)) as client:
            await install(client, definitions())
        plane.release()  # handles belong to this event loop; the processes live on
        landscape.etcd.close()

    async def end() -> None:
        await plane.delete()
        landscape.etcd.close()

    try:
        asyncio.run(begin())
        yield plane
    finally:
        asyncio.run(end())


@pytest.fixture(scope="session")
def plane_connection(plane: ControlPlane) -> Connection:
    return _connection(plane)


@pytest.fixture
async def world(plane_connection: Connection) -> AsyncIterator[World]:
    """An empty world, and emptied again afterwards."""
    async with Client(plane_connection) as client:
        world = await new_world(client)
        try:
            yield world
        finally:
            await world.clear()


def _connection(plane: ControlPlane) -> Connection:
    return connection_from_document(plane.admin_kubeconfig(name="scheduling"))
