"""Several ``mooring up`` of one landscape: there is one landscape, and all say how to reach it."""

from __future__ import annotations

import signal

from landscape_kit import STAGES, Mooring, until


def test_one_starts_it_and_the_others_report_it(mooring: Mooring) -> None:
    foreground, detached = mooring.begin("up"), mooring.begin("up", "--detach")
    until(lambda: STAGES["all is ready"](mooring) or foreground.poll() is not None, "the first is done")
    said = mooring.ended(detached)
    assert said.code == 0
    assert "is up" in said.out or "is already running" in said.out
    assert "export KUBECONFIG=" in said.out
    mooring.until_state("Running")
    mooring.assert_each_runs_once()

    again = mooring.run("up")
    assert "is already running" in again.out
    assert "export KUBECONFIG=" in again.out
    mooring.assert_each_runs_once()
    if foreground.poll() is None:
        foreground.send_signal(signal.SIGINT)
        assert mooring.ended(foreground).code == 0


def test_whoever_waits_takes_over_when_the_first_is_killed(mooring: Mooring) -> None:
    first = mooring.begin("up")
    until(lambda: STAGES["etcd runs"](mooring), "etcd runs")
    second = mooring.begin("up", "--detach")
    until(lambda: "waiting for it" in (mooring.parent / "1.out").read_text(), "the second waits")
    first.kill()
    first.wait()
    assert mooring.ended(second).code == 0
    mooring.status(state="Running")
    mooring.assert_each_runs_once()
