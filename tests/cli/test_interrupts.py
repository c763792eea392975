"""Ctrl-C at any moment: nothing is left behind that ``mooring status`` does not know."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from landscape_kit import STAGES, Mooring, until


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        ((), "its lock is there"),
        ((), "the API server runs"),
        ((), "the controller manager runs"),
        (("--detach",), "it is born"),
        (("--detach",), "etcd is protected"),
    ],
)
def test_while_it_starts(mooring: Mooring, words: tuple[str, ...], stage: str) -> None:
    up = mooring.begin("up", *words)
    until(lambda: STAGES[stage](mooring), stage)
    up.send_signal(signal.SIGINT)
    assert mooring.ended(up).code == 130
    assert mooring.status()["state"] in ("Absent", "Stopped")
    assert mooring.processes() == []


@pytest.mark.parametrize("words", [(), ("--detach",)], ids=["foreground", "detached"])
def test_before_anything_is_there(mooring: Mooring, words: tuple[str, ...]) -> None:
    for number, moment in enumerate((0.05, 0.12, 0.2, 0.3)):
        up = mooring.begin("up", *words)
        time.sleep(moment)  # any moment is right
        up.send_signal(signal.SIGINT)
        code = up.wait(60)
        # Before any line of ours has run, it is Python that ends, in its own way.
        said = (mooring.parent / f"{number}.err").read_text()
        assert code in (130, -signal.SIGINT) or said.rstrip().endswith("KeyboardInterrupt")
        assert mooring.processes() == []
    assert mooring.status()["state"] in ("Absent", "Stopped")


def test_when_it_runs_it_stops_in_order(mooring: Mooring) -> None:
    up = mooring.begin("up")
    until(lambda: STAGES["all is ready"](mooring), "all is ready")
    up.send_signal(signal.SIGINT)
    up.send_signal(signal.SIGINT)  # once more changes nothing
    assert mooring.ended(up).code == 0
    mooring.status(state="Stopped")
    assert mooring.processes() == []


def test_whoever_waited_for_a_detached_start_may_be_killed(mooring: Mooring) -> None:
    waiting = mooring.begin("up", "--detach")
    until(lambda: STAGES["the API server runs"](mooring), "the API server runs")
    waiting.kill()
    waiting.wait()
    mooring.until_state("Running")
    mooring.assert_each_runs_once()


def test_the_one_in_the_background_may_be_killed(mooring: Mooring) -> None:
    waiting = mooring.begin("up", "--detach")
    until(lambda: STAGES["the API server runs"](mooring), "the API server runs")
    subprocess.run(["kill", "-KILL", str(mooring.pid("mooring"))], check=True)
    ended = mooring.ended(waiting)
    assert ended.code == 128 + signal.SIGKILL
    assert "was killed by SIGKILL before all was ready" in ended.err
    known = {one["name"] for one in mooring.status(state="Degraded")["components"] if one["running"]}
    assert "etcd" in known
    assert known == set(mooring.processes())
