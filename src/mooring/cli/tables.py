"""Plain tables: columns without a frame, so that they can be grepped and copied."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from mooring.api.texts import aligned


class Output(StrEnum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for line in aligned((header, *rows)):
        typer.echo(line)


def span(seconds: float) -> str:
    """A length of time as kubectl writes ages: ``42s``, ``7m``, ``3h``, ``5d``."""
    for size, letter in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)}{letter}"
    return f"{int(seconds)}s"


def size(count: int) -> str:
    return f"{count / 1024**2:.0f} MiB"
