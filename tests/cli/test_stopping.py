"""``mooring down``, in every state that a landscape can be in, and what it must leave alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from landscape_kit import COMPONENTS, Mooring, is_alive, processes_with, until


@pytest.fixture
def innocent() -> Iterator[int]:
    """A process that has nothing to do with a landscape."""
    process = subprocess.Popen(["sleep", "600"])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_there_is_nothing_to_stop(mooring: Mooring) -> None:
    assert mooring.status(state="Absent")["components"] == []
    assert "There is no landscape 'default'" in mooring.run("down").out
    assert "There is no landscape 'default'" in mooring.run("down", "--purge").out
    assert not mooring.directory.exists()


def test_a_directory_that_is_no_landscape_is_neither_used_nor_deleted(mooring: Mooring) -> None:
    mooring.directory.mkdir(mode=0o755)
    (mooring.directory / "thesis.txt").write_text("years of work")
    assert "There is no landscape" in mooring.run("down", "--purge").out
    assert "holds something else than a landscape" in mooring.run("up", code=1).err
    assert [path.name for path in mooring.directory.iterdir()] == ["thesis.txt"]
    assert mooring.directory.stat().st_mode & 0o777 == 0o755


def test_all_is_private_and_data_are_kept_until_they_are_purged(running: Mooring) -> None:
    running.run("kubeconfig")
    for path in (running.directory, *running.directory.rglob("*")):
        mode = path.stat().st_mode & 0o777
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path} has mode {mode:o}"

    ports = {path: path.read_bytes() for path in running.directory.rglob("ports.json")}
    first, second = running.begin("down"), running.begin("down")  # two at once stop it together
    for ended in (running.ended(first), running.ended(second)):
        assert (ended.code, "brings it back with its data" in ended.out) == (0, True)
    seen = running.status(state="Stopped")
    assert not any(one["running"] for one in seen["components"])
    assert running.processes() == []
    assert running.run("down").code == 0  # once more is fine

    running.run("up", "--detach")
    running.assert_data_is_there()
    assert {path: path.read_bytes() for path in running.directory.rglob("ports.json")} == ports  # nobody took one

    (running.directory / "thesis.txt").write_text("years of work")
    assert "holds files of somebody else" in running.run("down", "--purge", code=1).err
    assert [path.name for path in running.directory.iterdir()] == ["thesis.txt"]
    (running.directory / "thesis.txt").unlink()
    running.directory.rmdir()
    running.status(state="Absent")


def test_a_recycled_pid_is_never_signalled(running: Mooring, innocent: int) -> None:
    records = {name: json.loads(running.pid_file(name).read_bytes()) for name in ("mooring", *COMPONENTS)}
    os.kill(records["mooring"]["pid"], signal.SIGKILL)
    running.until_state("Unattended")
    # Right boot, a live process, another start time: for a keeper whose lock is free and for components that live.
    for name, record in records.items():
        running.pid_file(name).write_text(json.dumps(record | {"pid": innocent}))
    assert {one["pid"] for one in running.status()["components"]} == {records[name]["pid"] for name in COMPONENTS}
    running.run("down")
    assert is_alive(innocent)
    assert running.processes() == []
    # All locks free, and pid files that fit the innocent in every detail.
    for name in ("mooring", *COMPONENTS):
        running.pid_file(name).write_text(json.dumps(records[name] | {"pid": innocent, "start_time": _start(innocent)}))
    running.run("down")
    running.status(state="Stopped")
    assert is_alive(innocent)


def test_a_landscape_that_is_just_starting_is_stopped(mooring: Mooring) -> None:
    up = mooring.begin("up")
    until(lambda: any(mooring.directory.glob("clusters/*/kube-apiserver.pid")), "the API server is started")
    starting = next(iter(processes_with(f"{mooring.directory}/clusters/")))
    os.kill(starting, signal.SIGSTOP)  # or it may be ready before it is asked
    mooring.status(state="Starting")
    os.kill(starting, signal.SIGCONT)
    mooring.run("down")
    ended = mooring.ended(up)
    # On a slow machine it has come up before 'down' did, and was stopped as one that is up.
    assert ended.code == (0 if "is up" in ended.out else 130)
    mooring.status(state="Stopped")
    assert mooring.processes() == []


def _start(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
