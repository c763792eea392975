"""What the words about a platform have in common: which one is meant, how long to wait, and how objects are printed.

A word that is decorated with `on_a_platform` has the options that say which platform is meant, and gets them as one
``reach``. `listings` prints many objects.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from mooring.cli.background import INTERRUPTED
from mooring.cli.landscapes import DirectoryOption, LandscapeOption
from mooring.cli.operator import ContextOption, yaml_text
from mooring.cli.why import KubeconfigOption

if TYPE_CHECKING:
    from mooring.api.kinds import Kind
    from mooring.app.reaching import Reach
    from mooring.kube import Client, Object, ObjectKey

    K = TypeVar("K", bound=Kind)

T = TypeVar("T")

TimeoutOption = Annotated[
    str, typer.Option("--timeout", help="With --wait: how long at most, such as 10m. [default: no limit]")
]
WaitUntilGoneOption = Annotated[bool, typer.Option("--wait", "-w", help="Wait until it is gone.")]

_REACH = "reach"
_WHERE = {
    "kubeconfig": (KubeconfigOption, None),
    "context": (ContextOption, None),
    "landscape": (LandscapeOption, "default"),
    "directory": (DirectoryOption, None),
}


class Printed(StrEnum):
    """How one object is printed."""

    YAML = "yaml"
    JSON = "json"
    NAME = "name"


def on_a_platform(word: Callable[..., None]) -> Callable[..., None]:
    """Give a word the options that say which platform is meant; it gets what they say as its ``reach``."""

    @functools.wraps(word)
    def reached(**given: Any) -> None:
        from mooring.app.reaching import Reach

        where = {name: given.pop(name) for name in _WHERE}
        word(**given, reach=Reach(**where))

    # Typer reads the options off the signature. Reach itself is not imported before a word runs.
    hints = get_type_hints(word, localns={"Reach": object}, include_extras=True)
    own = [
        one.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, one in inspect.signature(word).parameters.items()
        if name != _REACH
    ]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)
        for name, (option, default) in _WHERE.items()
    ]
    reached.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    reached.__annotations__ = {one.name: one.annotation for one in (*own, *more)}
    return reached


# -- doing ----------------------------------------------------------------------------------------------------------


def run(work: Coroutine[Any, Any, T]) -> T:
    """Do it, to its end."""
    import asyncio

    return asyncio.run(work)


def there(reach: Reach, deed: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
    """Do something on the platform that is meant."""
    from mooring.app.reaching import reaching

    async def done() -> T:
        async with reaching(reach) as client:
            return await deed(client)

    return run(done())


def waiting(work: Coroutine[Any, Any, T], on_interrupt: str) -> T:
    """Wait for something that goes on without us, too: Ctrl-C says so."""
    try:
        return run(work)
    except KeyboardInterrupt:
        typer.echo(on_interrupt, err=True)
        raise typer.Exit(INTERRUPTED) from None


def see_off(
    reach: Reach,
    kind: type[K],
    key: ObjectKey,
    uid: str,
    *,
    standing: Callable[[K], str],
    wait: bool,
    seconds: float | None,
) -> None:
    """Say that an object is deleted, with ``wait`` as soon as that is true; without a uid it is already."""
    what = f"{kind.API.kind.lower()} {key.name}"
    if uid and not wait:
        typer.echo(f"{what} is being deleted.")
        return
    if uid:
        waiting(_until_gone(reach, kind, key, uid, standing, seconds), "The deletion goes on without us.")
    typer.echo(f"{what} is deleted.")


async def _until_gone(
    reach: Reach, kind: type[K], key: ObjectKey, uid: str, standing: Callable[[K], str], seconds: float | None
) -> None:
    from mooring.app.reaching import reaching
    from mooring.app.waiting import patience, until_gone
    from mooring.kube import typed

    late = f"The {kind.API.kind.lower()} {key} is not gone in time; its deletion goes on."
    async with reaching(reach) as client, patience(seconds, lambda: late):
        await until_gone(client, typed(kind), key, uid, standing=standing, told=progress)


def progress(text: str) -> None:
    """One step of a wait."""
    from mooring.api.texts import printable

    typer.echo(f"  {printable(text)}", err=True)


def seconds_to_wait(timeout: str, *, wait: bool) -> float | None:
    """What ``--timeout`` says; None for as long as it takes."""
    from mooring.api.durations import seconds_of
    from mooring.app.requests import checked_duration

    if timeout and not wait:
        raise typer.BadParameter("--timeout says how long to wait; give --wait with it.")
    return seconds_of(checked_duration(timeout, "--timeout")) if timeout else None


# -- telling --------------------------------------------------------------------------------------------------------


def print_one(document: Object, output: Printed) -> None:
    """An object that was made, in the form that was asked for."""
    import json

    if output is Printed.NAME:
        typer.echo(f"{document['kind'].lower()}/{document['metadata']['name']}")
    elif output is Printed.JSON:
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        typer.echo(yaml_text(document), nl=False)
