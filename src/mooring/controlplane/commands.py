"""Helper programs that do a piece of work and end: go and pip. Servers, which stay, are started elsewhere.

Their output is read line by line while they run, so that progress can be told. They get a process group of
their own, and whatever takes us away from waiting for them (Ctrl-C, an error in our own code) takes the whole
group along: a compiler must not go on in the background after the person said stop.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

# go removes its temporary files when it is interrupted; it gets this long to do so.
_PATIENCE = 5.0
_REMEMBERED_LINES = 200


@dataclass(frozen=True, slots=True)
class Ended:
    """How a helper program ended, and the last lines that it said."""

    code: int
    lines: tuple[str, ...]

    @property
    def last_words(self) -> str:
        """The last lines with something in them, as one line: what goes into an error message."""
        spoken = [line.strip() for line in self.lines if line.strip()]
        return " / ".join(spoken[-3:]) or f"exit code {self.code}"


def run_command(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path,
    on_line: Callable[[str], None] = lambda line: None,
) -> Ended:
    """Run to the end, with both output streams merged. OSError if the program cannot be started."""
    lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)
    process = subprocess.Popen(
        list(command),
        env=dict(environment),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    try:
        assert process.stdout is not None  # noqa: S101  (for the type checker: PIPE was asked for)
        with process.stdout:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                on_line(lines[-1])
        return Ended(code=process.wait(), lines=tuple(lines))
    except BaseException:
        _end_group(process)
        raise


def _end_group(process: subprocess.Popen[str]) -> None:
    """Interrupt the group, and kill what is left of it after a moment.

    The leader is reaped last: until then its number, which is the group's, cannot become somebody else's.
    """
    try:
        _signal_group(process, signal.SIGINT)
        deadline = time.monotonic() + _PATIENCE
        while not _has_exited(process) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[str], number: signal.Signals) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _has_exited(process: subprocess.Popen[str]) -> bool:
    if process.returncode is not None:
        return True
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


@contextlib.contextmanager
def termination_unwinds() -> Iterator[None]:
    """Let SIGTERM leave by the same way as Ctrl-C, so that helpers are ended and temporary files removed.

    Only where nobody else has decided what SIGTERM means, and only in the main thread: elsewhere Python sets
    no handlers.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
