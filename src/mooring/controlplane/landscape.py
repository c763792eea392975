"""A landscape: one etcd and the platform's control plane, in one directory.

    landscape.json      its name and the identity of its platform
    mooring.lock .pid   who keeps it running (``mooring up``); .log if that one is detached
    etcd/               data, certificates, ports, lock, pid and log files
    clusters/<id>/      the same for each control plane; the platform is one of them
    kubeconfig          only after somebody asked for it

All state is in this directory. The processes outlive whoever started them; :meth:`Landscape.start` finds them again.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mooring.api.kubeconfigs import Document
from mooring.controlplane.binaries import Binaries
from mooring.controlplane.errors import Busy, StateError
from mooring.controlplane.etcd import Etcd
from mooring.controlplane.files import private_directory, read_state, write_private, write_state
from mooring.controlplane.keeping import Keeper
from mooring.controlplane.plane import ControlPlane, Executables, new_identity
from mooring.controlplane.processes import Child, Program

# Long enough for a week of work, short enough that a forgotten copy is worth little.
KUBECONFIG_LIFETIME = datetime.timedelta(days=7)
_STOPPING = 60.0


class Birth(msgspec.Struct, frozen=True, kw_only=True):
    """What a landscape must never forget."""

    name: str
    platform: str


@dataclass(eq=False)
class Landscape:
    """A landscape, by its directory. Making the object touches nothing."""

    name: str
    directory: Path
    binaries: Binaries

    def __post_init__(self) -> None:
        self.etcd = Etcd(self.directory / "etcd", self.binaries.path("etcd"))
        self._etcd_keeper = Keeper("etcd", self.etcd.directory, self.etcd.prepare)
        self._platform: ControlPlane | None = None

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        return self._birth_file.exists()

    @property
    def platform(self) -> ControlPlane:
        """The control plane that holds Mooring's own objects."""
        if self._platform is None:
            self._platform = self.control_plane(read_state(self._birth_file, Birth).platform)
        return self._platform

    def control_plane(self, identity: str) -> ControlPlane:
        """A control plane of this landscape, there already or still to be started."""
        executables = Executables(
            api_server=self.binaries.path("kube-apiserver"),
            controller_manager=self.binaries.path("kube-controller-manager"),
        )
        return ControlPlane(self.directory / "clusters" / identity, identity, executables, self.etcd)

    @property
    def context(self) -> str:
        """The name of its context in a kubeconfig."""
        return "mooring" if self.name == "default" else f"mooring-{self.name}"

    @property
    def kubeconfig_file(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def keeper(self) -> Program:
        """The ``mooring up`` that keeps it running, seen as a program with a lock."""
        return keeper_of(self.directory)

    @property
    def _birth_file(self) -> Path:
        return self.directory / "landscape.json"

    def admin_kubeconfig(self, *, lifetime: datetime.timedelta = KUBECONFIG_LIFETIME) -> Document:
        return self.platform.admin_kubeconfig(name=self.context, lifetime=lifetime)

    def write_kubeconfig(self) -> Path:
        """An admin's kubeconfig on disk, for whoever asked for one."""
        write_private(self.kubeconfig_file, msgspec.yaml.encode(self.admin_kubeconfig()))
        return self.kubeconfig_file

    # -- its life -----------------------------------------------------------------------------------------------

    def take(self) -> int:
        """Become the one who works on this landscape, until the returned descriptor is closed."""
        held = self.keeper.become()
        if held is None:
            raise Busy(f"Another mooring process is at work on the landscape in {self.directory}.")
        return held

    async def start(self, told: Callable[[str], None] = lambda _: None) -> None:
        """Find or start everything and wait until it is ready. ``told`` hears what is."""
        self._be_born()
        etcd = await self._etcd_keeper.ensure()
        # The API server takes a second before it needs etcd, so both start at once.
        self.platform.prepare()
        await self.platform.api_server.ensure()
        await self.etcd.ready(etcd)
        await self.etcd.add_tenant(self.platform.identity)
        await self.etcd.protect()
        told(f"etcd at {self.etcd.url}")
        await self.platform.ready()
        told(f"Kubernetes at {self.platform.server}")
        if self.kubeconfig_file.exists():
            self.write_kubeconfig()  # a port may have changed

    async def keep(self) -> None:
        """Restart what dies. Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._etcd_keeper.keep(on_restart=self.platform.api_server.renew))
            group.create_task(self.platform.keep())

    async def stop(self) -> None:
        """Stop all processes of this landscape, whoever started them; the data stays."""
        if self.directory.exists():
            await asyncio.gather(*(plane.stop() for plane in self._planes()))
            await self._etcd_keeper.stop()
        self.etcd.close()

    def release(self) -> None:
        """Let go of the processes, which live on."""
        if self._platform is not None:
            self._platform.release()
        self._etcd_keeper.release()
        self.etcd.close()

    def purge(self) -> None:
        """Remove the directory of a landscape that was stopped."""
        try:
            shutil.rmtree(self.directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StateError(f"Cannot remove {error.filename or self.directory}: {error.strerror}.") from error

    def programs(self) -> tuple[Program, ...]:
        """Everything that should be running, for a look from outside."""
        return (self.etcd.program(), *self.platform.programs())

    def _planes(self) -> list[ControlPlane]:
        """All control planes, found by their directories: a damaged landscape.json must not keep them running."""
        known = self._platform
        found = [path.name for path in (self.directory / "clusters").glob("*") if path.is_dir()]
        return [
            known if known is not None and known.identity == identity else self.control_plane(identity)
            for identity in found
        ]

    def _be_born(self) -> None:
        private_directory(self.directory)
        if not self.exists:
            write_state(self._birth_file, Birth(name=self.name, platform=new_identity()))


def keeper_of(directory: Path) -> Program:
    return Program(name="mooring", executable=Path("mooring"), arguments=("up",), directory=directory)


async def stop_keeper(directory: Path) -> bool:
    """Have a running ``mooring up`` stop its landscape; tells whether there was one."""
    keeper: Child | None = keeper_of(directory).running()
    if keeper is None or keeper.pid == os.getpid():
        return False
    await keeper.stop(grace=_STOPPING)
    keeper.release()
    return True
