"""Fixtures for tests against a real API server.

=============  =========================================================================================
``landscape``  the run's landscape: one etcd and one platform control plane for all workers
``connection`` how to reach the platform as an administrator
``kube``       an open client on it
``namespace``  the name of a fresh namespace, deleted afterwards
``fault_proxy`` a proxy in front of the API server that can be told to fail; ``fault_proxy.connection``
``control_plane`` a further, fresh control plane on the run's etcd, deleted afterwards
``own_plane``  a further control plane that knows our kinds, one for all tests of a worker
``own_kube``   an open client on that
``conformance`` checks a provider against the contract, on ``own_plane``
=============  =========================================================================================
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mooring.api.crds import definitions
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, new_identity
from mooring.kube import Client, Connection, Object, connection_from_document
from mooring.kube.definitions import install
from mooring.kube.tls import tls_context
from mooring.testing.builders import NAMESPACES, namespace_object
from mooring.testing.conformance import (
    Report,
    Settings,
    Subject,
    check_provider,
    command_subject,
    provider_subject,
    read_configs,
)
from mooring.testing.faults import FaultProxy
from mooring.testing.runs import begin_run, end_run, running_landscape

_RUN = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", {}).get("mooring_run")
    config.stash[_RUN] = Path(given) if given else begin_run()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Called by pytest-xdist for each worker it starts."""
    node.workerinput["mooring_run"] = str(node.config.stash[_RUN])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and (run := config.stash.get(_RUN, None)) is not None:
        end_run(run)


@pytest.fixture(scope="session")
def landscape(pytestconfig: pytest.Config) -> Landscape:
    return running_landscape(pytestconfig.stash[_RUN])


@pytest.fixture(scope="session")
def connection(landscape: Landscape) -> Connection:
    return connection_from_document(landscape.admin_kubeconfig())


@pytest.fixture
async def kube(connection: Connection) -> AsyncIterator[Client]:
    async with Client(connection) as client:
        yield client


@pytest.fixture
async def namespace(kube: Client) -> AsyncIterator[str]:
    name = f"test-{uuid4().hex[:10]}"
    await kube.create(NAMESPACES, namespace_object(name))
    yield name
    await kube.delete(NAMESPACES, name)


@pytest.fixture
async def fault_proxy(landscape: Landscape, connection: Connection) -> AsyncIterator[FaultProxy]:
    platform = landscape.platform
    context = tls_context(ca=platform.ca, certificate=platform.admin_certificate())
    async with FaultProxy(platform.server, ssl=context) as proxy:
        yield proxy


@pytest.fixture
async def control_plane(landscape: Landscape) -> AsyncIterator[ControlPlane]:
    plane = landscape.control_plane(new_identity())
    try:
        await plane.start()
        yield plane
    finally:
        await plane.delete()
        landscape.etcd.close()


@pytest.fixture(scope="session")
def own_plane(landscape: Landscape) -> Iterator[ControlPlane]:
    """For tests that must be alone with what they create: no other worker sees this API server."""
    with knowing_plane(landscape) as plane:
        yield plane


@contextlib.contextmanager
def knowing_plane(landscape: Landscape) -> Iterator[ControlPlane]:
    """A further control plane that knows our kinds, and on which nothing of ours runs; deleted afterwards."""
    plane = landscape.control_plane(new_identity())

    async def begin() -> None:
        await plane.start()
        async with Client(connection_from_document(plane.admin_kubeconfig(name="own"))) as client:
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


@pytest.fixture
async def own_kube(own_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(connection_from_document(own_plane.admin_kubeconfig(name="own"))) as client:
        yield client


@pytest.fixture
def conformance(own_plane: ControlPlane) -> Callable[..., Awaitable[Report]]:
    """``report = await conformance("my_provider:MyProvider", configs=["config.yaml"])``.

    The provider is named as on the command line, or is a list of words that start its program. A configuration is a
    file or an object; further arguments are those of ``Settings``.
    """
    connection = connection_from_document(own_plane.admin_kubeconfig(name="own"))

    async def checked(
        provider: str | Sequence[str] | Subject, *, configs: Sequence[str | Path | Object] = (), **settings: Any
    ) -> Report:
        objects = [one for given in configs for one in _read(given)]
        return await check_provider(_subject(provider), connection, Settings(configs=objects, **settings))

    return checked


def _read(config: str | Path | Object) -> list[Object]:
    return [config] if isinstance(config, dict) else read_configs([Path(config)])


def _subject(provider: str | Sequence[str] | Subject) -> Subject:
    if isinstance(provider, Subject):
        return provider
    return provider_subject(provider) if isinstance(provider, str) else command_subject(provider)
