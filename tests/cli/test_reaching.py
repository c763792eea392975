"""Reaching a landscape that runs: kubeconfigs, kubectl, the status of one that nobody keeps, and logs."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import yaml

from landscape_kit import COMPONENTS, Mooring, until
from mooring.controlplane.binaries import find_binaries
from mooring.controlplane.toolsets import KUBERNETES, read_recipe


def _kubectl(kubeconfig: Path, *words: str) -> str:
    program = str(find_binaries(KUBERNETES).path("kubectl"))
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    return subprocess.run(
        [program, *words], env=environment, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_the_printed_kubeconfig_works_with_kubectl(shared: Mooring) -> None:
    path = Path(shared.run("kubeconfig").out.removesuffix("\n"))
    assert path == shared.directory / "kubeconfig"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "kube-system" in _kubectl(path, "get", "namespaces", "-o", "name")
    assert _kubectl(path, "config", "current-context").strip() == "mooring-landscape"


def test_merged_into_the_users_own_it_works_too(shared: Mooring, tmp_path: Path) -> None:
    target = tmp_path / "config"
    theirs = {
        "apiVersion": "v1",
        "kind": "Config",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    }
    target.write_text(yaml.safe_dump(theirs))
    shared.environment["KUBECONFIG"] = str(target)
    said = shared.run("kubeconfig", "--merge").out
    assert said == f"Context 'mooring-landscape' is now the current one of {target}.\n"
    assert _kubectl(target, "config", "get-contexts", "-o", "name").split() == ["a", "mooring-landscape"]
    assert "kube-system" in _kubectl(target, "get", "namespaces", "-o", "name")

    target.write_text("{")
    failed = shared.run("kubeconfig", "--merge", "--kubeconfig", str(target), code=1)
    assert "It was left as it is" in failed.err
    assert target.read_text() == "{"
    assert "--merge" in shared.run("kubeconfig", "--kubeconfig", str(target), code=2).err


def test_kubectl_shows_the_pinned_version(shared: Mooring) -> None:
    pinned = read_recipe(KUBERNETES)
    said = shared.kubectl("version").out
    assert "v0.0.0-master" not in said
    version = find_binaries(KUBERNETES).programs["kube-apiserver"].version
    assert version is not None
    assert version in repr(pinned)
    assert f"Server Version: {version}" in said
    assert f"Client Version: {version}" in said


def test_the_status_of_a_landscape_that_nobody_keeps(shared: Mooring) -> None:
    seen = shared.status(state="Unattended")
    assert {one["name"] for one in seen["components"] if one["running"]} >= set(COMPONENTS)
    assert seen["alarms"] == []
    text = shared.run("status", code=1).out
    assert text.startswith("Landscape 'landscape': Unattended\n")
    assert "COMPONENT" in text


def test_logs_of_one_of_all_and_only_the_last_lines(shared: Mooring) -> None:
    whole = shared.run("logs", "kube-apiserver", "-n", "100000").out.splitlines()
    assert whole
    assert len(shared.run("logs", "kube-apiserver", "-n", "3").out.splitlines()) >= 3
    everything = shared.run("logs", "-n", "1").out
    assert all(name in everything for name in ("kube-apiserver", "kube-controller-manager"))
    assert " | " in everything
    assert shared.run("logs", "etcd", "-n", "0").out == ""


def test_following_logs_goes_on_over_a_restart_and_ends_with_ctrl_c(mooring: Mooring) -> None:
    log = mooring.directory / "etcd" / "etcd.log"
    log.parent.mkdir(parents=True)
    log.write_text("one\ntwo\n")
    following = mooring.begin("logs", "etcd", "-n", "1", "--follow")
    printed = mooring.parent / "0.out"
    until(lambda: printed.read_text() == "two\n", "the last line is shown")
    with log.open("a") as file:
        file.write("thr")
        file.flush()
        file.write("ee\n")
    until(lambda: printed.read_text() == "two\nthree\n", "the new line is shown")
    log.rename(log.with_suffix(".log.1"))  # set aside at a restart, because it was long
    log.write_text("four\n")
    until(lambda: printed.read_text() == "two\nthree\nfour\n", "the new file is followed")
    following.send_signal(signal.SIGINT)
    assert mooring.ended(following).code == 0
