"""``mooring binaries``: what programs Mooring has, and getting them.

A thin layer of words over `mooring.controlplane.binaries`, which is imported only when a command runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.tables import Output, OutputOption, print_table

if TYPE_CHECKING:
    from mooring.controlplane.binaries import Finding
    from mooring.controlplane.toolsets import Toolset

ToolsetOption = Annotated[
    str,
    typer.Option(
        "--set", metavar="NAME", help="Which programs: kubernetes, or a set that only tests need, such as cluster-api."
    ),
]

app = typer.Typer(rich_markup_mode=None, help="Show or fetch the Kubernetes programs that Mooring runs.")


@app.callback(invoke_without_command=True)
def binaries(context: typer.Context, toolset: ToolsetOption = "kubernetes", output: OutputOption = Output.TEXT) -> None:
    """List the programs: version, where they come from, where they are, and whether they are whole.

    Looked for in the directory that MOORING_BINARIES or KUBEBUILDER_ASSETS names, then in the cache. Every
    byte is compared with what was fetched. Exits with 1 if a program is missing or broken.
    """
    if context.invoked_subcommand is not None:
        return
    from mooring.controlplane.binaries import State, inspect_binaries

    findings = inspect_binaries(_toolset(toolset))
    if output is Output.JSON:
        typer.echo(json.dumps([_as_json(one) for one in findings], indent=2))
    else:
        _print_table(findings)
    if any(one.state is not State.OK for one in findings):
        if output is Output.TEXT:
            typer.echo("Run 'mooring binaries fetch' to get what is missing or broken.", err=True)
        raise typer.Exit(1)


@app.command()
def fetch(
    download: Annotated[bool, typer.Option("--download", help="Only download releases, never compile.")] = False,
    build: Annotated[bool, typer.Option("--build", help="Only compile from source, never download.")] = False,
    toolset: ToolsetOption = "kubernetes",
    output: OutputOption = Output.TEXT,
) -> None:
    """Get the programs that are not there yet, and print the directory that they are in.

    Official releases are downloaded and verified. Where they cannot be reached, the programs are compiled
    from their sources, which takes some minutes, once. MOORING_RELEASES names a mirror of the releases; it
    holds each official address without its https://.
    """
    if download and build:
        raise typer.BadParameter("--download and --build exclude each other: give one, or neither for both ways.")
    from mooring.cli.progress import showing_progress
    from mooring.controlplane.binaries import Means, fetch_binaries

    means = Means.DOWNLOAD if download else Means.BUILD if build else Means.ANY
    with showing_progress() as progress:
        found = fetch_binaries(_toolset(toolset), progress=progress, means=means)
    if output is Output.JSON:
        programs = found.programs.values()
        rows = [{"name": p.name, "version": p.version, "source": p.source, "path": str(p.path)} for p in programs]
        typer.echo(json.dumps(rows, indent=2))
    else:
        # In the form of PATH, so that PATH="$(mooring binaries fetch):$PATH" is right also for two
        # directories.
        typer.echo(os.pathsep.join(str(directory) for directory in found.directories))


def _toolset(name: str) -> Toolset:
    from mooring.controlplane.toolsets import TOOLSETS

    try:
        return TOOLSETS[name]
    except KeyError:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(TOOLSETS)}.", param_hint="--set") from None


def _as_json(finding: Finding) -> dict[str, str | None]:
    return {
        "name": finding.name,
        "version": finding.version,
        "source": finding.source,
        "path": str(finding.path),
        "state": finding.state,
        "reason": finding.reason or None,
    }


def _print_table(findings: Iterable[Finding]) -> None:
    rows = []
    for one in findings:
        state = f"{one.state} ({one.reason})" if one.reason else one.state.value
        rows.append((one.name, one.version or "-", one.source or "-", state, str(one.path)))
    print_table(("NAME", "VERSION", "SOURCE", "STATE", "PATH"), rows)
