"""Going on in the background: what ``mooring up --detach`` does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from mooring.cli.failures import tell

Ready = Callable[[], None]


def in_background(work: Callable[[Ready], int], *, log: Path) -> int:
    """Run ``work`` in a process that outlives us; return when it says that it is ready, or when it ended.

    Until then the two share the terminal. Ctrl-C here asks the other to stop and waits until it did. The fork comes
    before any thread or event loop exists, and saves starting Python a second time.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_as_child(work, writing, log)
    os.close(writing)

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        os.kill(child, signal.SIGTERM)  # not reaped before we return, so the pid is still its own

    before = {number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        is_ready = bool(os.read(reading, 1))
        return 0 if is_ready else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(reading)
        for number, handler in before.items():
            signal.signal(number, handler)


def _run_as_child(work: Callable[[Ready], int], writing: int, log: Path) -> None:
    os.setsid()

    def ready() -> None:
        _redirect(log)
        os.write(writing, b"+")
        os.close(writing)

    code = 1
    try:
        code = work(ready)
    except Exception as error:
        tell(error)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _redirect(log: Path) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    nothing = os.open(os.devnull, os.O_RDONLY)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(file)
