"""Providers as processes, as a test wants them: programs written on the spot, on a landscape of the test's own.

The landscape's platform is the worker's own API server, by copies of the two files that tell where it is and whom to
trust; nothing that a test does to the landscape's directory does anything to that server.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from landscape_kit import is_alive
from mooring.api.providers import ClusterProvider
from mooring.controlplane.files import private_directory, write_state
from mooring.controlplane.landscape import Birth, Landscape
from mooring.controlplane.plane import ControlPlane
from mooring.controlplane.processes import is_locked, program_of
from mooring.kube import Client, Connection, MergePatch, Object, ObjectKey, load_connection, typed, untyped
from mooring.kube.errors import NotFound
from mooring.providers.deployment.grounds import Home, Progress
from mooring.providers.deployment.processes import Processes
from mooring.runtime import Clock, Manager
from mooring.testing.builders import an_object
from mooring.testing.managers import at_work, until

HERE = Path(__file__).parent
PROVIDERS = typed(ClusterProvider)
REVIEWS = untyped(
    group="authentication.k8s.io", plural="selfsubjectreviews", kind="SelfSubjectReview", namespaced=False
)
SLEEP = "exec sleep 600"
TOY = f"""
exec {sys.executable} -c '
import sys
sys.path.insert(0, "{HERE}")
from mooring.providers.sdk.program import run_provider
from toy_provider import ToyProvider
run_provider(ToyProvider, sys.argv[1:])
' "$@"
"""


@dataclass(slots=True)
class Quay:
    """A landscape's directory, the ground on it, and what was put there."""

    landscape: Landscape
    kube: Client
    home: Home
    programs: Path
    ground: Any = None  # set by whoever puts one there
    made: list[str] = field(default_factory=list)
    woken: list[ObjectKey] = field(default_factory=list)

    # -- programs -----------------------------------------------------------------------------------------------

    def program(self, name: str, text: str) -> Path:
        """An executable script, put in place of what was there."""
        draft = self.programs / f".{name}.new"
        draft.write_text(f"#!/bin/sh\n{text}\n")
        draft.chmod(0o755)
        return draft.replace(self.programs / name)

    def noting(self, name: str, *, init: str = "", run: str = SLEEP) -> Path:
        """A program that notes each start in a file, and what it does then; the file."""
        notes = self.programs / f"{name}.notes"
        self.program(name, f'echo "$1" >> {notes}\ncase "$1" in init) {init or ":"} ;; run) {run} ;; esac')
        return notes

    # -- objects ------------------------------------------------------------------------------------------------

    async def provider(self, image: str, **spec: Any) -> ClusterProvider:
        name = f"p-{uuid.uuid4().hex[:10]}"
        self.made.append(name)
        return await self.kube.create(PROVIDERS, an_object(ClusterProvider, name, spec={"image": image, **spec}))

    async def changed(self, provider: ClusterProvider, **spec: Any) -> ClusterProvider:
        return await self.kube.patch(PROVIDERS, provider.metadata.name, MergePatch({"spec": spec}))

    # -- the ground ---------------------------------------------------------------------------------------------

    async def initialised(
        self, provider: ClusterProvider, wanted: Callable[[Progress], object] = lambda seen: seen.done
    ) -> Progress:
        return await self._asked(self.ground.initialised, provider, wanted)

    async def running(
        self, provider: ClusterProvider, wanted: Callable[[Progress], object] = lambda seen: seen.done
    ) -> Progress:
        return await self._asked(self.ground.running, provider, wanted)

    async def up(self, provider: ClusterProvider) -> int:
        """Until its init is done and its process runs; the pid."""
        await self.initialised(provider)
        await self.running(provider)
        pid = self.pid(provider)
        assert pid is not None
        return pid

    async def gone(self, provider: ClusterProvider) -> None:
        async def ask() -> bool:
            return await self.ground.remove(provider)

        await until(ask, f"{provider.metadata.name} is gone")

    async def _asked(
        self,
        question: Callable[[ClusterProvider], Any],
        provider: ClusterProvider,
        wanted: Callable[[Progress], object],
    ) -> Progress:
        last: list[Progress] = []

        async def ask() -> Progress | None:
            last[:] = [await question(provider)]
            return last[0] if wanted(last[0]) else None

        return await until(ask, lambda: f"it is as wanted; it is {last}")

    # -- the world ----------------------------------------------------------------------------------------------

    def directory(self, provider: ClusterProvider) -> Path:
        return self.landscape.provider_directory(provider.metadata.name)

    def pid(self, provider: ClusterProvider, command: str = "run") -> int | None:
        """Of the live process, if there is one."""
        child = program_of(self.directory(provider), command).running()
        if child is None:
            return None
        child.release()
        return child.pid

    async def another_pid(self, provider: ClusterProvider, than: int) -> int:
        return await until(
            lambda: pid if (pid := self.pid(provider)) not in (None, than) else None, "another process runs"
        )

    async def whoami(self, provider: ClusterProvider, command: str = "run") -> str:
        """As whom the server knows the holder of the files of a command."""
        async with Client(load_connection(self.directory(provider) / f"{command}.kubeconfig")) as client:
            review: Object = await client.create(REVIEWS, {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind})
        return str(review["status"]["userInfo"]["username"])

    def move_platform(self, port: int) -> None:
        """As if its API server had come back on another port."""
        file = self.landscape.platform.directory / "ports.json"
        file.write_text(json.dumps(json.loads(file.read_bytes()) | {"api_server": port}))


