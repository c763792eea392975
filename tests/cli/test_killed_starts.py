"""SIGKILL of ``mooring up`` at every stage of the start: the next one adopts or repairs what it finds."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess

import pytest

from landscape_kit import COMPONENTS, STAGES, Mooring, until


def _assert_repaired(mooring: Mooring) -> None:
    mooring.run("up", "--detach")
    seen = mooring.status(state="Running")
    assert [one["name"] for one in seen["components"]] == list(COMPONENTS)
    assert all(one["running"] for one in seen["components"])
    mooring.assert_each_runs_once()


# One that was ready is below; the API server comes so soon after etcd that it is the same stage.
@pytest.mark.parametrize("stage", [one for one in STAGES if one not in ("the API server runs", "all is ready")])
def test_the_next_up_goes_on_where_a_killed_one_stopped(mooring: Mooring, stage: str) -> None:
    first = mooring.begin("up")
    until(lambda: STAGES[stage](mooring), stage)
    first.kill()
    first.wait()
    known = {one["pid"] for one in mooring.status()["components"] if one["running"]}
    _assert_repaired(mooring)
    # What ran is not started again: it is adopted.
    assert known <= {one["pid"] for one in mooring.status()["components"]}


def test_a_killed_keeper_leaves_an_unattended_landscape_that_the_next_up_adopts_whole(running: Mooring) -> None:
    before = {name: running.pid(name) for name in COMPONENTS}
    authorities = {path: path.read_bytes() for path in running.directory.rglob("ca.*")}
    os.kill(running.pid("mooring"), signal.SIGKILL)
    running.until_state("Unattended")
    # A child whose pid file was not yet written when its parent died is found by its lock, and is not replaced.
    running.pid_file("etcd").unlink()
    running.pid_file("kube-controller-manager").write_bytes(b'{"pid": 1')
    assert running.component("etcd")["pid"] == before["etcd"]
    assert not running.pid_file("etcd").exists()  # a look changes nothing

    running.run("up", "--detach")
    running.status(state="Running")
    assert {name: running.pid(name) for name in COMPONENTS} == before
    running.assert_data_is_there()
    assert {path: path.read_bytes() for path in running.directory.rglob("ca.*")} == authorities

    # And again and again, at moments that nobody chose.
    running.run("down")
    dice = random.Random(3)
    for _ in range(2):
        up = running.begin("up")
        with contextlib.suppress(subprocess.TimeoutExpired):
            up.wait(dice.uniform(0.2, 2.5))
        up.kill()
        up.wait()
    _assert_repaired(running)
    running.assert_data_is_there()
