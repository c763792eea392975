"""``mooring conformance``: words, exit codes, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from typer.testing import CliRunner

from landscape_kit import MOORING
from mooring.api.clusters import Cluster
from mooring.cli.main import app
from mooring.testing.builders import NAMESPACES, plain_resource_of
from mooring.testing.conformance import all_checks

PLAIN = (sys.executable, str(Path(__file__).parent / "plain_provider.py"))
PATIENCE = 240.0


def run(*words, directory, **more):
    ended = subprocess.run(
        [str(MOORING), "conformance", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        cwd=directory,
        env={**os.environ, "TMPDIR": str(directory), **more},
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "internal error" not in ended.stderr, ended.stderr
    return ended


@pytest.fixture
def kubeconfig(own_plane, tmp_path):
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(own_plane.admin_kubeconfig(name="own")), encoding="utf-8")
    return file


def called(*words):
    """The same without a process of its own."""
    return CliRunner().invoke(app, ["conformance", *words])


def test_the_checks_are_listed():
    lines = called("--list").stdout.splitlines()
    assert lines[0].split() == ["CHECK", "LEVEL", "SENTENCE"]
    assert [line.split()[0] for line in lines[1:]] == [one.id for one in all_checks()]
    listed = json.loads(called("--list", "--only", "profiles.name", "-o", "json").stdout)
    assert listed[-1]["link"] == "docs/reference/provider-contract.md#profiles-name"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "say whom to check"),
        (["--provider", "local", "--command", "x"], "say whom to check"),
        (["--provider", "nobody"], "There is no provider 'nobody'"),
        (["--", "./no-such-program", "x"], "'./no-such-program' is no program"),
        (["--running", "x"], "--kubeconfig"),
        (["--command", "a 'b"], "--command cannot be read"),
        (["--only", "colours", "--", "true"], "There is no check 'colours'"),
        (["--timeout", "colours=1m", "--", "true"], "there is no check 'colours'"),
        (["--config", "nowhere.yaml", "--", "true"], "nowhere.yaml cannot be read"),
        (["--provider", "local", "--rights", "x"], "--rights is for a program"),
        (["--provider", "sketch:Sketch"], "--config FILE"),
    ],
)
def test_wrong_words(words, sentence, tmp_path, monkeypatch):
    (tmp_path / "sketch.py").write_text(SKETCH, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    ended = called(*words)
    assert ended.exit_code == 2, ended.output
    assert sentence in " ".join(ended.stderr.split())


SKETCH = """
from mooring.providers.local.config import LocalConfig
from mooring.providers.sdk import Provider

class Sketch(Provider):
    config = LocalConfig
    async def profiles(self, config): ...
    async def ensure(self, order): ...
    async def delete(self, order): ...
    async def admin_access(self, order): ...
"""


def test_on_an_api_server_of_its_own(tmp_path):
    """Which is gone afterwards, with everything else."""
    words = ("--only", "cluster.finalizer", "--logs", tmp_path / "logs", "-o", "json", "--", *PLAIN)
    ended = run(*words, directory=tmp_path)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["conforms"] is True
    assert [one["outcome"] for one in report["results"]] == ["passed"] * 5
    assert "passed  MUST    cluster.ready" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert list((tmp_path / "logs").glob("conform-*.log"))


def test_a_broken_must_is_an_exit_code(tmp_path, kubeconfig):
    command = " ".join((*PLAIN, "odd-config"))
    words = ("--kubeconfig", kubeconfig, "--only", "profiles.config-ref", "-o", "junit", "--command", command)
    ended = run(*words, directory=tmp_path)
    assert ended.returncode == 1, ended.stderr
    suite = ElementTree.fromstring(ended.stdout)
    assert [one.get("name") for one in suite if one.find("failure") is not None] == ["config-ref"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_run_leaves_nothing_behind(tmp_path, kubeconfig, own_kube, number):
    async def namespaces():
        found = [one["metadata"] for one in (await own_kube.list(NAMESPACES)).items]
        return {one["name"] for one in found if not one.get("deletionTimestamp")}

    before = await namespaces()  # other tests' clusters are this server, too, and keep what access made in them
    words = ["conformance", "--kubeconfig", str(kubeconfig), "--only", "cluster", "--", *PLAIN, "never-ready"]
    process = subprocess.Popen(
        [str(MOORING), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        for line in process.stderr:
            if "profiles.provider-ref" in line:
                break
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "nothing is left behind" in said
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]
    assert not [one for one in (await own_kube.list(plain_resource_of(Cluster))).items if "conform" in str(one)]
    assert not [one for one in await namespaces() - before if "conformance" in one]
