"""Where programs are looked for, in which order, and how a broken one is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from binaries_kit import VERSION, Recorder, script, standing_in, toolset_at, write_recipe

from mooring.controlplane.binaries import (
    Binaries,
    Means,
    Source,
    State,
    fetch_binaries,
    find_binaries,
    inspect_binaries,
)
from mooring.controlplane.binarycache import cache_home
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.toolsets import KUBERNETES, Toolset, linker_flags, read_recipe


@pytest.fixture
def toolset(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("MOORING_BINARIES", "KUBEBUILDER_ASSETS", "MOORING_RELEASES"):
        monkeypatch.delenv(variable, raising=False)
    return toolset_at(write_recipe(tmp_path / "recipe"))


@pytest.fixture
def stand_in(toolset, monkeypatch):
    with standing_in() as server:
        monkeypatch.setenv("MOORING_RELEASES", server.address)
        yield server


def fetch(toolset: Toolset, recorder: Recorder | None = None) -> Binaries:
    return fetch_binaries(toolset, progress=recorder or Recorder(), means=Means.DOWNLOAD)


def directory_with(path: Path, *names: str, version: str = "v9.9.9") -> Path:
    path.mkdir()
    for name in names:
        (path / name).write_bytes(script(name, version))
        (path / name).chmod(0o755)
    return path


def test_a_named_directory_comes_before_the_cache_and_before_kubebuilders(toolset, stand_in, tmp_path, monkeypatch):
    cached = fetch(toolset)
    assert cached.programs["alpha"].source is Source.DOWNLOADED

    assets = directory_with(tmp_path / "assets", "alpha", "beta")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    assert find_binaries(toolset).directories == (assets,)

    mine = directory_with(tmp_path / "mine", "alpha", "beta")
    monkeypatch.setenv("MOORING_BINARIES", str(mine))
    found = fetch(toolset)
    assert found.directories == (mine,)
    assert found.programs["beta"].source is Source.NAMED


def test_a_hole_in_mooring_binaries_is_an_error_that_names_everything(toolset, tmp_path, monkeypatch):
    mine = directory_with(tmp_path / "mine", "alpha")
    monkeypatch.setenv("MOORING_BINARIES", str(mine))
    for act in (find_binaries, fetch):
        with pytest.raises(BinariesError) as caught:
            act(toolset)
        for word in ("MOORING_BINARIES", str(mine), "beta is not there", "unset"):
            assert word in str(caught.value)


def test_a_hole_in_kubebuilder_assets_is_filled_and_told(toolset, stand_in, tmp_path, monkeypatch):
    assets = directory_with(tmp_path / "assets", "alpha")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    recorder = Recorder()
    found = fetch(toolset, recorder)
    assert found.path("alpha") == assets / "alpha"
    assert found.programs["beta"].source is Source.DOWNLOADED
    assert [note for note in recorder.notes if "KUBEBUILDER_ASSETS" in note and f"beta {VERSION}" in note]
    assert not [path for path in stand_in.requests if "alpha" in path], "what the user has is not fetched"


@pytest.mark.parametrize(("content", "mode", "reason"), [(b"", 0o755, "empty"), (b"x", 0o644, "executable")])
def test_a_named_program_that_cannot_run_is_refused(toolset, tmp_path, monkeypatch, content, mode, reason):
    mine = directory_with(tmp_path / "mine", "alpha", "beta")
    (mine / "beta").write_bytes(content)
    (mine / "beta").chmod(mode)
    monkeypatch.setenv("MOORING_BINARIES", str(mine))
    with pytest.raises(BinariesError, match=f"beta is .*{reason}"):
        find_binaries(toolset)


def test_inspecting_asks_a_named_program_for_its_version(toolset, tmp_path, monkeypatch):
    mine = directory_with(tmp_path / "mine", "alpha", "beta", version="v3.2.1-rc.1")
    (mine / "beta").write_bytes(b"#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("MOORING_BINARIES", str(mine))
    alpha, beta = inspect_binaries(toolset)
    assert (alpha.state, alpha.version) == (State.OK, "v3.2.1-rc.1")
    assert (beta.state, beta.version) == (State.BROKEN, None)


def test_nothing_there_is_said_with_the_command_that_helps(toolset):
    assert [finding.state for finding in inspect_binaries(toolset)] == [State.MISSING, State.MISSING]
    with pytest.raises(BinariesError, match=r"alpha is not there.*mooring binaries fetch"):
        find_binaries(toolset)


def truncate(path: Path) -> None:
    os.truncate(path, 5)


def remove(path: Path) -> None:
    path.unlink()


def change_a_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"echo", b"ECHO"))


def forbid_running(path: Path) -> None:
    path.chmod(0o644)


@pytest.mark.parametrize("harm", [truncate, remove, change_a_byte, forbid_running])
def test_harm_is_noticed_and_only_the_harmed_program_is_fetched_again(toolset, stand_in, harm):
    path = fetch(toolset).path("alpha")
    harm(path)
    with pytest.raises(BinariesError, match="alpha"):
        find_binaries(toolset)
    stand_in.requests.clear()
    recorder = Recorder()
    fetch(toolset, recorder)
    assert path.read_bytes() == script("alpha")
    assert {request.rpartition("/")[2] for request in stand_in.requests} == {"alpha", "alpha.sha256"}
    assert bool([note for note in recorder.notes if str(path) in note]) is (harm is not remove)


def test_a_new_time_alone_does_no_harm_and_is_set_back(toolset, stand_in):
    path = fetch(toolset).path("alpha")
    before = path.stat().st_mtime_ns
    os.utime(path)
    assert find_binaries(toolset).path("alpha") == path
    assert path.stat().st_mtime_ns == before


def test_a_thorough_look_sees_what_size_and_time_hide(toolset, stand_in):
    path = fetch(toolset).path("alpha")
    status = path.stat()
    change_a_byte(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    alpha, beta = inspect_binaries(toolset)
    assert (alpha.state, beta.state) == (State.BROKEN, State.OK)
    assert "sha256" in alpha.reason


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b'{"binaries": {"alpha": 1}}', b'{"format": 7}'])
def test_a_damaged_manifest_counts_as_none_and_is_told(toolset, stand_in, content):
    directory = fetch(toolset).directories[0]
    (directory / "manifest.json").write_bytes(content)
    recorder = Recorder()
    fetch(toolset, recorder)
    assert len([note for note in recorder.notes if "manifest.json" in note]) == 1
    assert [finding.state for finding in inspect_binaries(toolset)] == [State.OK, State.OK]


def test_a_changed_recipe_gets_a_directory_of_its_own(toolset, stand_in):
    first = fetch(toolset).directories[0]
    (toolset.recipe_directory / "go.sum").write_text("changed\n")
    second = fetch(toolset).directories[0]
    assert first != second
    assert first.name.startswith(f"{VERSION}-")
    assert first.is_dir()


def test_a_relative_cache_directory_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_home() == tmp_path / ".cache" / "mooring"


def test_a_cache_that_cannot_be_written_is_one_sentence(toolset, stand_in, tmp_path, monkeypatch):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    with pytest.raises(BinariesError, match=r"Cannot write to .*a file.*XDG_CACHE_HOME"):
        fetch(toolset)


def test_every_kubernetes_version_comes_from_the_one_go_mod():
    recipe = read_recipe(KUBERNETES)
    text = (KUBERNETES.recipe_directory / "go.mod").read_text()
    for tool in KUBERNETES.tools:
        assert f"{tool.module} {recipe.versions[tool.name]}" in text
        assert f"\t{tool.package}\n" in text, "each program is a tool of the module"
    assert recipe.version == recipe.versions["kube-apiserver"]


def test_the_server_is_stamped_with_its_version():
    server = next(tool for tool in KUBERNETES.tools if tool.name == "kube-apiserver")
    prefix = "-X k8s.io/component-base/version."
    assert linker_flags(server, "v1.36.4") == (
        f"-s -w {prefix}gitVersion=v1.36.4 {prefix}gitMajor=1 {prefix}gitMinor=36"
    )


@pytest.mark.parametrize(("text", "word"), [("module m\n", "Go version"), ("module m\n\ngo 1.26\n", "greeter")])
def test_a_recipe_that_pins_nothing_is_named(toolset, text, word):
    (toolset.recipe_directory / "go.mod").write_text(text)
    with pytest.raises(BinariesError, match=word) as caught:
        find_binaries(toolset)
    assert str(toolset.recipe_directory) in str(caught.value)
