"""Small programs that live and die as a test wants it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from mooring.controlplane.processes import Child, Program

SLEEP = "exec sleep 600"


def script(directory: Path, text: str, *inputs: str) -> Program:
    return Program(name="one", executable=Path("/bin/sh"), arguments=("-c", text), directory=directory, inputs=inputs)


def found(program: Program) -> int | None:
    child = program.running()
    if child is None:
        return None
    child.release()
    return child.pid


def forge(program: Program, **changes: object) -> None:
    program.pid_file.write_text(json.dumps(json.loads(program.pid_file.read_bytes()) | changes))


@contextlib.contextmanager
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with a program of ours."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process
        finally:
            process.kill()


async def ended(child: Child) -> str:
    child.signal(signal.SIGKILL)
    how = await child.exited()
    child.release()
    return how


def started_elsewhere(directory: Path, *, before: str = "pass", after: str) -> None:
    """Have another Python start the program in the directory, and end as told."""
    code = (
        f"import os, signal; from pathlib import Path; {before};"
        "from mooring.controlplane.processes import Program;"
        f"arguments, directory = ('-c', {SLEEP!r}), Path({str(directory)!r});"
        "Program(name='one', executable=Path('/bin/sh'), arguments=arguments, directory=directory).start();"
        f"{after}"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
