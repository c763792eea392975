"""Child processes that outlive us, and are found again.

Guarantees:
    A program runs at most once per directory. Each child inherits a locked descriptor of its lock file, so "the lock is
    held" and "it is alive" are the same fact, even if we died before we could write down its pid.
    A pid that was recycled is never signalled: the pid file holds the boot and the start time of the process it means,
    both are compared *after* a pidfd was opened, as is that the process holds the lock; signals go through that pidfd.
    A look changes nothing: the pid file is written by whoever starts or adopts a program.

Assumptions:
    Linux (``/proc`` and pidfds). The file system knows locks.

Children are detached (their own session, output to a file). Whoever comes next finds them: :meth:`Program.running`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import signal
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from mooring.controlplane.errors import PortTaken, ProcessError, StateError
from mooring.controlplane.files import private_directory, read_state, write_state

GRACE = 15.0  # seconds between asking a child to stop and killing it
_SCARCE = 1024 * 1024  # with less free space than this not even a log can say that there is none
_LOG_LIMIT = 16 * 1024 * 1024  # a longer log is set aside at the next start
# The kernel's struct flock on 64-bit Linux: type, whence, start, length, pid. The lock belongs to the open file, which
# a child shares, and not to the process.
_FLOCK = "hhqqi4x"
_WHOLE_FILE = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
_LOCK_FD = 3  # the descriptor under which a child inherits its lock
_FINGERPRINT = "MOORING_FINGERPRINT"  # how a child carries its own, for those who find it without a pid file
# What a child may see of our environment: the way out to OIDC issuers and webhooks, and no secrets.
_ENVIRONMENT = ("PATH", "HOME", "TZ", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What the pid file says: which process it was, and how it came to be."""

    pid: Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
    boot: str
    start_time: int  # clock ticks after boot
    started: float  # seconds since the epoch, for people
    fingerprint: str
    restarts: int = 0
    last_exit: str = ""
    ready: bool = False  # said by those who can write it themselves


@dataclass(slots=True, eq=False)
class Child:
    """A live process, started or adopted. Holds a pidfd until :meth:`release`."""

    record: Record
    pidfd: int
    _gone: asyncio.Event = field(default_factory=asyncio.Event)
    _watched: bool = False
    _status: str = "exited"

    @property
    def pid(self) -> int:
        return self.record.pid

    def signal(self, number: signal.Signals) -> None:
        """Signal this very process; one that is gone already, or was let go of, is left in peace."""
        if self.pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, number)

    async def exited(self) -> str:
        """Wait for the end; tells how it came if the process was our own child."""
        if not self._watched:
            self._watched = True
            asyncio.get_running_loop().add_reader(self.pidfd, self._on_exit)
        await self._gone.wait()
        return self._status

    async def stop(self, *, grace: float = GRACE) -> None:
        """Ask it to stop, and after the grace period make it."""
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                await self.exited()
        except TimeoutError:
            self.signal(signal.SIGKILL)
            await self.exited()

    def release(self) -> None:
        """Let go of the handle. The process lives on."""
        if self.pidfd < 0:
            return
        if self._watched and not self._gone.is_set():
            asyncio.get_running_loop().remove_reader(self.pidfd)
        os.close(self.pidfd)
        self.pidfd = -1

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self.pidfd)
        # Only our own children can be waited for, and they must be, or they stay as zombies.
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = _in_words(os.waitstatus_to_exitcode(status))
        self._gone.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How to run one executable, and where its lock, pid and log files are."""

    name: str
    executable: Path
    arguments: tuple[str, ...]
    directory: Path
    inputs: tuple[str, ...] = ()  # what it reads besides its arguments and must be restarted for
    environment: tuple[tuple[str, str], ...] = ()  # beside what every child sees

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.log"

    @property
    def pid_file(self) -> Path:
        return self.directory / f"{self.name}.pid"

    @property
    def lock_file(self) -> Path:
        return self.directory / f"{self.name}.lock"

    @property
    def fingerprint(self) -> str:
        """Changes when a running child would have to be replaced."""
        variables = (f"{name}={value}" for name, value in self.environment)
        text = "\0".join((str(self.executable), *self.arguments, *self.inputs, *variables))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def start(self, *, restarts: int = 0, last_exit: str = "") -> Child:
        """Start it; a :class:`ProcessError` says why it could not be started."""
        private_directory(self.directory)
        lock = _open(self.lock_file, os.O_RDWR | os.O_CREAT)
        try:
            if not _try_lock(lock):
                raise ProcessError(f"{self.name} is already running in {self.directory}.")
            self._set_long_log_aside()
            pid = self._spawn(lock)
            pidfd = os.pidfd_open(pid)
        finally:
            os.close(lock)
        record = _record(pid, self.fingerprint, restarts=restarts, last_exit=last_exit)
        child = Child(record, pidfd)
        try:
            write_state(self.pid_file, record)
        except StateError:
            child.signal(signal.SIGKILL)
            os.waitpid(pid, 0)
            child.release()
            raise
        return child

    def become(self) -> int | None:
        """Be this program: hold its lock until the returned descriptor is closed or we die. None: someone else is."""
        private_directory(self.directory)
        lock = _open(self.lock_file, os.O_RDWR | os.O_CREAT)
        if not _try_lock(lock):
            os.close(lock)
            return None
        # Whoever had it before may have removed the landscape, and this file with it, while we were opening it.
        if not _is_still(self.lock_file, lock):
            os.close(lock)
            return None
        with contextlib.suppress(StateError):  # on a full disk `down` is the way out, and the lock is enough for it
            write_state(self.pid_file, _record(os.getpid(), self.fingerprint))
        return lock

    def say_ready(self) -> None:
        """Have the pid file of the program that we are say that it has done its work."""
        record = self.recorded() or _record(os.getpid(), self.fingerprint)
        write_state(self.pid_file, msgspec.structs.replace(record, ready=True))

    def running(self) -> Child | None:
        """The live process of this program, whoever started it, or None."""
        if not is_locked(self.lock_file):
            return None
        record = self.recorded()
        if record is not None and (child := _adopt(record, self.lock_file)) is not None:
            return child
        # Alive without a fitting pid file: whoever started it died in between. The lock leads to it.
        pid = _holder(self.lock_file)
        return None if pid is None else _adopt(_record(pid, _carried_fingerprint(pid)), self.lock_file)

    def adopt(self) -> Child | None:
        """The same, and the pid file means it from now on."""
        child = self.running()
        if child is not None:
            write_state(self.pid_file, child.record)
        return child

    def recorded(self) -> Record | None:
        """What the pid file says, be the process alive or not. It only shortens the search: damaged is as missing."""
        try:
            return read_state(self.pid_file, Record)
        except StateError:
            return None

    def last_lines(self, count: int = 5) -> str:
        """The end of its log, for a message or a condition."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 65536))
                lines = file.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-count:])

    def failure(self, how: str) -> ProcessError:
        """The error for a child that died, with what it said last."""
        last = self.last_lines(40)
        kind = PortTaken if "address already in use" in last else ProcessError
        if "no space left on device" in last or shutil.disk_usage(self.directory).free < _SCARCE:
            how += f", because the disk with {self.directory} is full: free some space, or choose another with --dir"
        return kind(f"{self.name} {how}. The end of {self.log}:\n{self.last_lines()}")

    def _spawn(self, lock: int) -> int:
        log = _open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            return os.posix_spawn(
                self.executable,
                [str(self.executable), *self.arguments],
                {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
                | dict(self.environment)
                | {_FINGERPRINT: self.fingerprint},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, log, 1),
                    (os.POSIX_SPAWN_DUP2, log, 2),
                    (os.POSIX_SPAWN_DUP2, lock, _LOCK_FD),
                ],
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGTERM],
            )
        except OSError as error:
            raise ProcessError(f"Cannot start {self.executable}: {error.strerror}.") from error
        finally:
            os.close(log)

    def _set_long_log_aside(self) -> None:
        with contextlib.suppress(OSError):  # then it goes on growing, which is no reason not to start
            if self.log.stat().st_size > _LOG_LIMIT:
                self.log.replace(self.log.with_suffix(".log.1"))


