"""Every command explains itself, and every bad input gets one sentence and never a traceback."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from landscape_kit import MOORING, Mooring
from mooring.cli.failures import explained
from mooring.controlplane.errors import StateError

WORDS = ("up", "down", "status", "kubeconfig", "logs")


def _run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [str(MOORING), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


@pytest.mark.parametrize("words", [(), *((word,) for word in (*WORDS, "binaries")), ("binaries", "fetch")])
def test_help(words: tuple[str, ...]) -> None:
    ended = _run(*words, "--help")
    assert ended.returncode == 0
    assert ended.stdout.startswith("Usage: mooring")


def test_kubectl_has_the_help_of_kubectl(shared: Mooring) -> None:
    assert "kubectl controls the Kubernetes cluster manager" in shared.kubectl("--help").out


def test_version() -> None:
    assert _run("--version").stdout.startswith("mooring ")


@pytest.mark.parametrize(("word", "name"), list(zip(WORDS, ["../x", "A_", "", "x" * 41, "a b"], strict=True)))
def test_bad_names(word: str, name: str, tmp_path: Path) -> None:
    ended = _run(word, "--dir", str(tmp_path), "--landscape", name)
    assert ended.returncode == 1
    assert ended.stderr == (
        f"mooring: {name!r} cannot be the name of a landscape: use up to 40 lower-case letters, digits and inner "
        f"hyphens.\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (("fly",), "No such command 'fly'"),
        (("status", "--loud"), "No such option: --loud"),
        (("status", "-o", "xml"), "'xml' is not one of"),
        (("logs", "scheduler"), "there is no component 'scheduler'; choose one of mooring, etcd"),
        (("logs", "-n", "-1"), "Invalid value for '--lines'"),
        (("up", "extra"), "unexpected extra argument"),
    ],
)
def test_bad_words(words: tuple[str, ...], phrase: str) -> None:
    ended = _run(*words)
    assert ended.returncode == 2
    assert phrase in ended.stderr


def test_without_a_landscape_there_is_nothing_to_reach(mooring: Mooring) -> None:
    for words in (("kubeconfig",), ("kubeconfig", "--merge"), ("kubectl", "version")):
        failed = mooring.run(*words, code=1)
        assert f"There is no landscape 'default' in {mooring.parent}" in failed.err
        assert f"mooring up --dir {mooring.parent}" in failed.err
    assert mooring.run("logs", code=1).err == "There are no logs yet.\n"
    assert not mooring.directory.exists()


def test_printed_commands_can_be_copied_whatever_the_directory_is_called(tmp_path: Path) -> None:
    (tmp_path / "my data").mkdir()
    failed = Mooring(tmp_path / "my data").run("kubeconfig", code=1)
    assert f"mooring up --dir '{tmp_path}/my data'" in failed.err


@pytest.mark.parametrize("word", ["up", "down", "status", "kubeconfig"])
@pytest.mark.parametrize("directory", ["~nobody-of-that-name", "/" + "x" * 300])
def test_places_that_make_no_sense(word: str, directory: str) -> None:
    ended = _run(word, "--dir", directory)
    assert ended.returncode == 1
    assert "internal error" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_an_error_is_told_in_its_own_words_and_a_defect_says_what_to_do() -> None:
    assert explained(StateError("The disk is full.")) == "The disk is full."
    both = ExceptionGroup("several", [StateError("One."), ExceptionGroup("more", [StateError("Two.")])])
    assert explained(both) == "One.\nTwo."
    assert explained(PermissionError(13, "Permission denied", "/x")) == "Cannot use /x: Permission denied."
    assert (
        explained(OSError(28, "No space left on device")) == "No space left on device. Free some space and try again."
    )
    assert explained(ZeroDivisionError("oops")) == (
        "internal error: ZeroDivisionError: oops. This is a defect of Mooring; run the command again with "
        "MOORING_DEBUG=1 and report what it prints."
    )


def test_whoever_had_enough_of_our_output_may_close_it() -> None:
    shell = f"{MOORING} --help | head -n 1"
    ended = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=60)
    assert ended.stdout.startswith("Usage: mooring") or ended.stdout == "\n"
    assert "Traceback" not in ended.stderr
