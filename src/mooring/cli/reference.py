"""Writes the reference page of all commands from the commands: ``python -m mooring.cli.reference [--check] FILE``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from mooring.cli.main import app

_HEAD = """# The command line

Written by `make generate` from the commands themselves. Every command also answers `--help`, and
`mooring --install-completion` teaches them to your shell.
"""


def page() -> str:
    """The whole page."""
    root = typer.main.get_command(app)
    return "\n".join([_HEAD, *(_section(words, command) for words, command in _commands(("mooring",), root))])


def _commands(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands((*words, name), child)


def _section(words: tuple[str, ...], command: Any) -> str:
    parameters = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
    usage = " ".join([*words, "[OPTIONS]", *(f"[{argument.name.upper()}]" for argument in arguments)])
    lines = [f"## `{' '.join(words)}`", "", inspect.cleandoc(command.help or ""), "", "```", usage, "```", ""]
    rows = [_row(parameter) for parameter in parameters]
    if rows:
        lines += ["| option | meaning |", "| --- | --- |", *rows, ""]
    return "\n".join(lines)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    else:
        names = ", ".join(f"`{name}`" for name in parameter.opts)
    text = (parameter.help or "").replace("|", "\\|")
    variable = getattr(parameter, "envvar", None)
    return f"| {names} | {text}{f' Environment: `{variable}`.' if variable else ''} |"


def main(arguments: list[str]) -> int:
    check, path = "--check" in arguments, Path(arguments[-1])
    written = path.read_text() if path.exists() else ""
    if check and written != page():
        print(f"{path} is not current: run 'make generate'.", file=sys.stderr)
        return 1
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
