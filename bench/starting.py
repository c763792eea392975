"""Bars ``up`` and ``control-plane``: how much our own part of a start costs."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from bench.bars import Limit, Result, compared, take_turns
from bench.grounds import FIRST_FRUIT, admin_pem, binaries, directory, landscape, number_from
from mooring.controlplane.etcd import Etcd
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, new_identity

_MOORING = Path(sys.executable).with_name("mooring")
_BARE = Path(__file__).with_name("bare_start.py")


async def up() -> list[Result]:
    """Warm ``mooring up`` on a new empty directory; floor: etcd and kube-apiserver to /readyz."""
    value, floor = await take_turns("up", _up, _bare_etcd_and_api_server)
    return [compared("up", value, floor, "s", Limit("≤ 1.3 ×", at_most=1.3))]


async def control_plane() -> list[Result]:
    """A further control plane until its default ServiceAccount exists; floor: both programs bare."""
    async with landscape() as made:
        value, floor = await take_turns(
            "control-plane", lambda _: _control_plane(made), lambda _: _bare_control_plane(made)
        )
    return [compared("control-plane", value, floor, "s", Limit("≤ 1.1 ×", at_most=1.1))]


async def _up(_turn: int) -> float:
    with directory() as path:
        begun = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            _MOORING, "up", "--detach", "--dir", path, stdout=asyncio.subprocess.DEVNULL
        )
        code = await process.wait()
        took = time.perf_counter() - begun
        down = await asyncio.create_subprocess_exec(
            _MOORING, "down", "--purge", "--dir", path, stdout=asyncio.subprocess.DEVNULL
        )
        if code or await down.wait():
            raise SystemExit("mooring up or down failed")
        return took


async def _bare_etcd_and_api_server(_turn: int) -> float:
    with directory() as path:
        programs = binaries()
        etcd = Etcd(path / "etcd", programs.path("etcd"))
        etcd_program = etcd.prepare()
        plane = Landscape("bare", path, programs).control_plane(new_identity())
        plane.etcd = etcd
        plane.prepare()
        return await _bare(path, plane, [etcd_program, plane.programs()[0]], "/readyz")


async def _control_plane(made: Landscape) -> float:
    plane = made.control_plane(new_identity())
    try:
        begun = time.perf_counter()
        await plane.start()
        return time.perf_counter() - begun
    finally:
        await plane.delete()


async def _bare_control_plane(made: Landscape) -> float:
    plane = made.control_plane(new_identity())
    try:
        plane.prepare()
        await made.etcd.add_tenant(plane.identity)
        return await _bare(plane.directory, plane, list(plane.programs()), FIRST_FRUIT)
    finally:
        await plane.delete()


async def _bare(path: Path, plane: ControlPlane, programs: list, question: str) -> float:
    """The programs with the very flags that we give them, started at once by a process that knows nothing of us."""
    spec = {
        "programs": [[str(program.executable), *program.arguments] for program in programs],
        "port": plane.ports.api_server,
        "path": question,
        "ca": str(plane.directory / "pki" / "ca.crt"),
        "certificate": str(admin_pem(plane, path / "admin.pem")),
        "log": str(path / "bare.log"),
    }
    file = path / "spec.json"
    file.write_text(json.dumps(spec))
    return await number_from(_BARE, file)
