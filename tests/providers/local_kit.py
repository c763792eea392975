"""Local clusters as a test wants them: ordered by hand, looked at until they are so, and gone at the end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from landscape_kit import processes_with
from mooring.api.kinds import Metadata
from mooring.api.references import LocalReference
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, identity_for
from mooring.controlplane.ports import is_free
from mooring.kube import Client, ObjectKey
from mooring.providers.local import LocalConfig, LocalProvider
from mooring.providers.local.config import LocalConfigSpec
from mooring.providers.sdk.provider import Order, State
from mooring.testing.builders import CONFIG_MAPS, config_map

PATIENCE = 200.0  # seconds; only ever used up by a test that fails
API_SERVER, CONTROLLER_MANAGER = "kube-apiserver", "kube-controller-manager"


def local_config(name: str = "default", **spec: Any) -> LocalConfig:
    return LocalConfig(
        metadata=Metadata(name=name), spec=LocalConfigSpec(provider_ref=LocalReference(name="local"), **spec)
    )


@dataclass(slots=True)
class Yard:
    """A provider on the run's landscape, and what was ordered from it."""

    landscape: Landscape
    provider: LocalProvider
    ordered: list[Order[LocalConfig]] = field(default_factory=list)

    @property
    def version(self) -> str:
        """Of the landscape's own programs."""
        return str(self.landscape.binaries.programs[API_SERVER].version).removeprefix("v")

    def order(self, name: str = "one", **parts: Any) -> Order[LocalConfig]:
        usual = {"config": local_config(), "version": self.version, "profile": "test.local.default", "variant": ""}
        made: Order[LocalConfig] = Order(key=ObjectKey("yard", name), **{"uid": str(uuid4())} | usual | parts)
        self.ordered.append(made)
        return made

    def plane(self, order: Order[LocalConfig]) -> ControlPlane:
        """For a look: the provider has its own."""
        return self.landscape.control_plane(identity_for(order.uid))

    def pid(self, order: Order[LocalConfig], program: str) -> int | None:
        """Of the live process, if there is one."""
        file = self.plane(order).directory / f"{program}.pid"
        with contextlib.suppress(OSError, ValueError):
            pid = int(json.loads(file.read_bytes())["pid"])
            return pid if pid in processes_with(f"/{identity_for(order.uid)}/") else None
        return None

    async def until(self, order: Order[LocalConfig], wanted: Callable[[State], object]) -> State:
        """Order it again and again, until it is so."""
        async with asyncio.timeout(PATIENCE):
            while not wanted(state := await self.provider.ensure(order)):
                await asyncio.sleep(0.02)
        return state

    async def until_ready(self, order: Order[LocalConfig]) -> State:
        return await self.until(order, lambda state: state.ready)

    async def until_running(self, order: Order[LocalConfig], program: str) -> int:
        """Until such a process is there; its pid."""
        async with asyncio.timeout(PATIENCE):
            while (pid := self.pid(order, program)) is None:
                await self.provider.ensure(order)
                await asyncio.sleep(0.02)
        return pid

    async def until_gone(self, order: Order[LocalConfig]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await self.provider.delete(order):
                await asyncio.sleep(0.02)

    async def kill(self, order: Order[LocalConfig], program: str) -> int:
        pid = await self.until_running(order, program)
        os.kill(pid, signal.SIGKILL)
        return pid

    async def until_another(self, order: Order[LocalConfig], program: str, than: int) -> int:
        """Until somebody has started the program again; its pid."""
        async with asyncio.timeout(PATIENCE):
            while (pid := self.pid(order, program)) in (None, than):
                await asyncio.sleep(0.02)
        return int(pid or 0)

    async def write(self, order: Order[LocalConfig]) -> None:
        """Something into the cluster, to be found again."""
        async with Client(await self.provider.admin_access(order)) as kube:
            await kube.create(CONFIG_MAPS, config_map("kept", "default", {"word": "mooring"}))

    async def read(self, order: Order[LocalConfig]) -> str:
        async with Client(await self.provider.admin_access(order)) as kube:
            return str((await kube.get(CONFIG_MAPS, "kept", namespace="default"))["data"]["word"])

    async def start_over(self) -> None:
        """As after a restart of the controllers."""
        await self.provider.close()
        self.provider = LocalProvider(self.landscape)

    async def assert_nothing_is_left(self, order: Order[LocalConfig], *ports: int) -> None:
        identity, etcd = identity_for(order.uid), self.landscape.etcd
        assert processes_with(f"/{identity}/") == {}
        assert not self.plane(order).directory.exists()
        assert await etcd.count_keys(identity) == 0
        assert identity not in await etcd.tenants()
        assert identity not in await etcd.roles()
        assert all(map(is_free, ports))


@contextlib.asynccontextmanager
async def a_yard(landscape: Landscape) -> AsyncIterator[Yard]:
    """Its own handles on the landscape of the run: those of another test belong to another event loop."""
    own = Landscape(landscape.name, landscape.directory, landscape.binaries)
    yard = Yard(own, LocalProvider(own))
    try:
        yield yard
    finally:
        for order in yard.ordered:
            await yard.until_gone(order)
        await yard.provider.close()
        own.release()


def relabelled(landscape: Landscape, version: str, directory: Path) -> Path:
    """The landscape's programs with another version written into them: the same code, so no real upgrade."""
    directory.mkdir()
    own = str(landscape.binaries.programs[API_SERVER].version)
    old, new = own.encode(), f"v{version}".encode()
    assert len(old) == len(new)
    for name in (API_SERVER, CONTROLLER_MANAGER):
        program = landscape.binaries.path(name).read_bytes()
        assert old in program
        (directory / name).write_bytes(program.replace(old, new))
        (directory / name).chmod(0o755)
    return directory


def newer_than(version: str) -> str:
    """The last patch release of its decade."""
    major, minor, patch = version.split(".")
    newer = f"{major}.{minor}.{patch[:-1]}9"
    assert newer != version
    return newer


def scripts(directory: Path, text: str) -> Path:
    """Programs that are no Kubernetes."""
    directory.mkdir()
    for name in (API_SERVER, CONTROLLER_MANAGER):
        (directory / name).write_text(f"#!/bin/sh\n{text}\n")
        (directory / name).chmod(0o755)
    return directory


def mended(landscape: Landscape, directory: Path) -> None:
    """The real programs in place of the scripts."""
    for name in (API_SERVER, CONTROLLER_MANAGER):
        draft = directory / f"{name}.new"
        shutil.copy(landscape.binaries.path(name), draft)
        draft.replace(directory / name)
