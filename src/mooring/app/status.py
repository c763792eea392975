"""What a landscape looks like right now, as one value that text and JSON are made from."""

from __future__ import annotations

import asyncio
import time
from enum import StrEnum
from pathlib import Path

import msgspec

from mooring.app.landscapes import is_ready
from mooring.controlplane.errors import EtcdError, StateError
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.processes import Program, is_locked, program_of


class State(StrEnum):
    RUNNING = "Running"  # all is well and kept so
    STARTING = "Starting"  # 'mooring up' is at work and has not yet said that all is ready
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
    reason: str = ""  # what is wrong, if something is
    server: str | None = None
    kubernetes: str | None = None
    components: tuple[Component, ...] = ()
    alarms: tuple[str, ...] = ()


async def status(landscape: Landscape) -> Status:
    """Look at the landscape; changes nothing, and has an answer whatever is damaged."""
    kept = is_locked(landscape.keeper.lock_file)
    seen = Status(landscape=landscape.name, state=State.ABSENT, directory=str(landscape.directory))
    if not landscape.exists and not landscape.has_data:
        return msgspec.structs.replace(seen, state=State.STARTING) if kept else seen
    try:
        return await _looked_at(landscape, seen, kept=kept)
    except StateError as error:
        components = _components(landscape)
        state = State.DEGRADED if any(one.running for one in components) else State.STOPPED
        return msgspec.structs.replace(seen, state=state, reason=str(error), components=components)


async def _looked_at(landscape: Landscape, seen: Status, *, kept: bool) -> Status:
    platform = landscape.platform
    components = _components(landscape)
    ready, alarms = await asyncio.gather(is_ready(landscape), _alarms(landscape))
    own = tuple(one for one in components if "/" not in one.name)
    state = _state(landscape, own, kept=kept, ready=ready and not alarms)
    return msgspec.structs.replace(
        seen,
        state=state,
        reason=_reason(own, alarms) if state is State.DEGRADED else "",
        server=platform.server if platform.was_prepared else None,
        kubernetes=landscape.binaries.programs["kube-apiserver"].version,
        components=components,
        alarms=alarms,
    )


def _state(landscape: Landscape, components: tuple[Component, ...], *, kept: bool, ready: bool) -> State:
    running = [component.running for component in components]
    if not any(running):
        return State.STARTING if kept else State.STOPPED
    if all(running) and ready:
        return State.RUNNING if kept else State.UNATTENDED
    keeper = landscape.keeper.recorded()
    return State.STARTING if kept and keeper is not None and not keeper.ready else State.DEGRADED


def _reason(components: tuple[Component, ...], alarms: tuple[str, ...]) -> str:
    """What is wrong, in a sentence for each."""
    reasons = [f"etcd raised the alarm {alarm}." for alarm in alarms]
    for one in components:
        if not one.running:
            how = f"; the one before {one.last_exit}" if one.last_exit else ""
            last = program_of(Path(one.log).parent, one.name).last_lines(1)
            reasons.append(f"{one.name} is not running{how}." + (f" The end of its log: {last}" if last else ""))
    return " ".join(reasons) or "All processes run, but Kubernetes does not answer that it is ready."


def _components(landscape: Landscape) -> tuple[Component, ...]:
    """The processes of etcd and the platform, and those of other control planes that run."""
    found = [_component(name, program) for name, program in landscape.traces().items()]
    return tuple(one for one in found if one.running or "/" not in one.name)


def _component(name: str, program: Program) -> Component:
    child, record = program.running(), program.recorded()
    restarts, last_exit = (record.restarts, record.last_exit) if record is not None else (0, "")
    log = str(program.log)
    if child is None:
        return Component(name=name, running=False, log=log, restarts=restarts, last_exit=last_exit)
    child.release()
    return Component(
        name=name,
        running=True,
        log=log,
        pid=child.pid,
        up_seconds=round(max(0.0, time.time() - child.record.started), 1),
        memory_bytes=_memory(child.pid),
        restarts=restarts,
        last_exit=last_exit,
    )


async def _alarms(landscape: Landscape) -> tuple[str, ...]:
    if not is_locked(program_of(landscape.etcd.directory, "etcd").lock_file):
        return ()
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
