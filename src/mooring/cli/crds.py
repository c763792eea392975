"""``mooring crds``: the definitions of Mooring's kinds, printed or installed.

They are made from the types in memory; ``mooring.cli.reference`` writes the copies that are checked in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mooring.cli.operator import ContextOption, KubeconfigOption, Notation, print_documents, yaml_text

_HEADER = "# Generated from the types in src/mooring/api by `make generate`. Do not edit.\n"


def crds(
    install: Annotated[
        bool, typer.Option("--install", help="Install them in the cluster, and wait until they are served.")
    ] = False,
    output: Annotated[Notation, typer.Option("--output", "-o", help="How to print them.")] = Notation.YAML,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Print the definitions of Mooring's kinds (CustomResourceDefinitions), or install them.

    Installing can be repeated, and brings definitions of an older version up to date.
    """
    from mooring.api.crds import definitions

    documents = definitions()
    if install:
        import asyncio

        asyncio.run(_install(documents, kubeconfig, context))
    else:
        print_documents(documents, output)


async def _install(documents: Sequence[dict[str, Any]], kubeconfig: Path | None, context: str | None) -> None:
    from mooring.app.installing import install
    from mooring.kube import Client, load_connection

    async with Client(load_connection(kubeconfig, context)) as client:
        await install(client, documents)
    for document in documents:
        typer.echo(f"{document['metadata']['name']} is served")


def files() -> dict[str, str]:
    """The text of each checked-in file, by its name."""
    from mooring.api.crds import KINDS, definition_of, file_name

    return {file_name(kind): _HEADER + yaml_text(definition_of(kind)) for kind in KINDS}


def write(directory: Path) -> None:
    """Write all files anew, and remove those of kinds that are no more."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = files()
    for left in directory.glob("*.yaml"):
        if left.name not in texts:
            left.unlink()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")


def stale(directory: Path) -> list[str]:
    """The names of files that are missing, or left over, or not what the types say now."""
    texts = files()
    there = {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.yaml")}
    return sorted(name for name in texts.keys() | there.keys() if texts.get(name) != there.get(name))
