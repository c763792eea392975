"""One landscape per test run, shared by all parallel workers, and never left behind.

The run's directory belongs to the process that started pytest, which holds a lock in it. The first test that needs
the landscape starts it, whichever worker it runs on; the process that owns the run stops it at the end. A run that was
killed leaves its lock free: the next run finds it and clears up.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mooring.controlplane.binaries import fetch_binaries
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.processes import Program, is_locked
from mooring.controlplane.progress import Silent
from mooring.controlplane.toolsets import KUBERNETES

_PREFIX = "mooring-test-"


def begin_run() -> Path:
    """A directory for this run, held until we end; those of killed runs are cleared away."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if left.is_dir() and (left / "run.pid").exists() and not is_locked(left / "run.lock"):
            end_run(left)
    run = Path(tempfile.mkdtemp(prefix=_PREFIX))
    Program(name="run", executable=Path(), arguments=(), directory=run).become()
    return run


def end_run(run: Path) -> None:
    """Stop what the run started, and remove its directory."""
    landscape = _landscape(run)
    if landscape.exists:
        asyncio.run(landscape.stop())
    shutil.rmtree(run, ignore_errors=True)


def running_landscape(run: Path) -> Landscape:
    """The run's landscape, started by the first who asks. The caller lets go of it with ``release``."""
    landscape = _landscape(run)
    with _one_at_a_time(run / "start.lock"):
        asyncio.run(_start(landscape))
    return landscape


async def _start(landscape: Landscape) -> None:
    await landscape.start()
    landscape.release()  # handles belong to this event loop; the processes live on


def _landscape(run: Path) -> Landscape:
    return Landscape("test", run / "landscape", fetch_binaries(KUBERNETES, progress=Silent()))


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
