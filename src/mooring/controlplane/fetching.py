"""Filling the cache: downloads first, then a build, and one clear sentence if neither can be done.

`fill_cache` is called by `binaries` when a look found gaps. It holds the cache's lock from a second look to
the last program, so of two processes at once one works and the other one waits, looks again and finds
everything there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mooring.controlplane.binarycache import Means, Source, State, adopt, cache_directory, locked
from mooring.controlplane.commands import termination_unwinds
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.findings import Finding, look_into_cache
from mooring.controlplane.gobuild import BuildError, build_tool
from mooring.controlplane.gotoolchain import ToolchainError, provide_go
from mooring.controlplane.progress import Progress
from mooring.controlplane.releases import (
    MIRROR_VARIABLE,
    DownloadError,
    UnreachableError,
    download_tool,
    host_of,
)
from mooring.controlplane.toolsets import Recipe, Tool, Toolset, operating_system


@dataclass(slots=True)
class _Errand:
    """One fetch in progress: what is still lacking, and what went wrong on the way to it."""

    toolset: Toolset
    recipe: Recipe
    directory: Path
    drafts: Path
    progress: Progress
    lacking: list[Tool]
    failures: list[str] = field(default_factory=list)

    def deliver(self, tool: Tool, draft: Path, source: Source) -> None:
        adopt(draft, self.directory, tool.name, version=self.version(tool), source=source)
        self.lacking.remove(tool)

    def version(self, tool: Tool) -> str:
        return self.recipe.versions[tool.name]


def fill_cache(toolset: Toolset, recipe: Recipe, *, wanted: Iterable[str], means: Means, progress: Progress) -> None:
    """Get the wanted programs into the cache. Raises BinariesError if one of them cannot be had."""
    names = set(wanted)
    directory = cache_directory(toolset, recipe)

    def waiting(holder: str) -> None:
        progress.note(f"Waiting for another mooring that is getting the same programs ({holder})")

    with termination_unwinds(), _naming_disk(directory), locked(directory, on_wait=waiting) as drafts:
        found = [one for one in look_into_cache(toolset, recipe) if one.name in names]
        _tell_broken(found, progress)
        gaps = {one.name for one in found if one.state is not State.OK}
        lacking = [tool for tool in toolset.tools if tool.name in gaps]
        errand = _Errand(toolset, recipe, directory, drafts, progress, lacking)
        if means is not Means.BUILD:
            _download(errand, and_then_build=means is Means.ANY)
        if means is not Means.DOWNLOAD:
            _build(errand)
        if errand.lacking:
            raise BinariesError(_sentence(errand, means))


def _tell_broken(found: Iterable[Finding], progress: Progress) -> None:
    broken = [one for one in found if one.state is State.BROKEN]
    for reason in dict.fromkeys(one.reason for one in broken):
        names = ", ".join(str(one.path) for one in broken if one.reason == reason)
        progress.note(f"Getting {names} again: {reason}")


def _download(errand: _Errand, *, and_then_build: bool) -> None:
    if operating_system() != "linux":
        errand.failures.append(f"there are no releases of the server programs for {operating_system()}")
        errand.progress.note(
            "Releases of the server programs exist for Linux only, and so does the embedded control plane: "
            "what can be compiled here serves as tools."
        )
        return
    unreachable: set[str] = set()
    for tool in list(errand.lacking):
        try:
            _download_one(errand, tool, unreachable)
        except DownloadError as failure:
            errand.failures.append(str(failure))
    if errand.failures and and_then_build:
        errand.progress.note(f"No download: {'; '.join(dict.fromkeys(errand.failures))}. Building instead.")


def _download_one(errand: _Errand, tool: Tool, unreachable: set[str]) -> None:
    if tool.release is None or host_of(tool.release.address) in unreachable:
        return
    try:
        draft = download_tool(tool, tool.release, errand.version(tool), drafts=errand.drafts, progress=errand.progress)
    except UnreachableError:
        unreachable.add(host_of(tool.release.address))
        raise
    errand.deliver(tool, draft, Source.DOWNLOADED)


def _build(errand: _Errand) -> None:
    if not errand.lacking:
        return
    try:
        go = provide_go(errand.recipe.go_version, progress=errand.progress)
        names = ", ".join(tool.name for tool in errand.lacking)
        errand.progress.note(
            f"Compiling {names} with Go {go.version}. This happens once: they are kept in {errand.directory}"
        )
        for tool in list(errand.lacking):
            draft = build_tool(
                errand.toolset,
                tool,
                errand.version(tool),
                go=go,
                drafts=errand.drafts,
                progress=errand.progress,
            )
            errand.deliver(tool, draft, Source.BUILT)
    except (ToolchainError, BuildError) as failure:
        # The next program needs the same toolchain and the same proxy, so there is no use in going on.
        errand.failures.append(str(failure))


def _sentence(errand: _Errand, means: Means) -> str:
    """What is lacking, what was tried, and what the person can do about it."""
    names = ", ".join(tool.name for tool in errand.lacking)
    tried = "; ".join(dict.fromkeys(errand.failures)) or "there are no releases of them"
    ways = [
        f"put them into a directory and name it in {rule.variable}"
        for rule in errand.toolset.named_directories
        if rule.complete
    ]
    if means is not Means.BUILD:
        ways.append(f"name a mirror of the releases in {MIRROR_VARIABLE}")
    if means is not Means.DOWNLOAD:
        ways.append(f"name a Go module proxy in GOPROXY (and have Go {errand.recipe.go_version} or newer on PATH)")
    return f"Cannot get {names}: {tried}. Either {', or '.join(ways)}, then run 'mooring binaries fetch'."


@contextlib.contextmanager
def _naming_disk(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BinariesError(
            f"Cannot write to {directory}: {error.strerror or error}. Free some space or fix the permissions "
            f"there, or name another cache in XDG_CACHE_HOME."
        ) from error
