"""The tree of commands, and what happens when one of them fails."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from mooring import __version__
from mooring.cli import (
    access,
    binaries,
    clusters,
    conformance,
    crds,
    kubeconfigs,
    landscapes,
    operator,
    profiles,
    providers,
    requests,
    simulate,
    why,
)
from mooring.cli.failures import tell

app = typer.Typer(
    name="mooring",
    help="Kubernetes clusters, and access to them, for the asking.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(binaries.app, name="binaries")
landscapes.register(app)
app.command()(kubeconfigs.kubeconfig)
app.add_typer(requests.app, name="request")
app.add_typer(clusters.app, name="cluster")
app.add_typer(access.app, name="access")
app.add_typer(profiles.app, name="profile")
app.add_typer(providers.app, name="provider")
for word in (why.why, simulate.simulate, conformance.conformance, operator.install, operator.run, crds.crds):
    app.command()(word)


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}, add_help_option=False)
def clusterctl(words: Annotated[list[str] | None, typer.Argument(metavar="WORD…", show_default=False)] = None) -> None:
    """Do as clusterctl: providers, templates, and the life of Cluster API's clusters.

    Words and flags are clusterctl's own; 'mooring clusterctl --help' shows them.
    """
    from mooring.cli.clusterctl.main import main as run  # the console script comes here without this detour

    raise typer.Exit(run(words or []))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mooring {__version__}")
        raise typer.Exit


@app.callback()
def mooring(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Kubernetes clusters, and access to them, for the asking."""


def main() -> None:
    """Run a command; whatever goes wrong becomes one message and an exit code."""
    try:
        app()
    except BrokenPipeError:
        # Whoever read our output had enough. Nothing is left to be flushed to it at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        tell(error)
        sys.exit(1)
