"""Lists of objects: as a table, a wider one, or as JSON and YAML."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import typer

from mooring.cli.operator import Notation, print_documents, yaml_text
from mooring.cli.tables import print_table, span

if TYPE_CHECKING:
    from mooring.api.kinds import Kind
    from mooring.kube import Client, Object

    K = TypeVar("K", bound=Kind)

R = TypeVar("R")

NAMESPACE = "NAMESPACE"  # the column that only a list of all namespaces has

EverywhereOption = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Those of all namespaces.")]


class Listed(StrEnum):
    """How objects are listed."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_table(self) -> bool:
        return self in (Listed.TEXT, Listed.WIDE)


ListedOption = Annotated[Listed, typer.Option("--output", "-o", help="How to print them.")]


@dataclass(frozen=True, slots=True)
class Table(Generic[R]):
    """Columns, each with what stands in it for a row; ``wide`` has those that only ``-o wide`` shows."""

    columns: Mapping[str, Callable[[R], str]]
    wide: Mapping[str, Callable[[R], str]]

    def print(self, rows: Iterable[R], output: Listed, *, leave_out: Sequence[str] = ()) -> None:
        shown = {**self.columns, **(self.wide if output is Listed.WIDE else {})}
        texts = {name: text for name, text in shown.items() if name not in leave_out}
        # A message of several lines would tear the table apart.
        print_table(list(texts), [[" ".join(text(row).split()) or "-" for text in texts.values()] for row in rows])


def namespace_listed(client: Client, namespace: str | None, everywhere: bool) -> str | None:
    """The namespace to look in; None for all."""
    if everywhere and namespace is not None:
        raise typer.BadParameter("--all-namespaces and --namespace exclude each other.")
    return None if everywhere else namespace or client.connection.namespace


def nothing(what: str, where: str | None) -> None:
    """Say that a list is empty, where nobody who reads stdout takes it for a row."""
    typer.echo(f"There are no {what}{'' if where is None else f' in the namespace {where}'}.", err=True)


def print_list(
    found: list[Object],
    output: Listed,
    table: Table[R],
    rows: Callable[[], Iterable[R]],
    *,
    what: str,
    where: str | None = None,
) -> None:
    """What was found in a namespace, or everywhere: the objects, or a table of the rows that they make."""
    if not output.is_table:
        _print_objects(found, output)
    elif not found:
        nothing(what, where)
    else:
        table.print(rows(), output, leave_out=() if where is None else (NAMESPACE,))


def _print_objects(found: list[Object], output: Listed) -> None:
    """The objects themselves: one List, as kubectl prints it. It can be applied, and 'mooring simulate' reads it."""
    if output is Listed.JSON:
        print_documents(found, Notation.JSON)
    else:
        typer.echo(yaml_text({"apiVersion": "v1", "kind": "List", "items": found}), nl=False)


def read_as(kind: type[K], found: Iterable[Object]) -> list[K]:
    """The objects in their own type. Those that were written past our definitions are told, and left out."""
    import msgspec

    from mooring.api.texts import printable
    from mooring.kube import key_of

    things = []
    for document in found:
        try:
            things.append(msgspec.convert(document, kind))
        except msgspec.ValidationError as error:
            said = f"{kind.API.kind.lower()} {key_of(document)} cannot be read: {error}"
            typer.echo(printable(said), err=True)
    return things


def out_of(count: int | None, limit: int = 0) -> str:
    """How many there are, and of how many if that is bounded; ``?`` if they could not be counted."""
    return ("?" if count is None else str(count)) + (f"/{limit}" if limit else "")


def age(timestamp: str) -> str:
    """How long ago a time of the server is; empty for none."""
    from mooring.app.requests import moment

    return span(max(0.0, time.time() - moment(timestamp))) if timestamp else ""