def private_landscape(directory: Path, landscape: Landscape, plane: ControlPlane) -> Landscape:
    """A landscape without processes whose platform is the plane."""
    own = Landscape("test", directory, landscape.binaries)
    there = private_directory(directory / "clusters" / plane.identity / "pki").parent
    for name in ("ports.json", "pki/ca.crt"):
        shutil.copy(plane.directory / name, there / name)
    write_state(directory / "landscape.json", Birth(name="test", platform=plane.identity))
    return own


@contextlib.asynccontextmanager
async def a_quayside(world: Any, landscape: Landscape, plane: ControlPlane, directory: Path) -> AsyncIterator[Quay]:
    """A landscape and a place for programs, and nobody at work; whatever a test leaves there is ended."""
    programs = directory / "programs"
    programs.mkdir()
    own = private_landscape(directory / "landscape", landscape, plane)
    quay = Quay(own, world.kube, Home(environment="test", namespace=world.namespace), programs)
    try:
        yield quay
    finally:
        await clear(quay)


@contextlib.asynccontextmanager
async def grounded(
    quay: Quay, connection: Connection, *, clock: Clock | None = None, **how: Any
) -> AsyncIterator[Quay]:
    """The quay with a ground of its own at work, let go of at the end: what it started lives on."""
    async with Manager(connection, identity=uuid.uuid4().hex, clock=clock) as manager:
        quay.ground = ground = Processes(manager, quay.home, quay.landscape, **how)
        manager.background(lambda: ground.watch(quay.woken.append))
        async with at_work(manager):
            yield quay


async def clear(quay: Quay) -> None:
    """Whatever a test has left, of processes and of objects."""
    for name in quay.landscape.provider_names:
        await quay.landscape.stop_provider(name)
        directory = quay.landscape.provider_directory(name)
        assert not any(is_locked(directory / f"{command}.lock") for command in ("init", "run"))
    for name in quay.made:
        with contextlib.suppress(NotFound):
            await quay.kube.patch(PROVIDERS, name, MergePatch({"metadata": {"finalizers": None}}))
            await quay.kube.delete(PROVIDERS, name)


async def noted(notes: Path, text: str) -> None:
    """Until that is what programs have noted, and no more: one that has just begun may not have come to it yet."""
    await until(
        lambda: notes.exists() and notes.read_text() == text,
        lambda: f"{text!r} is noted; it is {notes.read_text()!r}",
    )


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


async def dead(pid: int) -> None:
    await until(lambda: not is_alive(pid), f"{pid} is dead")
