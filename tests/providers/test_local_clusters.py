"""Local clusters: made, found again, healed, upgraded and gone without a trace. All of them are real ones."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from local_kit import (
    API_SERVER,
    CONTROLLER_MANAGER,
    PATIENCE,
    Yard,
    a_yard,
    local_config,
    mended,
    newer_than,
    relabelled,
    scripts,
)

from landscape_kit import listening, processes_with, until
from mooring.controlplane.errors import NotReady
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.probes import Prober
from mooring.kube import Client
from mooring.kube.errors import Unauthorized
from mooring.providers.local import PLATFORM, LocalProvider
from mooring.providers.local.config import Resources
from mooring.providers.sdk.provider import Order, Refused
from mooring.testing.builders import SERVICE_ACCOUNTS
from mooring.testing.managers import until as until_async

_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


async def test_a_cluster_is_made_found_again_and_goes_without_a_trace(landscape: Landscape) -> None:
    async with a_yard(landscape) as yard:
        order = yard.order()
        with pytest.raises(NotReady):
            await yard.provider.admin_access(order)
        first = await yard.provider.ensure(order)
        assert (first.ready, first.reason) == (False, "Starting")
        known = await yard.until(order, lambda state: state.api_server)
        state = await yard.until_ready(order)
        # Somebody may have been quicker on the port, but then it was known, too.
        assert known.api_server.startswith("https://127.0.0.1:")
        assert (state.version, state.note["id"]) == (yard.version, state.info)
        assert [(one.name, one.url) for one in state.endpoints] == [("apiserver-external", state.api_server)]
        connection = await yard.provider.admin_access(order)
        assert connection.server == state.api_server
        async with Client(connection) as kube:
            await kube.get(SERVICE_ACCOUNTS, "default", namespace="default")
            assert (await kube.version()).removeprefix("v") == yard.version

        pids = [yard.pid(order, program) for program in (API_SERVER, CONTROLLER_MANAGER)]
        await yard.start_over()
        assert (await yard.provider.ensure(order)).ready  # at the first look: for its users nothing has happened
        assert [yard.pid(order, program) for program in (API_SERVER, CONTROLLER_MANAGER)] == pids

        ports = yard.plane(order).ports
        await yard.start_over()  # whoever deletes need not have made it
        await yard.until_gone(order)
        await yard.assert_nothing_is_left(order, ports.api_server, ports.controller_manager)
        await yard.until_gone(order)  # again is fine


async def test_what_opens_one_cluster_opens_no_other(landscape: Landscape) -> None:
    async with a_yard(landscape) as yard:
        bounds = Resources(memory="900Mi", cpus=1)
        one, other = yard.order("one", config=local_config(resources=bounds)), yard.order("other")
        await asyncio.gather(yard.until_ready(one), yard.until_ready(other))
        for program in (API_SERVER, CONTROLLER_MANAGER):  # and each is bound as its own configuration says
            assert _bounds_of(yard.pid(one, program)) == {"GOMEMLIMIT": "900MiB", "GOMAXPROCS": "1"}
            assert _bounds_of(yard.pid(other, program)) == {}
        planes = [yard.plane(one), yard.plane(other)]
        for name in ("ca.crt", "ca.key", "service-accounts.key", "server.key", "etcd-client.crt", "etcd-client.key"):
            contents = {(plane.directory / "pki" / name).read_bytes() for plane in planes}
            assert len(contents) == 2, name
        assert {plane.identity for plane in planes} <= await yard.landscape.etcd.tenants()

        body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}).encode()
        async with Client(await yard.provider.admin_access(one)) as kube:
            answer = await kube.raw("POST", f"{_ACCOUNT}/token", body=body, content_type="application/json")
        bearer = {"Authorization": f"Bearer {json.loads(answer)['status']['token']}"}
        for plane, expected in zip(planes, (403, 401), strict=True):  # known, but without rights; and unknown
            prober = Prober(plane.ports.api_server, plane.ca)
            told = await prober.ask("GET", _ACCOUNT, headers=bearer)
            prober.close()
            assert told is not None
            assert told.code == expected
        stolen = dataclasses.replace(
            await yard.provider.admin_access(other), credentials=(await yard.provider.admin_access(one)).credentials
        )
        async with Client(stolen) as kube:
            with pytest.raises(Unauthorized):
                await kube.get(SERVICE_ACCOUNTS, "default", namespace="default")


def _bounds_of(pid: int | None) -> dict[str, str]:
    """What the process itself was given."""
    given = (one.partition("=") for one in Path(f"/proc/{pid}/environ").read_text().split("\0"))
    return {name: value for name, _, value in given if name in ("GOMEMLIMIT", "GOMAXPROCS")}


async def test_killed_processes_come_back_and_those_who_wait_are_woken(landscape: Landscape) -> None:
    async with a_yard(landscape) as yard:
        order, woken = yard.order(), asyncio.Event()
        watching = asyncio.create_task(yard.provider.watch(lambda key: woken.set() if key == order.key else None))
        first = await yard.kill(order, API_SERVER)  # in the middle of its start
        assert (await yard.until_ready(order)).look_again is None  # there is no need to ask
        await yard.write(order)
        assert yard.pid(order, API_SERVER) != first

        for program in (API_SERVER, CONTROLLER_MANAGER):
            woken.clear()
            killed = await yard.kill(order, program)
            async with asyncio.timeout(PATIENCE):
                await woken.wait()
            state = await yard.provider.ensure(order)
            # Unless it was quicker than we are, it says so; the second end in a row comes with the log.
            assert state.ready or (program in state.message and "was killed by SIGKILL" in state.message)
            await yard.until_another(order, program, than=killed)
        await yard.until_ready(order)
        assert await yard.read(order) == "mooring"
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_a_program_that_keeps_dying_is_quoted_and_given_another_chance(
    landscape: Landscape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = scripts(tmp_path / "broken", "echo token=abcdefghijklmnop; echo there is no cheese left; exit 3")
    monkeypatch.setenv("MOORING_MORE_BINARIES", f"1.0.0={broken}")
    async with a_yard(landscape) as yard:
        order = yard.order(version="1.0.0")
        state = await yard.until(order, lambda state: state.reason == "KeepsDying")
        assert not state.ready
        assert "kube-apiserver exited with code 3" in state.message
        assert "there is no cheese left" in state.message
        assert "abcdefghijklmnop" not in state.message
        mended(landscape, broken)
        assert (await yard.until_ready(order)).message == ""


async def test_an_upgrade_keeps_the_data_and_there_is_no_way_back(
    landscape: Landscape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer version is a relabelled build of the same code."""
    async with a_yard(landscape) as yard:
        newer = newer_than(yard.version)
        programs = await asyncio.to_thread(relabelled, landscape, newer, tmp_path / "newer")
        monkeypatch.setenv("MOORING_MORE_BINARIES", f"{newer}={programs}")
        order = yard.order()
        await yard.until_ready(order)
        await yard.write(order)

        upgraded = dataclasses.replace(order, version=newer, running=yard.version)
        state = await yard.provider.ensure(upgraded)
        assert (state.ready, state.reason) == (False, "Upgrading")
        await yard.until_running(upgraded, API_SERVER)
        await yard.start_over()  # in the middle of it
        await yard.kill(upgraded, API_SERVER)  # and the API server itself
        state = await yard.until(upgraded, lambda state: state.ready)
        assert state.version == newer
        assert await yard.read(order) == "mooring"

        await yard.start_over()  # also without any memory of what ran
        with pytest.raises(Refused, match=f"runs {newer}.*older {yard.version}") as refusal:
            await yard.provider.ensure(order)
        assert refusal.value.reason == "DowngradeRefused"
        assert (await yard.until_ready(upgraded)).version == newer

        pid = yard.pid(order, API_SERVER)
        await yard.start_over()  # nor does a mistake in the configuration take it away
        spoiled = dataclasses.replace(upgraded, config=local_config(api_server_flags={"v": "9"}))
        with pytest.raises(Refused, match=r"apiServerFlags\[v\]"):
            await yard.provider.ensure(spoiled)
        await yard.until_ready(upgraded)
        assert yard.pid(order, API_SERVER) == pid


