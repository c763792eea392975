"""Damaged files, full disks and places that are none: named in one sentence; and what runs can still be stopped."""

from __future__ import annotations

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from landscape_kit import Mooring

DAMAGES = {
    "landscape.json": b'{"name": "default", "platform": "../../somewhere"}',
    "etcd/ports.json": b'{"client": 70000, "peer": 1}',
    "etcd/pki/ca.crt": b"not a certificate",
    "etcd/root.password": b"short",
    "clusters/*/pki/ca.key": b"",
}


def test_what_is_damaged_is_named_and_everything_can_still_be_stopped(running: Mooring) -> None:
    for pattern, damage in DAMAGES.items():
        path = next(running.directory.glob(pattern))
        content = path.read_bytes()
        path.write_bytes(damage)
        if running.processes():
            # While it runs, a look says so, and `down` stops everything all the same.
            seen = running.status(state="Degraded")
            assert str(path) in seen["reason"]
            assert all(one["running"] for one in seen["components"])
            running.run("down")
            assert running.processes() == []
            assert str(path) in running.status(state="Stopped")["reason"]
        failed = running.run("up", code=1)
        assert str(path) in failed.err, failed.err
        assert failed.err.startswith("mooring: ")
        assert len(failed.err.strip().splitlines()) == 1
        assert "internal error" not in failed.err
        assert running.processes() == []
        path.write_bytes(content)
    # What is missing is not silently made anew either, where that would mean to forget the data.
    for name in ("landscape.json", "etcd/root.password"):
        path = running.directory / name
        content = path.read_bytes()
        path.unlink()
        assert f"{path} is missing" in running.run("up", code=1).err
        assert not path.exists()
        path.write_bytes(content)
    # What can be issued again is.
    for path in (*running.directory.rglob("server.crt"), *running.directory.rglob("etcd-client.key")):
        path.write_bytes(b"damaged")
    running.run("up", "--detach")
    running.assert_data_is_there()
    # And damaged pid files harm nobody.
    for component in ("mooring", "etcd", "kube-apiserver"):
        running.pid_file(component).write_bytes(b'{"pid": 99999999999999999999}')
    assert all(one["running"] for one in running.status(state="Running")["components"])
    running.run("down")
    assert running.processes() == []


def test_a_file_in_the_place_of_a_directory(mooring: Mooring) -> None:
    mooring.directory.write_text("I was here first.")
    failed = mooring.run("up", code=1)
    assert f"Cannot create the directory {mooring.directory}" in failed.err
    elsewhere = Mooring(mooring.directory / "below")
    assert "Not a directory" in elsewhere.run("up", code=1).err
    elsewhere.status(state="Absent")
    mooring.directory.unlink()


def test_a_file_that_may_not_grow(mooring: Mooring) -> None:
    """As on a full disk: every write beyond 100 bytes fails."""
    limits = (resource.RLIMIT_FSIZE, (100, 100))
    failed = mooring.run("up", code=1, preexec_fn=lambda: resource.setrlimit(*limits))
    assert f"Cannot write {mooring.directory}" in failed.err
    assert "Free some space" in failed.err
    assert mooring.processes() == []


def test_a_full_disk(mooring: Mooring, tmp_path: Path) -> None:
    with _tiny_disk(tmp_path / "disk", "96k") as disk:
        there = Mooring(disk)
        failed = there.run("up", "--detach", code=1)
        assert "Free some space" in failed.err or "free some space" in failed.err
        assert "internal error" not in failed.err
        assert there.processes() == []
        there.status(state="Stopped")
        there.run("down", "--purge")


@contextlib.contextmanager
def _tiny_disk(path: Path, size: str) -> Iterator[Path]:
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "mooring-test", str(path)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a disk of its own takes the right to mount one")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)
