"""One etcd, walls inside: a control plane's certificate opens its own keys and nothing else."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from gateway_kit import as_root, ask, everything_under, nameless, pair

from landscape_kit import PATIENCE
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, new_identity
from mooring.controlplane.ports import LOOPBACK, free_port
from mooring.controlplane.probes import Prober, tls_context


@pytest.fixture
async def neighbour(landscape: Landscape) -> AsyncIterator[str]:
    """A tenant that has nothing yet: whatever appears there was written by somebody else."""
    tenant = new_identity()
    await landscape.etcd.add_tenant(tenant)
    yield tenant
    await landscape.etcd.remove_tenant(tenant)
    landscape.etcd.close()


async def test_an_api_server_cannot_read_or_write_another_prefix(
    landscape: Landscape, control_plane: ControlPlane, neighbour: str, tmp_path: Path
) -> None:
    own, _ = control_plane.programs()
    port = free_port()
    changes = {"--etcd-prefix": f"--etcd-prefix=/{neighbour}", "--secure-port": f"--secure-port={port}"}
    arguments = tuple(changes.get(one.partition("=")[0], one) for one in own.arguments)
    hostile = replace(own, arguments=arguments, directory=tmp_path)
    child = hostile.start()
    prober = Prober(port, control_plane.ca, control_plane.admin_certificate())
    try:
        async with asyncio.timeout(PATIENCE):
            while b"permission denied" not in hostile.log.read_bytes():
                await asyncio.sleep(0.05)
        assert not await prober.is_well("/readyz")
    finally:
        prober.close()
        await child.stop(grace=0)
        child.release()
    assert await landscape.etcd.count_keys(neighbour) == 0
    # The same program with the same certificate, on its own prefix, is the control plane that is ready.
    assert await control_plane.is_ready()
    assert await landscape.etcd.count_keys(control_plane.identity) > 100


async def test_the_gateway_takes_no_named_certificate_and_nobody_without_a_token(
    landscape: Landscape, control_plane: ControlPlane
) -> None:
    etcd = landscape.etcd
    named = pair(control_plane.directory / "pki", "etcd-client")
    for prefix in (f"/{control_plane.identity}/", f"/{landscape.platform.identity}/"):
        refused = await ask(etcd, named, "kv/range", **everything_under(prefix))
        assert (refused.code, b"CommonName" in refused.body) == (400, True)
        refused = await ask(etcd, nameless(etcd), "kv/range", **everything_under(prefix))
        assert (refused.code, b"permission denied" in refused.body) == (403, True)
        refused = await ask(etcd, nameless(etcd), "kv/deleterange", **everything_under(prefix))
        assert (refused.code, b"permission denied" in refused.body) == (403, True)
        found = await as_root(etcd, "kv/range", **everything_under(prefix), count_only=True)
        assert int(found["count"]) > 100
    refused = await ask(etcd, nameless(etcd), "auth/authenticate", name="root", password="guessed")
    assert refused.code == 400


async def test_without_a_certificate_of_etcds_authority_there_is_no_connection(
    landscape: Landscape, control_plane: ControlPlane
) -> None:
    etcd = landscape.etcd
    ca = etcd.ca_file.read_bytes()
    for certificate in (None, control_plane.admin_certificate()):
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            await _greet(etcd.ports.client, tls_context(ca, certificate))
    assert b"HTTP/1.1 200" in await _greet(etcd.ports.client, tls_context(ca, nameless(etcd)))


async def test_each_tenants_role_reaches_its_own_range_only(landscape: Landscape, neighbour: str) -> None:
    await landscape.etcd.add_tenant(neighbour)  # again is fine
    role = await as_root(landscape.etcd, "auth/role/get", role=neighbour)
    assert role["perm"] == [{"permType": "READWRITE", **everything_under(f"/{neighbour}/")}]
    user = await as_root(landscape.etcd, "auth/user/get", name=neighbour)
    assert user["roles"] == [neighbour]


async def _greet(port: int, context: ssl.SSLContext) -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=context)
    try:
        writer.write(b"GET /health HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n")
        return await reader.read()
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
