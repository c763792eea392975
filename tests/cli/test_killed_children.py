"""Processes of a landscape that die: they come back, and the status says what happened."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import yaml

from landscape_kit import COMPONENTS, Mooring, listening, until
from mooring.controlplane.binaries import find_binaries
from mooring.controlplane.ports import is_free
from mooring.controlplane.toolsets import KUBERNETES


def _restarted(mooring: Mooring, name: str, old: int) -> dict[str, Any] | None:
    seen = mooring.status()
    one = next(one for one in seen["components"] if one["name"] == name)
    return one if seen["state"] == "Running" and one["pid"] not in (None, old) else None


def test_a_killed_child_comes_back_with_its_data_and_be_it_on_another_port(running: Mooring) -> None:
    for name in COMPONENTS:
        old = running.pid(name)
        os.kill(old, signal.SIGKILL)
        came = until(lambda name=name, old=old: _restarted(running, name, old), f"{name} is there again")
        assert (came["restarts"], came["lastExit"]) == (1, "was killed by SIGKILL")
        running.assert_data_is_there()
    running.assert_each_runs_once()
    text = running.run("status").out
    assert text.count("1 (last was killed by SIGKILL)") == 3

    # A port that somebody takes while its server is down is exchanged, and everything follows.
    path = Path(running.run("kubeconfig").out.strip())
    server = running.status()["server"]
    keeper, api_server = running.pid("mooring"), running.pid("kube-apiserver")
    os.kill(keeper, signal.SIGSTOP)  # so that the port is ours before it looks
    os.kill(api_server, signal.SIGKILL)
    port = int(server.rpartition(":")[2])
    until(lambda: is_free(port), "it is dead")
    with listening(port):
        os.kill(keeper, signal.SIGCONT)
        until(lambda: _restarted(running, "kube-apiserver", api_server), "the API server is elsewhere")
        until(lambda: running.component("kube-controller-manager")["restarts"] == 2, "the controllers followed")
        moved = running.until_state("Running")["server"]
        assert moved != server
        assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] == moved
        running.assert_data_is_there()


def test_a_child_that_keeps_dying_is_tried_again_and_the_status_says_degraded(mooring: Mooring, tmp_path: Path) -> None:
    programs = _copied_programs(tmp_path / "programs")
    mooring.environment["MOORING_BINARIES"] = str(programs)
    mooring.run("up", "--detach")
    whole, manager = _replaced(programs / "kube-controller-manager", "#!/bin/sh\necho out of cheese\nexit 7\n")
    os.kill(mooring.pid("kube-controller-manager"), signal.SIGKILL)

    def tried() -> dict[str, Any] | None:
        seen = mooring.until_state("Degraded")
        return seen if seen["components"][-1]["restarts"] >= 3 else None

    seen = until(tried, "it was started several times")
    assert "kube-controller-manager is not running" in seen["reason"]
    assert "exited with code 7" in seen["reason"]
    assert "out of cheese" in seen["reason"]
    assert seen["components"][-1]["lastExit"] == "exited with code 7"

    os.replace(whole, manager)
    mooring.until_state("Running")
    mooring.assert_each_runs_once()


def test_a_program_that_cannot_be_run_is_one_sentence_and_leaves_nothing(mooring: Mooring, tmp_path: Path) -> None:
    programs = _copied_programs(tmp_path / "programs")
    mooring.environment["MOORING_BINARIES"] = str(programs)
    _replaced(programs / "kube-controller-manager", "#!/bin/sh\necho out of cheese\nexit 7\n")
    failed = mooring.run("up", "--detach", code=1)
    assert "kube-controller-manager exited with code 7" in failed.err
    assert "out of cheese" in failed.err
    assert mooring.status(state="Stopped")
    assert mooring.processes() == []


def _copied_programs(directory: Path) -> Path:
    """A directory of programs of the user's own, as links."""
    directory.mkdir()
    for name, binary in find_binaries(KUBERNETES).programs.items():
        (directory / name).symlink_to(binary.path)
    return directory


def _replaced(program: Path, script: str) -> tuple[Path, Path]:
    whole = program.with_name("whole")
    shutil.move(program, whole)
    program.write_text(script)
    program.chmod(0o755)
    return whole, program
