"""What ``mooring provider new`` writes works as it is written."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest

from mooring.providers.skeleton import SkeletonRefused, write_skeleton


def test_a_new_provider_passes_its_own_tests(tmp_path):
    directory = write_skeleton("sand-castle", tmp_path)
    assert directory == tmp_path / "sand-castle-provider"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    # It is a run of its own, with a landscape of its own; what this run says about itself is not for it.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_its_package_names_its_provider(tmp_path):
    directory = write_skeleton("sand-castle", tmp_path)
    project = tomllib.loads((directory / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["mooring.providers"] == {"sand-castle": "sand_castle_provider:SandCastleProvider"}
    written = [path for path in directory.rglob("*") if path.is_file()]
    assert not [path for path in written if "$" in path.read_text(encoding="utf-8") or "$" in str(path)]


def test_its_files_are_in_good_order(tmp_path):
    directory = write_skeleton("sand-castle", tmp_path)
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, "--line-length", "120", "--isolated", "--no-cache", "."]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["", "Sand", "1st", "sand_castle", "-sand", "sand-", "a b", "../sand", "s" * 41])
def test_bad_names_are_refused(tmp_path, name):
    with pytest.raises(SkeletonRefused, match="cannot be the name"):
        write_skeleton(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "sand-provider").mkdir()
    with pytest.raises(SkeletonRefused, match="there already"):
        write_skeleton("sand", tmp_path)
    assert not list((tmp_path / "sand-provider").iterdir())