def program_of(directory: Path, name: str) -> Program:
    """A program by its files alone: enough to find, stop and describe what runs, whatever state files are damaged."""
    return Program(name=name, executable=Path(name), arguments=(), directory=directory)


def is_locked(path: Path) -> bool:
    """Whether a live process holds the lock."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # Asked without taking it, so that a look never gets in the way of a start.
        answer = fcntl.fcntl(lock, fcntl.F_OFD_GETLK, _WHOLE_FILE)
        kind: int = struct.unpack(_FLOCK, answer)[0]
        return kind != fcntl.F_UNLCK
    finally:
        os.close(lock)


def _open(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
        if descriptor > 2:
            return descriptor
        # We were started without standard streams, whose numbers a child gives a new meaning.
        try:
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOCK_FD)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StateError(
            f"Cannot open {path}: {error.strerror}. Fix the permissions there, or free some space."
        ) from error


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _WHOLE_FILE)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _record(pid: int, fingerprint: str, *, restarts: int = 0, last_exit: str = "") -> Record:
    return Record(
        pid=pid,
        boot=_boot(),
        start_time=_start_time(pid) or 0,
        started=time.time(),
        fingerprint=fingerprint,
        restarts=restarts,
        last_exit=last_exit,
    )


def _adopt(record: Record, lock_file: Path) -> Child | None:
    if record.boot != _boot():
        return None
    try:
        pidfd = os.pidfd_open(record.pid)
    except OSError:
        return None
    # From here on the pidfd means one process; what is left is to see that it is the recorded one, and holds the lock.
    if _start_time(record.pid) == record.start_time and _holds(record.pid, lock_file):
        return Child(record, pidfd)
    os.close(pidfd)
    return None


def _holder(lock_file: Path) -> int | None:
    """The process that holds the lock: a walk over /proc, needed only after a crash at a bad moment.

    Whoever is just starting the program holds the same lock for a moment: the program itself goes first.
    """
    others = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {os.getpid()}
    holders = [pid for pid in others if _holds(pid, lock_file)]
    return next((pid for pid in holders if _carried_fingerprint(pid)), next(iter(holders), None))


def _holds(pid: int, lock_file: Path) -> bool:
    """Whether the process has locked the file; one that has merely opened it is somebody else who looks."""
    return any("OFDLCK" in description for description in _openings(pid, lock_file))


def _openings(pid: int, path: Path) -> Iterator[str]:
    """What the kernel says about each descriptor of the process that means the file."""
    with contextlib.suppress(OSError):
        wanted = path.stat()
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(f"/proc/{pid}/fd/{descriptor}"), wanted):
                    yield Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text()


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _carried_fingerprint(pid: int) -> str:
    """What the child was given along; nothing if it is no child of ours."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return next(
        (line.removeprefix(f"{_FINGERPRINT}=") for line in environment if line.startswith(f"{_FINGERPRINT}=")), ""
    )


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _start_time(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return int(fields[19]) if fields[0] != "Z" else None


def _in_words(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    return f"was killed by {signal.Signals(-exit_code).name}"
