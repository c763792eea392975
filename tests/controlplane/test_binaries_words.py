"""``mooring binaries`` as a person or a script meets it, and how waiting looks."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from binaries_kit import script
from typer.testing import CliRunner

from mooring.cli.binaries import app
from mooring.cli.progress import amount
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.progress import Unit
from mooring.controlplane.toolsets import KUBERNETES


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("MOORING_BINARIES", "KUBEBUILDER_ASSETS"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def named(tmp_path, cache, monkeypatch) -> Path:
    for tool in KUBERNETES.tools:
        path = tmp_path / tool.name
        path.write_bytes(script(tool.name, "v1.30.1"))
        path.chmod(0o755)
    monkeypatch.setenv("MOORING_BINARIES", str(tmp_path))
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_the_list_is_a_table(named):
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["NAME", "VERSION", "SOURCE", "STATE", "PATH"]
    assert lines[2].split() == ["kube-apiserver", "v1.30.1", "named", "ok", str(named / "kube-apiserver")]
    assert len(lines) == 1 + len(KUBERNETES.tools)


def test_the_list_is_json_for_scripts(named):
    (named / "etcd").unlink()
    result = run("-o", "json")
    assert result.exit_code == 1
    etcd, server, *_ = json.loads(result.stdout)
    assert (etcd["state"], etcd["reason"]) == ("missing", "is not there")
    assert server == {
        "name": "kube-apiserver",
        "version": "v1.30.1",
        "source": "named",
        "path": str(named / "kube-apiserver"),
        "state": "ok",
        "reason": None,
    }


def test_an_empty_cache_is_listed_with_the_command_that_helps(cache):
    result = run()
    assert result.exit_code == 1
    assert result.stdout.count("missing") == len(KUBERNETES.tools)
    assert "mooring binaries fetch" in result.stderr


def test_fetch_prints_the_directory_and_nothing_else(named):
    result = run("fetch")
    assert (result.exit_code, result.stdout) == (0, f"{named}\n")
    rows = json.loads(run("fetch", "-o", "json").stdout)
    assert [row["path"] for row in rows] == [str(named / tool.name) for tool in KUBERNETES.tools]


def test_fetch_raises_the_one_error_that_the_command_line_prints(named):
    (named / "kubectl").unlink()
    assert isinstance(run("fetch").exception, BinariesError)


def test_the_two_ways_exclude_each_other(cache):
    result = run("fetch", "--download", "--build")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


def test_the_words_are_cheap_to_import():
    code = "import sys, mooring.cli.binaries; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert not {"aiohttp", "msgspec", "rich.progress", "mooring.controlplane.binaries"} & set(loaded)


TELLING = """
from mooring.cli.progress import showing_progress
from mooring.controlplane.progress import Unit
with showing_progress() as progress:
    progress.note("a [remark]")
    progress.step("etcd: compiling")
    progress.advance(3, 7, unit=Unit.PACKAGES, detail="go.etcd.io/bbolt")
"""


def test_a_log_gets_lines():
    done = subprocess.run([sys.executable, "-c", TELLING], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "a [remark]\netcd: compiling\n")


def test_a_terminal_gets_a_bar():
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", TELLING], stderr=theirs, env=environment, check=True)
    os.close(theirs)
    drawn = os.read(ours, 65536).decode()
    os.close(ours)
    for words in ("a [remark]", "etcd: compiling", "3 of 7 packages"):
        assert words in drawn


def test_amounts_are_readable():
    assert amount(12_000_000, 106_400_000, Unit.BYTES) == "12 of 106 MB"
    assert amount(31, None, Unit.MODULES) == "31 modules"
