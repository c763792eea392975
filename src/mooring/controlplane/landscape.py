"""A landscape: one etcd and the platform's control plane, in one directory.

    landscape.json      its name and the identity of its platform
    mooring.lock .pid   who keeps it running (``mooring up``); .log if that one is detached
    etcd/               data, certificates, ports, lock, pid and log files
    clusters/<id>/      the same for each control plane; the platform is one of them
    providers/<name>/   the same for each provider that runs as a program of its own, with its kubeconfigs
    kubeconfig          only after somebody asked for it

All state is in this directory. The processes outlive whoever started them; :meth:`Landscape.start` finds them again.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from mooring.api.kubeconfigs import Document
from mooring.controlplane.binaries import Binaries
from mooring.controlplane.errors import Busy, ControlPlaneError, StateError
from mooring.controlplane.etcd import Etcd
from mooring.controlplane.files import private_directory, read_state, remove_tree, write_private, write_state
from mooring.controlplane.keeping import Keeper, trying_ports
from mooring.controlplane.plane import ID_PATTERN, ControlPlane, Executables, Served, new_identity, nothing
from mooring.controlplane.processes import Child, Program, program_of

log = logging.getLogger(__name__)

# Long enough for a week of work, short enough that a forgotten copy is worth little.
KUBECONFIG_LIFETIME = datetime.timedelta(days=7)
_STOPPING = 60.0
_AGAIN = 5.0  # seconds before a control plane that could not be renewed is tried again
# What a provider's program is run for, and what its two processes are called.
INIT, RUN = "init", "run"
_FILES = ("kubeconfig", "landscape.json", "mooring.pid")  # and their drafts, whose writer was killed


class Birth(msgspec.Struct, frozen=True, kw_only=True):
    """What a landscape must never forget."""

    name: str
    platform: Annotated[str, msgspec.Meta(pattern=f"^{ID_PATTERN}$")]


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
        # Control planes that somebody keeps beside the platform: they hear when etcd has moved.
        self.kept: set[ControlPlane] = set()

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        return self._birth_file.exists()

    @property
    def has_data(self) -> bool:
        """Whether etcd has begun to write, which it does only after the landscape was born."""
        return (self.etcd.directory / "data").exists()

    @property
    def is_here(self) -> bool:
        """Whether the directory is a landscape's, be it damaged or half begun, and not somebody else's."""
        return self.exists or self.keeper.lock_file.exists()

    @property
    def platform(self) -> ControlPlane:
        """The control plane that holds Mooring's own objects."""
        if self._platform is None:
            self._platform = self.control_plane(read_state(self._birth_file, Birth).platform)
        return self._platform

    def control_plane(self, identity: str, executables: Executables | None = None) -> ControlPlane:
        """A control plane of this landscape, there already or still to be started; by itself, of the same version."""
        own = Executables(
            api_server=self.binaries.path("kube-apiserver"),
            controller_manager=self.binaries.path("kube-controller-manager"),
        )
        return ControlPlane(self.directory / "clusters" / identity, identity, executables or own, self.etcd)

    def provider_directory(self, name: str) -> Path:
        """Where the processes of a provider live that has a program of its own."""
        return self._providers / name

    @property
    def provider_names(self) -> list[str]:
        """The providers that have such a directory, be their processes alive or not."""
        return sorted(path.name for path in self._providers.glob("*") if path.is_dir())

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

    @property
    def _providers(self) -> Path:
        return self.directory / "providers"

    @property
    def _bin(self) -> Path:
        return self.directory / ".deleted"

    def admin_kubeconfig(self, *, lifetime: datetime.timedelta = KUBECONFIG_LIFETIME) -> Document:
        return self.platform.admin_kubeconfig(name=self.context, lifetime=lifetime)

    def write_kubeconfig(self) -> Path:
        """An admin's kubeconfig on disk, for whoever asked for one."""
        write_private(self.kubeconfig_file, msgspec.yaml.encode(self.admin_kubeconfig()))
        return self.kubeconfig_file

    # -- its life -----------------------------------------------------------------------------------------------

    def take(self, *, to: str = "up") -> int:
        """Become the one who works on this landscape, until the returned descriptor is closed."""
        self._refuse_foreign_directory()
        held = keeper_of(self.directory, to).become()
        if held is None:
            raise Busy(f"Another mooring process is at work on the landscape in {self.directory}.")
        return held

    async def start(self, told: Callable[[str], None] = lambda _: None, served: Served = nothing) -> None:
        """Find or start everything and wait until it is ready. ``told`` hears what is.

        ``served`` is done as soon as the platform's API server answers, while the rest is still waited for.
        """
        self._be_born()
        await trying_ports(lambda: self._start(told, served))
        self._refresh_kubeconfig()

    async def _start(self, told: Callable[[str], None], served: Served) -> None:
        etcd = await self._etcd_keeper.ensure()
        # The API server takes a second before it needs etcd, so both start at once.
        self.platform.prepare()
        await self.platform.api_server.ensure()
        await self.etcd.ready(etcd)
        await self.etcd.add_tenant(self.platform.identity)
        await self.etcd.protect()
        told(f"etcd at {self.etcd.url}")
        await self.platform.ready(served)
        told(f"Kubernetes at {self.platform.server}")

    async def keep(self, moved: Callable[[], None] = lambda: None) -> None:
        """Restart what dies. Runs until cancelled. ``moved`` hears of a new API server: its port may be, too."""

        def restarted() -> None:
            self._refresh_kubeconfig()
            moved()

        async with asyncio.TaskGroup() as group:

            def etcd_restarted() -> None:
                for plane in (self.platform, *self.kept):
                    group.create_task(self._renew(plane))

            group.create_task(self._etcd_keeper.keep(on_restart=etcd_restarted))
            group.create_task(self.platform.keep(on_restart=restarted))

    async def _renew(self, plane: ControlPlane) -> None:
        """Have the plane follow etcd. One whose files are damaged keeps nobody else waiting, etcd least of all."""
        while plane is self.platform or plane in self.kept:
            try:
                plane.api_server.renew()
            except (ControlPlaneError, OSError) as error:
                log.warning("%s cannot follow etcd yet (%s)", plane.identity, error)
            else:
                return
            await asyncio.sleep(_AGAIN)

    async def stop(self) -> None:
        """Stop all processes of this landscape, whoever started them; the data stays."""
        if self.directory.exists():
            # Providers first: what they have begun, they can still tell the platform.
            providers = (self.stop_provider(name) for name in self.provider_names)
            ends = await asyncio.gather(*providers, return_exceptions=True)
            ends += await asyncio.gather(*(plane.stop() for plane in self._planes()), return_exceptions=True)
            await self._etcd_keeper.stop()
            if failures := [end for end in ends if isinstance(end, BaseException)]:
                raise BaseExceptionGroup("not everything could be stopped", failures)
        self.etcd.close()

    async def stop_provider(self, name: str) -> None:
        """Stop the processes of one provider, whoever started them."""
        directory = self.provider_directory(name)
        for command in (RUN, INIT):
            await Keeper(command, directory, partial(program_of, directory, command)).stop()

    def release(self) -> None:
        """Let go of the processes, which live on."""
        if self._platform is not None:
            self._platform.release()
        self._etcd_keeper.release()
        self.etcd.close()

    def purge(self) -> None:
        """Remove all files of a landscape that was stopped and taken; those that are not ours stay.

        Data are moved out of the way before anything is deleted, so that a landscape is there or not there, but
        never half; the lock goes last, so that nobody begins a new one in the middle of it.
        """
        trees = (self.directory / "clusters", self._providers, self.etcd.directory)
        with contextlib.suppress(StateError):  # a full disk may not take another directory: then at once
            private_directory(self._bin)
            for path in (*trees, self._birth_file):
                with contextlib.suppress(FileNotFoundError):
                    path.rename(self._bin / f"{path.name}.{time.monotonic_ns()}")
        for path in (self._bin, *trees):
            remove_tree(path)
        ours = (*_FILES, *(f".{name}.*" for name in _FILES), self.keeper.log.name, self.keeper.lock_file.name)
        for path in (path for pattern in ours for path in self.directory.glob(pattern)):
            path.unlink(missing_ok=True)
        try:
            self.directory.rmdir()
        except OSError as error:
            raise StateError(
                f"The landscape is deleted, but {self.directory} is not: it holds files of somebody else."
            ) from error

    def traces(self) -> dict[str, Program]:
        """Everything that may be running here, by name; behind whose it is, if it is not the platform's."""
        found = {"etcd": program_of(self.etcd.directory, "etcd")}
        if self._platform is not None:
            found |= {program.name: program for program in self._platform.traces()}
        for plane in self._planes():
            if plane is not self._platform:
                found |= {f"{plane.identity}/{program.name}": program for program in plane.traces()}
        for name in self.provider_names:
            for command in (INIT, RUN):
                found[f"{name}/{command}"] = program_of(self.provider_directory(name), command)
        return found

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
        # With data there but the file gone, a new identity would mean an empty platform beside the old one's keys.
        if not self.exists and not self.has_data:
            write_state(self._birth_file, Birth(name=self.name, platform=new_identity()))

    def _refresh_kubeconfig(self) -> None:
        """The port may have changed."""
        if self.kubeconfig_file.exists():
            self.write_kubeconfig()

    def _refuse_foreign_directory(self) -> None:
        if not self.is_here and self.directory.is_dir() and any(self.directory.iterdir()):
            raise StateError(
                f"{self.directory} holds something else than a landscape. Choose another place with --dir, or "
                f"another name with --landscape."
            )


def keeper_of(directory: Path, word: str = "up") -> Program:
    """Whoever works on a landscape: ``mooring up``, or ``mooring down`` for a while."""
    return Program(name="mooring", executable=Path("mooring"), arguments=(word,), directory=directory)


async def stop_keeper(directory: Path) -> bool:
    """Have a running ``mooring up`` stop its landscape, or wait for a ``mooring down`` that does; was there one?"""
    keeper: Child | None = keeper_of(directory).running()
    if keeper is None or keeper.pid == os.getpid():
        return False
    if keeper.record.fingerprint == keeper_of(directory, "down").fingerprint:
        await keeper.exited()
    else:
        await keeper.stop(grace=_STOPPING)
    keeper.release()
    return True