async def test_one_that_was_never_finished_goes_as_well(landscape: Landscape) -> None:
    async with a_yard(landscape) as yard:
        order = yard.order()
        await yard.until_running(order, API_SERVER)
        ports = yard.plane(order).ports
        pid = yard.pid(order, API_SERVER)
        assert pid is not None
        assert not await yard.provider.delete(order)
        os.kill(pid, signal.SIGKILL)  # in the middle of its end: it does not come back
        await yard.start_over()
        await yard.until_gone(order)
        await yard.assert_nothing_is_left(order, ports.api_server, ports.controller_manager)


async def test_orders_that_cannot_be_carried_out_start_nothing(landscape: Landscape) -> None:
    async with a_yard(landscape) as yard:
        unknown = yard.order(version="1.2.3")
        with pytest.raises(Refused, match=f"is 1.2.3, and the programs at hand are of {yard.version}"):
            await yard.provider.ensure(unknown)
        bad = yard.order(config=local_config(api_server_flags={"anonymous-auth": "true"}))
        with pytest.raises(Refused, match="anonymous-auth"):
            await yard.provider.ensure(bad)
        for order in (unknown, bad):
            await yard.assert_nothing_is_left(order)


async def test_clusters_follow_etcd_to_another_port(landscape: Landscape, tmp_path: Path) -> None:
    own = Landscape("moving", tmp_path / "moving", landscape.binaries)
    yard = Yard(own, LocalProvider(own))
    order = yard.order()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(own.stop)
        stack.push_async_callback(yard.provider.close)
        await own.start()
        await yard.until_ready(order)
        await yard.write(order)
        own.kept.add(own.control_plane("brokenbroken"))  # one that cannot follow: it keeps nobody else from it
        await stack.enter_async_context(_keeping(own))
        port, first = own.etcd.ports.client, yard.pid(order, API_SERVER)
        (etcd,) = processes_with(f"{own.etcd.directory}/data")
        os.kill(etcd, signal.SIGKILL)
        # Before anybody here hears of the end: the port is somebody else's.
        stack.enter_context(until(lambda: _listening(port), "the port is ours"))
        await yard.until_another(order, API_SERVER, than=first)
        await yard.until_ready(order)
        assert own.etcd.ports.client != port
        assert await yard.read(order) == "mooring"
        (etcd,) = processes_with(f"{own.etcd.directory}/data")
        os.kill(etcd, signal.SIGKILL)
        await until_async(
            lambda: processes_with(f"{own.etcd.directory}/data").keys() - {etcd}, "etcd is kept as before"
        )


