"""A world on an API server that no other worker sees: the face looks at every request there is."""

from __future__ import annotations

import pytest
from kyma_kit import PierProvider, as_mooring, new_world

from mooring.kube import Client, connection_from_document
from mooring.kube.tls import tls_context
from mooring.testing.faults import FaultProxy
from mooring.testing.providing import install_kinds


@pytest.fixture
async def world(own_plane):
    connection = connection_from_document(own_plane.admin_kubeconfig(name="own"))
    async with Client(as_mooring(connection)) as kube:
        await install_kinds(kube, PierProvider)
        world = await new_world(kube)
        try:
            yield world
        finally:
            await world.clear()


@pytest.fixture
async def proxy(own_plane):
    """The same server, through a connection that can be told to fail."""
    context = tls_context(ca=own_plane.ca, certificate=own_plane.admin_certificate())
    async with FaultProxy(own_plane.server, ssl=context) as proxy:
        yield proxy
