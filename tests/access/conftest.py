"""A world on an API server that no other worker sees: a preparer looks at every access request there is."""

from __future__ import annotations

import pytest
from access_kit import new_world

from mooring.kube.tls import tls_context
from mooring.testing.faults import FaultProxy


@pytest.fixture
async def world(own_kube):
    async with new_world(own_kube) as world:
        yield world


@pytest.fixture
async def proxy(own_plane):
    """The same server, through a connection that counts and can be told to fail."""
    context = tls_context(ca=own_plane.ca, certificate=own_plane.admin_certificate())
    async with FaultProxy(own_plane.server, ssl=context) as proxy:
        yield proxy
