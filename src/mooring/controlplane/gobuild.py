"""Programs compiled from the sources that a recipe pins, through the Go module proxy.

go does the fetching, the checking (``go.sum``) and the compiling, and keeps both caches. What is added here
is how far it is: first the modules that it downloads, then how many packages must be compiled, then each of
them. `binaries` asks for one program at a time, so that a program that is done stays done if the next one is
interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mooring.controlplane.commands import run_command
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.gotoolchain import Go
from mooring.controlplane.progress import Progress, Unit
from mooring.controlplane.toolsets import (
    BUILD_FLAGS,
    Tool,
    Toolset,
    architecture,
    linker_flags,
    operating_system,
)

# Kubernetes and etcd, 2,724 packages, took 409 s on two cores with empty caches.
_CORE_SECONDS_PER_PACKAGE = 0.3
_DOWNLOADING = "go: downloading "
_STALE = "stale "


class BuildError(BinariesError):
    """go could not make the program; the message holds its last words."""


@dataclass(frozen=True, slots=True)
class _Build:
    """Everything that each go command of one build has in common."""

    go: Go
    toolset: Toolset
    tool: Tool
    version: str
    drafts: Path
    progress: Progress

    def flags(self) -> list[str]:
        return [*BUILD_FLAGS, "-ldflags", linker_flags(self.tool, self.version)]

    def environment(self) -> dict[str, str]:
        # go's work files lie among our drafts, so that even a killed build leaves nothing that nobody clears.
        work = self.drafts / "go-work"
        work.mkdir(exist_ok=True)
        target = {"GOOS": operating_system(), "GOARCH": architecture(), "GOTMPDIR": str(work)}
        return {**self.go.environment(), **target}


def build_tool(toolset: Toolset, tool: Tool, version: str, *, go: Go, drafts: Path, progress: Progress) -> Path:
    """Compile one program; the path of the draft. Raises BuildError."""
    build = _Build(go=go, toolset=toolset, tool=tool, version=version, drafts=drafts, progress=progress)
    progress.step(f"{tool.name} {version}: looking up its modules")
    stale = _list_stale(build)
    progress.step(f"{tool.name} {version}: compiling {_amount(stale)}")
    return _compile(build, stale)


def estimate(packages: int, *, cores: int) -> str:
    """About how long compiling takes, in words that promise no more than is known."""
    seconds = packages * _CORE_SECONDS_PER_PACKAGE / cores
    if seconds < 50:
        return "less than a minute"
    minutes = max(1, round(seconds / 60))
    return "about a minute" if minutes == 1 else f"about {minutes} minutes"


def _amount(stale: int) -> str:
    # The program itself always counts as stale, because it is not in a place that go knows.
    if stale <= 1:
        return "(its packages are in Go's build cache)"
    return f"{stale} packages, {estimate(stale, cores=os.cpu_count() or 1)} on this machine"


def _list_stale(build: _Build) -> int:
    """How many packages must be compiled. Finding out makes go download the modules that it lacks."""
    modules = stale = 0

    def hear(line: str) -> None:
        nonlocal modules, stale
        if line.startswith(_DOWNLOADING):
            modules += 1
            detail = line.removeprefix(_DOWNLOADING)
            build.progress.advance(modules, None, unit=Unit.MODULES, detail=f"downloading {detail}")
        elif line.startswith(_STALE):
            stale += 1

    template = f"{{{{if .Stale}}}}{_STALE}{{{{.ImportPath}}}}{{{{end}}}}"
    _run_go(build, ["list", "-deps", "-f", template, *build.flags(), build.tool.package], hear)
    return stale


def _compile(build: _Build, stale: int) -> Path:
    draft = build.drafts / build.tool.name
    compiled = 0

    def hear(line: str) -> None:
        # With -v go says the name of each package that it compiles; everything else that it says has a space
        # or a '#'.
        nonlocal compiled
        if line and " " not in line and not line.startswith("#"):
            compiled += 1
            build.progress.advance(compiled, max(stale, compiled), unit=Unit.PACKAGES, detail=line)

    _run_go(build, ["build", "-v", *build.flags(), "-o", str(draft), build.tool.package], hear)
    if not draft.is_file():
        raise BuildError(f"go built no program from {build.tool.package}: it is not a main package")
    return draft


def _run_go(build: _Build, arguments: list[str], hear: Callable[[str], None]) -> None:
    try:
        ended = run_command(
            [str(build.go.path), *arguments],
            environment=build.environment(),
            directory=build.toolset.recipe_directory,
            on_line=hear,
        )
    except OSError as error:
        raise BuildError(f"{build.go.path} cannot be started ({error.strerror})") from error
    if ended.code != 0:
        raise BuildError(f"{build.tool.name}: {ended.last_words}")
