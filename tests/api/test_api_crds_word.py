"""``mooring crds``: what it prints is what the types say, and ``--install`` installs it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import typer
import yaml
from typer.testing import CliRunner

from mooring.api.crds import KINDS, definitions
from mooring.cli.crds import crds
from mooring.controlplane.landscape import Landscape


@pytest.fixture
def word() -> typer.Typer:
    app = typer.Typer()
    app.command()(crds)
    return app


def test_it_prints_all_definitions(word: typer.Typer) -> None:
    said = CliRunner().invoke(word, [])
    assert said.exit_code == 0
    assert list(yaml.load_all(said.stdout, yaml.CSafeLoader)) == definitions()


def test_it_prints_them_as_one_list(word: typer.Typer) -> None:
    said = json.loads(CliRunner().invoke(word, ["-o", "json"]).stdout)
    assert (said["kind"], said["items"]) == ("List", definitions())


def test_it_installs_them(word: typer.Typer, landscape: Landscape, installed: None, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_bytes(msgspec.json.encode(landscape.admin_kubeconfig()))
    said = CliRunner().invoke(word, ["--install", "--kubeconfig", str(kubeconfig)])
    assert said.exit_code == 0
    assert said.stdout.splitlines() == [f"{kind.API.definition_name} is served" for kind in KINDS]
