"""What the measurements stand on: landscapes in a directory that is removed, and processes that answer a number."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from mooring.controlplane.binaries import Binaries, find_binaries
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, new_identity
from mooring.controlplane.toolsets import KUBERNETES

FIRST_FRUIT = "/api/v1/namespaces/default/serviceaccounts/default"


def binaries() -> Binaries:
    return find_binaries(KUBERNETES)


@contextlib.contextmanager
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mooring-bench-", ignore_cleanup_errors=True) as path:
        yield Path(path)


@contextlib.asynccontextmanager
async def landscape() -> AsyncIterator[Landscape]:
    """A running landscape."""
    with directory() as path:
        made = Landscape("bench", path / "landscape", binaries())
        try:
            await made.start()
            yield made
        finally:
            await made.stop()


@contextlib.asynccontextmanager
async def fresh_plane(made: Landscape) -> AsyncIterator[ControlPlane]:
    """A further control plane on a new prefix, ready."""
    plane = made.control_plane(new_identity())
    try:
        await plane.start()
        yield plane
    finally:
        await plane.delete()


def admin_pem(plane: ControlPlane, path: Path) -> Path:
    """An administrator's key and certificate in one file, for a floor that knows nothing of ours."""
    issued = plane.admin_certificate()
    path.write_bytes(issued.key + issued.certificate)
    return path


async def number_from(*argv: str | Path) -> float:
    """The number that a process of its own prints last."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *map(str, argv), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parent.parent
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"{argv} failed")
    return float(output.split()[-1])