@contextlib.asynccontextmanager
async def _keeping(landscape: Landscape) -> AsyncIterator[None]:
    task = asyncio.create_task(landscape.keep())
    try:
        await asyncio.sleep(0)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _listening(port: int) -> socket.socket | None:
    try:
        return listening(port)
    except OSError:
        return None


async def test_the_platform_is_a_cluster_that_stays(landscape: Landscape) -> None:
    async with a_yard(landscape) as yard:
        order: Order[Any] = dataclasses.replace(yard.order(), key=PLATFORM)
        state = await yard.provider.ensure(order)
        assert (state.ready, state.version) == (True, yard.version)
        assert state.api_server == yard.landscape.platform.server
        async with Client(await yard.provider.admin_access(order)) as kube:
            assert (await kube.version()).removeprefix("v") == yard.version
        newer = newer_than(yard.version)
        state = await yard.provider.ensure(dataclasses.replace(order, wanted=newer, version=newer))
        assert (state.ready, state.reason, state.version) == (False, "UpgradeRefused", yard.version)
        assert f"spec.kubernetes.version is {newer}" in state.message
        assert (await yard.provider.ensure(dataclasses.replace(order, wanted=yard.version))).ready
        with pytest.raises(Refused, match="goes with its landscape"):
            await yard.provider.delete(order)
        assert await yard.landscape.platform.is_ready()
