"""What a landscape looks like right now, as one value that text and JSON are made from."""

from __future__ import annotations

import asyncio
import time
from enum import StrEnum
from pathlib import Path

import msgspec

from mooring.app.landscapes import is_ready
from mooring.controlplane.errors import EtcdError
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.processes import Program, is_locked


class State(StrEnum):
    RUNNING = "Running"  # all is well and kept so
    STARTING = "Starting"  # 'mooring up' is at work and not everything is ready yet
    UNATTENDED = "Unattended"  # all is well, but nobody would restart what dies
    DEGRADED = "Degraded"  # something runs, something does not
    STOPPED = "Stopped"
    ABSENT = "Absent"  # there is no such landscape


class Component(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One process of the landscape."""

    name: str
    running: bool
    log: str
    pid: int | None = None
    up_seconds: float | None = None
    memory_bytes: int | None = None
    restarts: int = 0
    last_exit: str = ""


class Status(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A landscape as a person or a script wants to know it."""

    landscape: str
    state: State
    directory: str
    server: str | None = None
    kubernetes: str | None = None
    components: tuple[Component, ...] = ()
    alarms: tuple[str, ...] = ()


async def status(landscape: Landscape) -> Status:
    """Look at the landscape; changes nothing."""
    directory = str(landscape.directory)
    if not landscape.exists or not (landscape.platform.directory / "ports.json").exists():
        state = State.STARTING if is_locked(landscape.keeper.lock_file) else State.ABSENT
        state = State.STOPPED if state is State.ABSENT and landscape.exists else state
        return Status(landscape=landscape.name, state=state, directory=directory)
    components = tuple(_component(program) for program in landscape.programs())
    ready, alarms = await asyncio.gather(is_ready(landscape), _alarms(landscape))
    return Status(
        landscape=landscape.name,
        state=_state(landscape, components, ready=ready and not alarms),
        directory=directory,
        server=landscape.platform.server,
        kubernetes=landscape.binaries.programs["kube-apiserver"].version,
        components=components,
        alarms=alarms,
    )


def _state(landscape: Landscape, components: tuple[Component, ...], *, ready: bool) -> State:
    kept = is_locked(landscape.keeper.lock_file)
    running = [component.running for component in components]
    if not any(running):
        return State.STARTING if kept else State.STOPPED
    if all(running) and ready:
        return State.RUNNING if kept else State.UNATTENDED
    never_died = all(component.restarts == 0 for component in components)
    return State.STARTING if kept and never_died else State.DEGRADED


def _component(program: Program) -> Component:
    child = program.running()
    if child is None:
        return Component(name=program.name, running=False, log=str(program.log))
    child.release()
    return Component(
        name=program.name,
        running=True,
        log=str(program.log),
        pid=child.pid,
        up_seconds=round(max(0.0, time.time() - child.record.started), 1),
        memory_bytes=_memory(child.pid),
        restarts=child.record.restarts,
        last_exit=child.record.last_exit,
    )


async def _alarms(landscape: Landscape) -> tuple[str, ...]:
    try:
        return tuple(await landscape.etcd.alarms())
    except EtcdError:
        return ()  # that etcd does not answer shows in its own row
    finally:
        landscape.etcd.close()


def _memory(pid: int) -> int | None:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), None)
