"""The programs that Mooring runs: found where the user put them, or fetched once and kept.

This is the door for everybody else. `find_binaries` looks and changes nothing; `fetch_binaries` looks and
gets what is lacking; both answer with paths. In this order a program is looked for in a directory that the
user names, in the cache, among the official releases, and in its sources (`findings`, `releases`, `gobuild`).
A quick check at every use notices a truncated or replaced file of the cache; `inspect_binaries` reads every
byte.

Everything here is synchronous and may take minutes: call it before an event loop runs, or in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mooring.controlplane.binarycache import Means, Source, State
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.findings import Finding, ask_version, look, named_directory
from mooring.controlplane.progress import Progress
from mooring.controlplane.toolsets import Toolset, read_recipe

__all__ = [
    "Binaries",
    "Binary",
    "Finding",
    "Means",
    "Source",
    "State",
    "fetch_binaries",
    "find_binaries",
    "inspect_binaries",
]


@dataclass(frozen=True, slots=True)
class Binary:
    """A program that can be run. In a directory of the user's, its version is not known without asking it."""

    name: str
    path: Path
    version: str | None
    source: Source


@dataclass(frozen=True, slots=True)
class Binaries:
    """All programs of a toolset."""

    toolset: str
    programs: Mapping[str, Binary]

    def path(self, name: str) -> Path:
        """The program of this name."""
        return self.programs[name].path

    @property
    def directories(self) -> tuple[Path, ...]:
        """Where the programs are: one directory, or two if an incomplete one was filled up from the cache."""
        return tuple(dict.fromkeys(binary.path.parent for binary in self.programs.values()))


def find_binaries(toolset: Toolset) -> Binaries:
    """The programs, if all of them are there. BinariesError says which are not, and what to do."""
    findings = look(toolset, read_recipe(toolset))
    _refuse_incomplete(toolset, findings)
    lacking = _lacking(findings)
    if lacking:
        told = "; ".join(f"{one.path} {one.reason}" for one in lacking)
        raise BinariesError(f"Not all programs are here: {told}. Run 'mooring binaries fetch' to get them.")
    return _binaries(toolset, findings)


def fetch_binaries(toolset: Toolset, *, progress: Progress, means: Means = Means.ANY) -> Binaries:
    """The programs, after getting those that were lacking. Costs a few file look-ups if none is."""
    recipe = read_recipe(toolset)
    findings = look(toolset, recipe)
    _refuse_incomplete(toolset, findings)
    lacking = _lacking(findings)
    if lacking:
        # Imported here for start-up time: HTTP and archives cost more than the whole warm path.
        from mooring.controlplane.fetching import fill_cache

        fill_cache(toolset, recipe, wanted=[one.name for one in lacking], means=means, progress=progress)
        findings = look(toolset, recipe)
    _tell_filled(toolset, findings, progress)
    return _binaries(toolset, findings)


def inspect_binaries(toolset: Toolset) -> list[Finding]:
    """Every program with its state after a thorough look; one of the user's is asked for its version."""
    findings = look(toolset, read_recipe(toolset), thorough=True)
    tools = {tool.name: tool for tool in toolset.tools}
    return [_asked(one, ask_version(one.path, tools[one.name])) if _is_unknown(one) else one for one in findings]


def _is_unknown(finding: Finding) -> bool:
    return finding.state is State.OK and finding.version is None


def _asked(finding: Finding, version: str | None) -> Finding:
    if version is None:
        return replace(finding, state=State.BROKEN, reason="does not tell its version when it is run")
    return replace(finding, version=version)


def _lacking(findings: Iterable[Finding]) -> list[Finding]:
    return [one for one in findings if one.state is not State.OK]


def _refuse_incomplete(toolset: Toolset, findings: Iterable[Finding]) -> None:
    """Someone who names a complete directory means it: we don't quietly run something else."""
    named = named_directory(toolset)
    lacking = _lacking(findings)
    if named is None or not named[0].complete or not lacking:
        return
    rule, directory = named
    told = "; ".join(f"{one.name} {one.reason}" for one in lacking)
    raise BinariesError(
        f"{rule.variable} names {directory}, but there {told}. Put all of "
        f"{', '.join(tool.name for tool in toolset.tools)} there, or unset {rule.variable} so that Mooring "
        f"fetches them."
    )


def _tell_filled(toolset: Toolset, findings: Iterable[Finding], progress: Progress) -> None:
    named = named_directory(toolset)
    filled = [one for one in findings if one.source is not Source.NAMED]
    if named is not None and filled:
        names = ", ".join(f"{one.name} {one.version}" for one in filled)
        progress.note(f"{named[0].variable} names {named[1]}, which lacks {names}: taken from {filled[0].path.parent}")


def _binaries(toolset: Toolset, findings: Iterable[Finding]) -> Binaries:
    programs = {}
    for one in findings:
        if one.state is not State.OK or one.source is None:
            raise BinariesError(
                f"{one.path} {one.reason}, just after it was fetched. Does something clean that directory?"
            )
        programs[one.name] = Binary(name=one.name, path=one.path, version=one.version, source=one.source)
    return Binaries(toolset=toolset.name, programs=programs)
