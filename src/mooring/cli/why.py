"""``mooring why``: the story of a request."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mooring.cli.landscapes import DirectoryOption, LandscapeOption
from mooring.cli.operator import ContextOption

if TYPE_CHECKING:
    from mooring.app.reaching import Reach
    from mooring.scheduling.configuration import Configuration

_PREFIXES = ("clusterrequest", "clusterrequests", "cr", "creq", "request", "requests")

KubeconfigOption = Annotated[
    Path | None,
    typer.Option("--kubeconfig", help="The kubeconfig of the platform. [default: the landscape of this machine]"),
]
NamespaceOption = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="The namespace of the request. [default: the kubeconfig's, or default]"),
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        help="The configuration of scheduling that 'mooring run' was given, if it was given one: a file or directory. "
        "Can be repeated, or parted by commas.",
    ),
]


class Telling(StrEnum):
    """How a story is told."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


TellingOption = Annotated[Telling, typer.Option("--output", "-o", help="How to print it.")]


def _complete_request(incomplete: str) -> list[str]:
    return [f"{_PREFIXES[0]}/"] if f"{_PREFIXES[0]}/".startswith(incomplete) else []


def why(
    request: Annotated[
        str,
        typer.Argument(
            help="Which request: clusterrequest/NAME, cr/NAME, or just NAME.", autocompletion=_complete_request
        ),
    ],
    namespace: NamespaceOption = None,
    output: TellingOption = Telling.TEXT,
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
) -> None:
    """Tell why a request got its cluster, or why it waits.

    For example: 'mooring why clusterrequest/web -n shop'.

    Tells what was asked once its purposes have had their say, each cluster and profile with the one reason it was
    taken or passed over, the decision, and what would have to change. Nothing is written.
    """
    import asyncio

    from mooring.app.explaining import told
    from mooring.app.reaching import Reach, reaching
    from mooring.kube import ObjectKey

    name = request_name(request)
    known = configuration(config)
    reach = Reach(kubeconfig=kubeconfig, context=context, landscape=landscape, directory=directory)

    async def look() -> Any:
        async with reaching(reach) as client:
            where = namespace or client.connection.namespace
            return await told(client, ObjectKey(where, name), known)

    print_story(asyncio.run(look()), output)


def request_name(text: str) -> str:
    """The name in ``clusterrequest/NAME`` and its short forms."""
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower().partition(".")[0] not in _PREFIXES:
        raise typer.BadParameter(f"{text!r} is no request; write clusterrequest/NAME, cr/NAME, or just NAME.")
    if not name:
        raise typer.BadParameter(f"{text!r} has no name; write clusterrequest/NAME, cr/NAME, or just NAME.")
    return name


def configuration(given: Sequence[str] | None) -> Configuration:
    """What ``--config`` says."""
    from mooring.app.configurations import configuration_choice
    from mooring.app.explaining import configured

    return configured(configuration_choice(given or (), None, None).files)


def print_story(story: Any, output: Telling) -> None:
    """A story, in the form that was asked for."""
    from mooring.scheduling.telling import as_text

    if output is Telling.TEXT:
        typer.echo(as_text(story), nl=False)
    else:
        print_data(story, output)


def print_data(thing: Any, output: Telling) -> None:
    """Anything that is made of dataclasses, as JSON or YAML with the names that Kubernetes' objects have."""
    import json

    import msgspec

    from mooring.cli.operator import yaml_text

    data = _camel(msgspec.to_builtins(thing))
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False) if output is Telling.JSON else yaml_text(data).rstrip())


def _camel(data: Any) -> Any:
    if isinstance(data, dict):
        return {_camel_word(key): _camel(value) for key, value in data.items()}
    return [_camel(one) for one in data] if isinstance(data, list | tuple) else data


def _camel_word(word: str) -> str:
    first, *rest = word.split("_")
    return first + "".join(part.title() for part in rest)


def place_given(reach: Reach) -> str:
    """What must be added to a printed command so that it means the same platform."""
    import shlex

    words = []
    if reach.kubeconfig is not None:
        words.append(f" --kubeconfig {shlex.quote(str(reach.kubeconfig))}")
    if reach.context is not None:
        words.append(f" --context {shlex.quote(reach.context)}")
    if reach.is_embedded and reach.landscape != "default":
        words.append(f" --landscape {reach.landscape}")
    return "".join(words)
