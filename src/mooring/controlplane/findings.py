"""What is there: a look at the directories that may hold a toolset's programs, without changing any of them.

The order is the user's: a directory that an environment variable names comes before the cache. `binaries`
turns the findings into paths to run, `fetching` turns gaps into programs, and the CLI prints them as they
are.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mooring.controlplane.binarycache import Source, State, cache_directory, check_entry, read_manifest
from mooring.controlplane.toolsets import NamedDirectory, Recipe, Tool, Toolset

_VERSION = re.compile(r"\bv?(\d+\.\d+\.\d+[0-9A-Za-z.+-]*)")
_ANSWER_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One program: where it is or should be, and how it is. The reason says what is wrong, if anything is."""

    name: str
    path: Path
    state: State
    version: str | None = None
    source: Source | None = None
    reason: str = ""


def look(toolset: Toolset, recipe: Recipe, *, thorough: bool = False) -> list[Finding]:
    """One finding per program, in the toolset's order. A thorough look reads every byte."""
    named = named_directory(toolset)
    if named is None:
        return look_into_cache(toolset, recipe, thorough=thorough)
    rule, directory = named
    here = [_look_into_named(tool, directory) for tool in toolset.tools]
    if rule.complete:
        return here
    cached = look_into_cache(toolset, recipe, thorough=thorough)
    return [one if one.state is State.OK else other for one, other in zip(here, cached, strict=True)]


def named_directory(toolset: Toolset) -> tuple[NamedDirectory, Path] | None:
    """The directory that the user names, and the rule for it; the first variable that is set counts."""
    for rule in toolset.named_directories:
        value = os.environ.get(rule.variable, "")
        if value:
            return rule, Path(value).expanduser().absolute()
    return None


def look_into_cache(toolset: Toolset, recipe: Recipe, *, thorough: bool = False) -> list[Finding]:
    """One finding per program, whatever directory the user names."""
    directory = cache_directory(toolset, recipe)
    manifest, trouble = read_manifest(directory)
    findings = []
    for tool in toolset.tools:
        entry = manifest.binaries.get(tool.name)
        path = directory / tool.name
        verdict = check_entry(path, entry, thorough=thorough)
        # Without its manifest nothing is known about a program, and the manifest's trouble is the better
        # reason.
        explained = trouble if trouble and verdict.state is State.BROKEN else verdict.reason
        findings.append(
            Finding(
                name=tool.name,
                path=path,
                state=verdict.state,
                version=entry.version if entry else None,
                source=entry.source if entry else None,
                reason=explained,
            )
        )
    return findings


def ask_version(path: Path, tool: Tool) -> str | None:
    """The version that a program says it has, or None if it does not answer sensibly."""
    try:
        answer = subprocess.run(
            [path, *tool.version_arguments],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_ANSWER_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stdout + answer.stderr)
    return f"v{match[1]}" if match and answer.returncode == 0 else None


def _look_into_named(tool: Tool, directory: Path) -> Finding:
    path = directory / tool.name
    if not path.is_file():
        state, reason = State.MISSING, "is not there"
    elif not os.access(path, os.X_OK):
        state, reason = State.BROKEN, "is not executable"
    elif path.stat().st_size == 0:
        state, reason = State.BROKEN, "is empty"
    else:
        state, reason = State.OK, ""
    return Finding(name=tool.name, path=path, state=state, source=Source.NAMED, reason=reason)
