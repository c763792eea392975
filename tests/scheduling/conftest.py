"""An API server for the tests of scheduling alone, one for each worker: a scheduler answers every request there is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from scheduling_kit import World, new_world

from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane
from mooring.kube import Client, Connection, connection_from_document
from mooring.testing.plugin import knowing_plane


@pytest.fixture(scope="session")
def plane(landscape: Landscape) -> Iterator[ControlPlane]:
    with knowing_plane(landscape) as plane:
        yield plane


@pytest.fixture(scope="session")
def plane_connection(plane: ControlPlane) -> Connection:
    return connection_from_document(plane.admin_kubeconfig(name="scheduling"))


@pytest.fixture
async def world(plane_connection: Connection) -> AsyncIterator[World]:
    """An empty world, and emptied again afterwards."""
    async with Client(plane_connection) as client:
        world = await new_world(client)
        try:
            yield world
        finally:
            await world.clear()
