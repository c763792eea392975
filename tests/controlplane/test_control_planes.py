"""A control plane: a whole Kubernetes but for nodes, closed to everybody else, and gone without a trace."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest
from gateway_kit import as_root

from landscape_kit import PATIENCE, processes_with
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, new_identity
from mooring.controlplane.ports import LOOPBACK
from mooring.controlplane.probes import Prober
from mooring.kube import Client, connection_from_document
from mooring.kube.errors import Forbidden
from mooring.testing.builders import SERVICE_ACCOUNTS

_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


async def _code(prober: Prober, path: str) -> int:
    answer = await prober.ask("GET", path)
    prober.close()
    return 0 if answer is None else answer.code


async def test_who_may_come_in(landscape: Landscape, control_plane: ControlPlane) -> None:
    port, ca = control_plane.ports.api_server, control_plane.ca
    for path, code in (("/readyz", 200), ("/livez", 200), ("/api", 401), (_ACCOUNT, 401), ("/metrics", 401)):
        assert await _code(Prober(port, ca), path) == code, path
    assert await _code(Prober(port, ca, control_plane.admin_certificate()), _ACCOUNT) == 200
    # What opens the platform opens nothing here, nor the other way round; nor does a certificate for etcd.
    platform = landscape.platform
    assert await _code(Prober(port, ca, platform.admin_certificate()), _ACCOUNT) == 401
    stranger = Prober(platform.ports.api_server, platform.ca, control_plane.admin_certificate())
    assert await _code(stranger, _ACCOUNT) == 401
    # Somebody who is known but was given nothing.
    async with Client(connection_from_document(control_plane.kubeconfig(name="test", user="somebody"))) as client:
        with pytest.raises(Forbidden):
            await client.get(SERVICE_ACCOUNTS, "default", namespace="default")


async def test_it_goes_without_a_trace(landscape: Landscape) -> None:
    etcd, plane = landscape.etcd, landscape.control_plane(new_identity())
    try:
        await plane.start()
        connection = connection_from_document(plane.admin_kubeconfig(name="test"))
        async with Client(connection) as client:
            account = await client.get(SERVICE_ACCOUNTS, "default", namespace="default")
            assert account["metadata"]["name"] == "default"
        assert len(processes_with(f"/{plane.identity}/")) == 2
        assert plane.identity in await etcd.tenants()

        another = landscape.control_plane(plane.identity)  # it is adopted, not started twice
        await another.start()
        assert len(processes_with(f"/{plane.identity}/")) == 2
        another.release()

        for patience in (0.0, 0.02, 0.2, 1.0):  # interrupted here and there, it is done again
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await plane.delete()
    finally:
        await plane.delete()
        etcd.close()
    assert processes_with(f"/{plane.identity}/") == {}
    assert not plane.directory.exists()
    assert await etcd.count_keys(plane.identity) == 0
    assert plane.identity not in await etcd.tenants()
    assert plane.identity not in (await as_root(etcd, "auth/role/list"))["roles"]
    await plane.delete()
    etcd.close()


async def test_a_port_that_is_lost_in_the_last_moment_is_exchanged(
    landscape: Landscape, caplog: pytest.LogCaptureFixture
) -> None:
    """Bound by us without listening, it looks free; we begin to listen once the API server was started on it."""
    plane = landscape.control_plane(new_identity())
    plane.prepare()
    port = plane.ports.api_server
    with socket.socket() as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ours.bind((LOOPBACK, port))
        try:
            starting = asyncio.create_task(plane.start())
            async with asyncio.timeout(PATIENCE):
                while not (plane.directory / "kube-apiserver.pid").exists():
                    await asyncio.sleep(0)
            ours.listen()
            await starting
            assert plane.ports.api_server != port
            assert await plane.is_ready()
            assert len(processes_with(f"/{plane.identity}/")) == 2
        finally:
            await plane.delete()
            landscape.etcd.close()
    assert "trying another port" in caplog.text
