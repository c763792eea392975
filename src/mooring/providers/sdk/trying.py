"""A provider tried out: at work against a real API server, as in a landscape, and stopped in good order.

::

    async with providing(connection, YourProvider(), name="yours"):
        await kube.create(...)  # a configuration, a Cluster
        await until(is_ready, "the cluster is ready")
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

from mooring.api.crds import definition_of
from mooring.kube import Client, Connection
from mooring.kube.definitions import install
from mooring.providers.sdk.controllers import add_provider, kinds_of
from mooring.providers.sdk.provider import Provider
from mooring.runtime import Clock, Manager

PATIENCE = 120.0  # seconds; only ever used up by a test that fails


async def until(ask: Callable[[], Any], what: str | Callable[[], Any], *, patience: float = PATIENCE) -> Any:
    """Ask until the answer is something true, and return it. ``what`` may be a function that tells what is seen."""
    deadline = time.monotonic() + patience
    while True:
        answer = await _answer(ask)
        if answer:
            return answer
        if time.monotonic() > deadline:
            seen = what if isinstance(what, str) else await _answer(what)
            raise AssertionError(f"waited {patience:.0f} s in vain until {seen}")
        await asyncio.sleep(0.02)


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
        task = asyncio.create_task(manager.run())
        try:
            await until(lambda: manager.working or task.done(), "the provider works")
            yield manager
        finally:
            manager.stop()
            async with asyncio.timeout(PATIENCE):
                await task


@contextlib.asynccontextmanager
async def doomed(
    connection: Connection, provider: Provider[Any], *, name: str, environment: str = "test"
) -> AsyncIterator[Manager]:
    """The same, but at the end it is dropped in the middle of what it does, as when its process is killed."""
    manager = Manager(connection, identity=uuid.uuid4().hex)
    await manager.__aenter__()
    add_provider(manager, provider, name=name, environment=environment)
    task = asyncio.create_task(manager.run())
    try:
        await until(lambda: manager.working or task.done(), "the provider works")
        yield manager
    finally:
        task.cancel()
        await asyncio.wait([task])
        await manager.__aexit__()


async def _answer(ask: Callable[[], Any]) -> Any:
    answer = ask()
    return await answer if inspect.isawaitable(answer) else answer
