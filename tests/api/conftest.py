"""Every test of this room that needs a server finds our kinds installed there."""

from __future__ import annotations

import asyncio

import pytest

from mooring.api.crds import definitions
from mooring.app.installing import install
from mooring.kube import Client, Connection


@pytest.fixture(scope="session")
def installed(connection: Connection) -> None:
    """Our kinds are served. Each worker applies them once; a second time changes nothing."""

    async def apply() -> None:
        async with Client(connection) as client:
            await install(client, definitions())

    asyncio.run(apply())


@pytest.fixture
def kinds(installed: None, kube: Client) -> Client:
    """A client of a server that serves our kinds."""
    return kube
