"""``mooring up``, ``down``, ``status``, ``kubectl`` and ``logs``: a landscape on this machine."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from mooring.cli.tables import Output, OutputOption, print_table, size, span

if TYPE_CHECKING:
    from mooring.app.settings import Place
    from mooring.app.status import Status
    from mooring.cli.background import Ready
    from mooring.controlplane.landscape import Landscape

T = TypeVar("T")

COMPONENTS = ("mooring", "etcd", "kube-apiserver", "kube-controller-manager")

LandscapeOption = Annotated[
    str, typer.Option("--landscape", "-l", envvar="MOORING_LANDSCAPE", help="Which landscape is meant.")
]
DirectoryOption = Annotated[
    Path | None,
    typer.Option("--dir", envvar="MOORING_DIR", help="Where landscapes are kept. [default: the user's data directory]"),
]


def register(app: typer.Typer) -> None:
    """Add these words to the tree."""
    for word in (up, down, status, logs):
        app.command()(word)
    # Everything after the word belongs to kubectl, its --help included.
    raw = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}
    app.command(context_settings=raw)(kubectl)


def up(
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return when all is ready, and go on in the background.")
    ] = False,
) -> None:
    """Start real Kubernetes on this machine, and keep it running.

    Stays in the foreground and stops everything on Ctrl-C, unless --detach is given. Data are kept; the next 'up'
    brings them back. What is missing, such as the Kubernetes programs, is fetched first.
    """
    place = place_of(landscape, directory)
    if detach:
        from mooring.cli.background import in_background

        code = in_background(lambda ready: _up(place, ready), log=place.directory / "mooring.log")
    else:
        code = _up(place, lambda: None)
    raise typer.Exit(code)


def _up(place: Place, ready: Ready) -> int:
    """What both forms of ``up`` do; ``ready`` is called after everything was said."""
    from mooring.app.landscapes import Came, landscape_to_start
    from mooring.app.landscapes import up as bring_up
    from mooring.cli.background import INTERRUPTED
    from mooring.cli.progress import showing_progress

    begun = time.monotonic()
    _log_to_stderr()
    with showing_progress() as progress:
        landscape = landscape_to_start(place, progress)

    def all_ready() -> None:
        typer.echo(f"Landscape {place.name!r} is up ({time.monotonic() - begun:.1f} s).")
        _tell_how_to_go_on(landscape)
        ready()

    came = _run(bring_up(landscape, told=lambda what: typer.echo(f"  {what}"), ready=all_ready))
    if came is Came.ALREADY:
        typer.echo(f"Landscape {place.name!r} is already running.")
        _tell_how_to_go_on(landscape)
    return INTERRUPTED if came is Came.INTERRUPTED else 0


def down(
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
    purge: Annotated[bool, typer.Option("--purge", help="Delete the landscape's data, too.")] = False,
) -> None:
    """Stop a landscape. Its data stay, unless --purge is given."""
    from mooring.app.landscapes import down as take_down
    from mooring.app.landscapes import landscape_to_look_at

    place = place_of(landscape, directory)
    if not _run(take_down(landscape_to_look_at(place), purge=purge)):
        typer.echo(f"There is no landscape {place.name!r} in {place.directory.parent}.")
    elif purge:
        typer.echo(f"Landscape {place.name!r} is stopped, and {place.directory} is deleted.")
    else:
        typer.echo(f"Landscape {place.name!r} is stopped. 'mooring up{_named(place)}' brings it back with its data.")


def status(
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show what runs, and how well. Exits with 1 unless the landscape is running."""
    import msgspec

    from mooring.app.landscapes import landscape_to_look_at
    from mooring.app.status import State
    from mooring.app.status import status as look

    seen = _run(look(landscape_to_look_at(place_of(landscape, directory))))
    if output is Output.JSON:
        typer.echo(msgspec.json.format(msgspec.json.encode(seen), indent=2))
    else:
        _print_status(seen)
    raise typer.Exit(0 if seen.state is State.RUNNING else 1)


