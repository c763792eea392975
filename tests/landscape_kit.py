"""Landscapes that a test may harm: the real ``mooring`` as a process, in a directory of the test's own.

Whatever happens to the test, nothing of its landscape outlives it, and that nothing does is asserted.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mooring.controlplane.ports import LOOPBACK

T = TypeVar("T")

MOORING = Path(sys.executable).with_name("mooring")
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager")
PATIENCE = 100.0  # seconds; only ever used up by a test that fails
# Words that take no options of their own before those of a word behind them: the environment says which landscape.
_BY_ENVIRONMENT = ("kubectl", "access", "cluster", "conformance", "provider", "request")


def until(ask: Callable[[], T | None], what: str, *, patience: float = PATIENCE) -> T:
    """Ask until the answer is something; fail with ``what`` did not come."""
    deadline, pause = time.monotonic() + patience, 0.01
    while not (answer := ask()):
        if time.monotonic() > deadline:
            pytest.fail(f"waited {patience:.0f} s in vain until {what}", pytrace=True)
        time.sleep(pause)
        pause = min(pause * 1.3, 0.15)  # many questions are processes, which keep the machine busy
    return answer


def is_alive(pid: int) -> bool:
    """Whether the process runs. One that ended but was not waited for does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def processes_with(text: str) -> dict[int, str]:
    """Live processes with the text in their command line, but for this one."""
    found = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        if pid != os.getpid() and is_alive(pid):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                if text in command:
                    found[pid] = command
    return found


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass(slots=True)
class Mooring:
    """The command line on one landscape."""

    parent: Path
    name: str = "default"
    environment: dict[str, str] = field(default_factory=dict)
    _begun: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        return self.parent / self.name

    @property
    def cluster(self) -> Path:
        """The platform's directory."""
        return next((self.directory / "clusters").iterdir())

    def run(self, word: str, *words: str, code: int | None = 0, **extra: Any) -> Ended:
        """Run a command to its end, which must come with the code."""
        ended = subprocess.run(
            self._command(word, words),
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
            **extra,
        )
        result = Ended(ended.returncode, ended.stdout, ended.stderr)
        assert "Traceback" not in result.err, result.err
        assert code is None or result.code == code, f"mooring {word} {words}: {result}"
        return result

    def begin(self, word: str, *words: str) -> subprocess.Popen[bytes]:
        """Begin a command; its output is in ``parent``/<n>.out and .err."""
        number = len(self._begun)
        with open(self.parent / f"{number}.out", "wb") as out, open(self.parent / f"{number}.err", "wb") as err:
            process = subprocess.Popen(
                self._command(word, words), env=self._environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
        self._begun.append(process)
        return process

    def ended(self, process: subprocess.Popen[bytes]) -> Ended:
        """Wait for what was begun."""
        code, number = process.wait(PATIENCE), self._begun.index(process)
        out, err = ((self.parent / f"{number}.{stream}").read_text() for stream in ("out", "err"))
        assert "Traceback" not in err, err
        return Ended(code, out, err)

    def status(self, *, state: str | None = None) -> dict[str, Any]:
        """What ``mooring status`` says; its exit code must agree with it."""
        ended = self.run("status", "-o", "json", code=None)
        seen: dict[str, Any] = json.loads(ended.out)
        assert ended.code == (0 if seen["state"] == "Running" else 1)
        assert state is None or seen["state"] == state, seen
        return seen

    def component(self, name: str) -> dict[str, Any]:
        return next(one for one in self.status()["components"] if one["name"] == name)

    def until_state(self, state: str) -> dict[str, Any]:
        def ask() -> dict[str, Any] | None:
            seen = self.status()
            return seen if seen["state"] == state else None

        return until(ask, f"the landscape is {state}")

    def pid_file(self, component: str) -> Path:
        return {
            "mooring": self.directory / "mooring.pid",
            "etcd": self.directory / "etcd" / "etcd.pid",
        }.get(component) or self.cluster / f"{component}.pid"

    def pid(self, component: str) -> int:
        return int(json.loads(self.pid_file(component).read_bytes())["pid"])

    def kubectl(self, *words: str, code: int | None = 0) -> Ended:
        return self.run("kubectl", *words, code=code)

    def write_data(self) -> None:
        self.kubectl("create", "configmap", "kept", "--from-literal=word=mooring")

    def assert_data_is_there(self) -> None:
        assert self.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.word}").out == "mooring"

    def processes(self) -> list[str]:
        """What runs of the landscape's components, by the name of the program; ``mooring`` itself is not counted."""
        return sorted(
            Path(command.split(" ")[0]).name
            for command in processes_with(f"{self.directory}/").values()
            if "/mooring " not in command
        )

    def assert_each_runs_once(self) -> None:
        assert self.processes() == sorted(COMPONENTS)

    def clear_away(self) -> None:
        """Stop everything, and assert that nothing is left."""
        for process in self._begun:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self._begun:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(60)
            process.kill()
            process.wait()
        self.run("down", "--purge", code=None)
        left = processes_with(f"{self.directory}/")
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert not left, f"left behind: {left}"

    def _command(self, word: str, words: tuple[str, ...]) -> list[str]:
        place = [] if word in _BY_ENVIRONMENT else ["--dir", str(self.parent), "--landscape", self.name]
        return [str(MOORING), word, *place, *words]

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "MOORING_DEBUG")}
        return inherited | {"MOORING_DIR": str(self.parent), "MOORING_LANDSCAPE": self.name} | self.environment


def _said(mooring: Mooring) -> str:
    """What the first command that was begun has said."""
    return (mooring.parent / "0.out").read_text()


# How far a start has come, in order, told from outside.
STAGES: dict[str, Callable[[Mooring], bool]] = {
    "its lock is there": lambda mooring: (mooring.directory / "mooring.lock").exists(),
    "it is born": lambda mooring: (mooring.directory / "landscape.json").exists(),
    "etcd runs": lambda mooring: (mooring.directory / "etcd/etcd.lock").exists(),
    "the API server runs": lambda mooring: any(mooring.directory.glob("clusters/*/kube-apiserver.lock")),
    "etcd is protected": lambda mooring: "etcd at" in _said(mooring),
    "the controller manager runs": lambda mooring: any(
        mooring.directory.glob("clusters/*/kube-controller-manager.lock")
    ),
    "all is ready": lambda mooring: "is up" in _said(mooring),
}


def listening(port: int) -> socket.socket:
    with contextlib.ExitStack() as unless_it_listens:
        taken = unless_it_listens.enter_context(socket.socket())
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((LOOPBACK, port))
        taken.listen()
        unless_it_listens.pop_all()
    return taken


@pytest.fixture
def mooring(tmp_path: Path) -> Iterator[Mooring]:
    """A landscape that does not exist yet."""
    made = Mooring(tmp_path)
    try:
        yield made
    finally:
        made.clear_away()


@pytest.fixture
def running(mooring: Mooring) -> Mooring:
    """A landscape that is up, kept by a process in the background, with something written to it."""
    mooring.run("up", "--detach")
    mooring.write_data()
    return mooring


@pytest.fixture
def shared(landscape: Any) -> Mooring:
    """The run's own landscape, for what does it no harm."""
    return Mooring(landscape.directory.parent, landscape.directory.name)
