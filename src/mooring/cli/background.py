"""Going on in the background: what ``mooring up --detach`` does."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

from mooring.cli.failures import tell

Ready = Callable[[], None]

INTERRUPTED = 130
_STOP = (signal.SIGINT, signal.SIGTERM)


def in_background(work: Callable[[Ready], int], *, log: Path) -> int:
    """Run ``work`` in a process that outlives us; return when it says that it is ready, or when it ended.

    Until then the two share the terminal. Ctrl-C here asks the other to stop and waits until it did. The fork comes
    before any thread or event loop exists, and saves starting Python a second time.
    """
    reading, writing = os.pipe()
    # A signal that comes before both sides know what to do with it waits until they do.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_as_child(work, writing, log, mask=mask)
    os.close(writing)
    pidfd = os.pidfd_open(child)
    asked_to_stop = False

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked_to_stop
        asked_to_stop = True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGTERM)

    before = {number: signal.signal(number, ask_to_stop) for number in _STOP}
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        is_ready = bool(os.read(reading, 1))
        if is_ready and not asked_to_stop:
            return 0
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return INTERRUPTED if asked_to_stop else _told(code)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(pidfd)


def _told(code: int) -> int:
    """The exit code of the one in the background; that it was killed, it could not say itself."""
    if code >= 0:
        return code
    print(
        f"mooring: the process in the background was killed by {signal.Signals(-code).name} before all was ready. "
        f"'mooring status' shows what it left running.",
        file=sys.stderr,
        flush=True,
    )
    return 128 - code


def _run_as_child(work: Callable[[Ready], int], writing: int, log: Path, *, mask: Iterable[int]) -> None:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def ready() -> None:
        _redirect(log)
        with contextlib.suppress(BrokenPipeError):  # who waited for it was killed, which does not stop a landscape
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
