"""Writes the generated files of the project: ``python -m mooring.cli.reference [--check] ROOT``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from mooring.api.crds import KINDS, definition_of
from mooring.api.kinds import Kind
from mooring.cli import crds
from mooring.cli.clusterctl.reference import clusterctl_page, lint_page
from mooring.cli.main import app

_HEAD = """# The command line

Written by `make generate` from the commands themselves. Every command also answers `--help`, and
`mooring --install-completion` teaches them to your shell.
"""


_API_HEAD = """# The API

Written by `make generate` from the types in `src/mooring/api`. `kubectl explain` shows the same words.
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


def api_page() -> str:
    """Every field of every kind, with the words that ``kubectl explain`` shows."""
    return "\n".join([_API_HEAD, *(_kind_section(kind) for kind in KINDS)])


def _kind_section(kind: type[Kind]) -> str:
    api, definition = kind.API, definition_of(kind)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    short = f", short {', '.join(f'`{name}`' for name in api.short_names)}" if api.short_names else ""
    scope = "in a namespace" if api.namespaced else "cluster-wide"
    head = [f"## {api.kind}", "", f"`{api.api_version}`, {scope}{short}. {schema['description']}", ""]
    fields = [row for name in ("spec", "status") if name in schema["properties"] for row in _fields(name, schema, name)]
    rules = [f"- {rule['message']}" for rule in _rules(schema)]
    told = ["", "Refused by the server:", "", *dict.fromkeys(rules)] if rules else []
    return "\n".join([*head, "| field | type | meaning |", "| --- | --- | --- |", *fields, *told, ""])


def _fields(name: str, parent: dict[str, Any], path: str) -> Iterator[str]:
    schema = parent["properties"][name]
    must = " *required*" if name in parent.get("required", ()) and "." in path else ""
    text = schema.get("description", "").replace("|", "\\|").replace("\n", " ")
    kind = schema.get("type", "any")
    inner = schema.get("items", {}) if kind == "array" else schema
    yield f"| `{path}` | {kind}{must} | {text} |"
    # Operators of traits are unrolled to their full depth in the schema; one level says it all.
    if path.count("traits") and path.count("[]") > 1:
        return
    for child in inner.get("properties", {}):
        yield from _fields(child, inner, f"{path}[].{child}" if kind == "array" else f"{path}.{child}")


def _rules(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield from (rule for rule in schema.get("x-kubernetes-validations", ()) if "message" in rule)
        for name, value in schema.items():
            if name != "x-kubernetes-validations":
                yield from _rules(value)


def main(arguments: list[str]) -> int:
    """Write all generated files of the project, or with ``--check`` tell which are not current."""
    check, root = "--check" in arguments, Path(arguments[-1])
    texts = {
        "cli.md": page(),
        "api.md": api_page(),
        "clusterctl.md": clusterctl_page(),
        "clusterctl-lint.md": lint_page(),
    }
    pages = {root / "docs/reference" / name: text for name, text in texts.items()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    stale += [root / "crds" / name for name in crds.stale(root / "crds")]
    if check:
        for path in stale:
            print(f"{path} is not current: run 'make generate'.", file=sys.stderr)
        return 1 if stale else 0
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    crds.write(root / "crds")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