def kubectl(
    context: typer.Context,
    arguments: Annotated[list[str] | None, typer.Argument(help="What kubectl is to do.")] = None,
) -> None:
    """Run Mooring's kubectl on the landscape: 'mooring kubectl get namespaces'.

    The landscape is named by MOORING_LANDSCAPE and MOORING_DIR; all arguments go to kubectl.
    """
    from mooring.controlplane.binaries import find_binaries
    from mooring.controlplane.toolsets import KUBERNETES

    parent = os.environ.get("MOORING_DIR")
    place = place_of(os.environ.get("MOORING_LANDSCAPE") or "default", Path(parent) if parent else None)
    program = str(find_binaries(KUBERNETES).path("kubectl"))
    path = started(place).write_kubeconfig()
    os.execve(program, [program, *(arguments or [])], {**os.environ, "KUBECONFIG": str(path)})  # noqa: S606


def _complete_component(incomplete: str) -> list[str]:
    return [name for name in COMPONENTS if name.startswith(incomplete)]


def logs(
    component: Annotated[
        str | None,
        typer.Argument(help=f"{', '.join(COMPONENTS)}, or a provider's name.", autocompletion=_complete_component),
    ] = None,
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines, until Ctrl-C.")] = False,
) -> None:
    """Show the logs of a landscape's processes, of one or of all."""
    from mooring.cli.logs import log_files, show

    files = log_files(place_of(landscape, directory).directory, component)
    if not files and component is not None and component not in COMPONENTS:
        known = ", ".join(COMPONENTS)
        raise typer.BadParameter(f"there is no component {component!r}; choose one of {known}, or a provider's name.")
    if not files:
        typer.echo("There are no logs yet.", err=True)
        raise typer.Exit(1)
    show(files, lines=lines, follow=follow)


def _run(work: Coroutine[Any, Any, T]) -> T:
    import asyncio  # takes longer than everything else that --help needs

    return asyncio.run(work)


def place_of(landscape: str, directory: Path | None) -> Place:
    from mooring.app.settings import place

    return place(landscape, directory)


def started(place: Place) -> Landscape:
    """The landscape, if it has ever been up: only then there is something to reach."""
    from mooring.app.landscapes import landscape_to_look_at
    from mooring.app.settings import SettingError

    found = landscape_to_look_at(place)
    if (found.exists or found.has_data) and found.platform.was_prepared:
        return found
    raise SettingError(
        f"There is no landscape {place.name!r} in {place.directory.parent}. Start it with 'mooring up{_named(place)}'."
    )


def _named(place: Place) -> str:
    """What must be added to a command so that it means this landscape again."""
    from mooring.app.settings import data_directory

    words = "" if place.name == "default" else f" --landscape {place.name}"
    parent = place.directory.parent
    return words if parent == data_directory() else f"{words} --dir {shlex.quote(str(parent))}"


def _tell_how_to_go_on(landscape: Landscape) -> None:
    from mooring.app.settings import Place

    named = _named(Place(landscape.name, landscape.directory))
    typer.echo(
        f"\n  export KUBECONFIG=$({_command()} kubeconfig{named})\n  kubectl get namespaces\n\n"
        f"Stop it with '{_command()} down{named}'."
    )


def _command() -> str:
    """How this program was called, so that the lines we print can be copied also when it is not on the PATH."""
    import shutil

    called = sys.argv[0]
    return "mooring" if shutil.which("mooring") or not called else shlex.quote(called)


def _log_to_stderr() -> None:
    import logging

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stderr)


def _print_status(seen: Status) -> None:
    typer.echo(f"Landscape {seen.landscape!r}: {seen.state}")
    if seen.reason:
        typer.echo(f"  reason      {seen.reason}")
    typer.echo(f"  directory   {seen.directory}")
    if seen.server is not None:
        typer.echo(f"  server      {seen.server}")
    if seen.kubernetes is not None:
        typer.echo(f"  kubernetes  {seen.kubernetes}")
    for alarm in seen.alarms:
        typer.echo(f"  etcd alarm  {alarm}: see docs/how-to/landscapes.md for what to do")
    if not seen.components:
        return
    typer.echo()
    rows = [
        (
            one.name,
            "running" if one.running else "stopped",
            str(one.pid or "-"),
            "-" if one.up_seconds is None else span(one.up_seconds),
            "-" if one.memory_bytes is None else size(one.memory_bytes),
            str(one.restarts) + (f" (last {one.last_exit})" if one.last_exit else ""),
        )
        for one in seen.components
    ]
    print_table(("COMPONENT", "STATE", "PID", "UP", "MEMORY", "RESTARTS"), rows)
