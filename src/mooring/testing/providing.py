"""A provider tried out: at work against a real API server, as in a landscape, and stopped in good order.

::

    async with providing(connection, YourProvider(), name="yours"):
        await kube.create(...)  # a configuration, a Cluster
        await until(is_ready, "the cluster is ready")
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any

from mooring.api.crds import definition_of
from mooring.kube import Client, Connection
from mooring.kube.definitions import install
from mooring.providers.sdk.controllers import add_provider, kinds_of
from mooring.providers.sdk.provider import Provider
from mooring.runtime import Clock, Manager
from mooring.testing.managers import at_work, until

__all__ = ["install_kinds", "providing", "until"]


async def install_kinds(client: Client, *providers: Provider[Any] | type[Provider[Any]]) -> None:
    """Have the server know what these providers are configured by."""
    kinds = {kind: None for provider in providers for kind in kinds_of(provider)}
    await install(client, [definition_of(kind) for kind in kinds])


@contextlib.asynccontextmanager
async def providing(
    connection: Connection,
    provider: Provider[Any],
    *,
    name: str,
    environment: str = "test",
    clock: Clock | None = None,
) -> AsyncIterator[Manager]:
    """An instance of a provider at work. The server has to know its kinds (:func:`install_kinds`)."""
    async with Manager(connection, identity=uuid.uuid4().hex, clock=clock) as manager:
        add_provider(manager, provider, name=name, environment=environment)
        async with at_work(manager):
            yield manager
