"""``__complete``: what could come next on a command line. The scripts of ``completion`` ask this.

Words and flags are known here; names of clusters and namespaces are asked for at the management cluster that the line
names. Whoever is typing waits: what does not answer soon, or not at all, is left out without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mooring.cli.clusterctl.common import EVERYWHERE
from mooring.cli.clusterctl.tree import HELP, Command, Flag, Form, Given, UsageError, parse

_PATIENCE: Final = 4.0  # seconds that somebody waits who has pressed a key
Candidate = tuple[str, str]  # what it is, and what it is for
Names = Callable[[Given], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a command line somebody is."""

    path: tuple[Command, ...]
    waiting: Flag | None  # for its value
    arguments: int  # that are there already

    @property
    def flags(self) -> list[Flag]:
        return [*EVERYWHERE, *self.path[-1].flags, HELP]


def _complete(given: Given) -> None:
    from mooring.cli.clusterctl.main import root

    words = [*given.arguments, ""] if given["new"] else given.arguments
    for name, about in candidates(root(), words, given.environ):
        given.say(f"{name}\t{about}")


def candidates(root: Command, words: Sequence[str], environ: Mapping[str, str] | None = None) -> Iterator[Candidate]:
    """What fits the last of these words, which may be begun or empty. Without ``environ``, nobody is asked."""
    *before, last = words or [""]
    place = _place(root, before)
    if place.waiting is not None:
        yield from _names(_OF_FLAGS.get(place.waiting.name), root, before[:-1], last, environ)
    elif last.startswith("-"):
        for one in sorted(place.flags, key=lambda flag: flag.name):
            if not one.hidden and f"--{one.name}".startswith(last):
                yield f"--{one.name}", one.help
    else:
        for below in place.path[-1].words:
            if not below.hidden and below.name.startswith(last):
                yield below.name, below.short
        if not place.arguments:
            path = tuple(one.name for one in place.path[1:])
            yield from _names(_OF_ARGUMENTS.get(path), root, before, last, environ)


def _place(root: Command, before: Sequence[str]) -> Place:
    place = Place((root,), None, 0)
    for word in before:
        path, arguments, waiting = place.path, place.arguments, None
        if place.waiting is not None:
            pass  # that was its value
        elif word.startswith("-"):
            waiting = _waiting(word, place.flags)
        elif (below := path[-1].word(word)) is not None:
            path = (*path, below)
        else:
            arguments += 1
        place = Place(path, waiting, arguments)
    return place


def _waiting(word: str, flags: Sequence[Flag]) -> Flag | None:
    for one in flags:
        if word in (f"--{one.name}", f"-{one.letter}") and one.form is not Form.SWITCH:
            return one
    return None


def _names(
    find: Names | None, root: Command, before: Sequence[str], last: str, environ: Mapping[str, str] | None
) -> Iterator[Candidate]:
    if find is None or environ is None:
        return
    try:
        given = parse(root, before, EVERYWHERE)
    except UsageError:
        return  # the line is wrong already
    given.environ = environ
    try:
        found = sorted(find(given))
    except Exception:  # a server that is away, a kubeconfig that is broken: nothing to be told while somebody types
        return
    yield from ((name, "") for name in found if name.startswith(last))


def _clusters(given: Given) -> list[str]:
    return _listed(given, "cluster.x-k8s.io/v1beta2", "Cluster", within=True)


def _namespaces(given: Given) -> list[str]:
    return _listed(given, "v1", "Namespace", within=False)


def _shells(given: Given) -> Iterable[str]:
    from mooring.cli.clusterctl.completion import SCRIPTS

    return SCRIPTS


def _listed(given: Given, api_version: str, kind: str, *, within: bool) -> list[str]:
    """The names of all objects of a kind, in the namespace that is meant, if it matters."""
    import asyncio

    from mooring.cli.clusterctl.common import management
    from mooring.kube import Client, key_of, metadata_of

    async def listed() -> list[str]:
        connection = management(given)
        async with asyncio.timeout(_PATIENCE), Client(connection) as client:
            where = (given["namespace"] or connection.namespace) if within else None
            resource = metadata_of(await client.resource(api_version, kind))
            return [key_of(one).name for one in (await client.list(resource, namespace=where)).items]

    return asyncio.run(listed())


_OF_FLAGS: Final[Mapping[str, Names]] = dict.fromkeys(
    ("namespace", "target-namespace", "from-config-map-namespace"), _namespaces
)
_OF_ARGUMENTS: Final[Mapping[tuple[str, ...], Names]] = {
    ("describe", "cluster"): _clusters,
    ("get", "kubeconfig"): _clusters,
    ("completion",): _shells,
}
COMMAND = Command(
    "__complete",
    "What could come next.",
    _complete,
    [Flag("new", "A new word begins behind those that are there.", Form.SWITCH)],
    arguments="[WORD]…",
    most=None,
    hidden=True,
)
