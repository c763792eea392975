"""``mooring install`` and ``mooring run``: Mooring's controllers in any cluster."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

KubeconfigOption = Annotated[
    Path | None, typer.Option("--kubeconfig", help="The kubeconfig of the cluster. [default: as kubectl's]")
]
ContextOption = Annotated[str | None, typer.Option("--context", help="The context in the kubeconfig.")]
ControllersOption = Annotated[
    str,
    typer.Option(
        "--controllers",
        help="Which controllers, with commas: scheduling, access, kyma, deployment. One that is left out takes its "
        "rights along. [default: all]",
        show_default=False,
    ),
]


class Notation(StrEnum):
    """How documents are printed."""

    YAML = "yaml"
    JSON = "json"


def install(
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    output: Annotated[
        Notation | None, typer.Option("--output", "-o", help="Print what would be applied instead, and change nothing.")
    ] = None,
    controllers: ControllersOption = "",
) -> None:
    """Install what Mooring needs in a cluster: definitions, namespace, rights, and its share of the API server.

    It can be repeated, and brings an older installation up to date.
    """
    from mooring.app.installing import everything, install_everything
    from mooring.app.running import parts_named

    parts = parts_named(controllers)
    if output is not None:
        print_documents(everything(parts), output)
        return
    import asyncio

    from mooring.kube import Client, load_connection

    async def applied() -> str:
        async with Client(load_connection(kubeconfig, context)) as client:
            await install_everything(client, parts)
        return client.connection.server

    typer.echo(f"Mooring is installed in {asyncio.run(applied())}.")


def run(
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    election: Annotated[
        bool, typer.Option("--leader-election/--no-leader-election", help="Work only while holding the lease.")
    ] = True,
    listen: Annotated[
        str, typer.Option("--listen", help="Where health and metrics are served: HOST:PORT; empty for nowhere.")
    ] = "127.0.0.1:8081",
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            help="A file or directory with the configuration of scheduling. Can be repeated, or parted by commas; the "
            "later ones speak over the earlier ones.",
        ),
    ] = None,
    configmap_name: Annotated[
        str | None, typer.Option("--configmap-name", help="The ConfigMap with that configuration, instead of files.")
    ] = None,
    configmap_namespace: Annotated[
        str | None,
        typer.Option("--configmap-namespace", help="Namespace of that ConfigMap. [default: mooring-system]"),
    ] = None,
    json_logs: Annotated[
        bool | None, typer.Option("--json-logs/--text-logs", help="[default: text on a terminal, JSON elsewhere]")
    ] = None,
    controllers: ControllersOption = "",
    environment: Annotated[
        str, typer.Option("--environment", help="What this landscape is called: the first part of profiles' names.")
    ] = "default",
) -> None:
    """Run the controllers against a cluster, from outside or inside of it, until SIGINT or SIGTERM.

    Running reconciles are finished before it ends, and the lease is given back.
    """
    import uvloop

    from mooring.app.configurations import configuration_choice
    from mooring.app.running import parts_named, run_controllers
    from mooring.kube import load_connection
    from mooring.runtime.logs import log_to_stderr

    log_to_stderr(as_json=json_logs)
    parts = parts_named(controllers)
    choice = configuration_choice(config or (), configmap_name, configmap_namespace)
    connection = load_connection(kubeconfig, context)
    source = choice.source(connection)
    uvloop.run(
        run_controllers(
            connection,
            election=election,
            listen=listen,
            configuration=source,
            parts=parts,
            environment=environment,
        )
    )


def print_documents(documents: Sequence[dict[str, Any]], notation: Notation) -> None:
    """Documents as one YAML stream, or as one JSON list that kubectl takes too."""
    import json

    if notation is Notation.JSON:
        typer.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}, indent=2))
    else:
        typer.echo("---\n".join(yaml_text(one) for one in documents), nl=False)


def yaml_text(document: dict[str, Any]) -> str:
    import yaml

    class Plain(yaml.SafeDumper):
        """What is the same in two places is written twice: people read this."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(document, Dumper=Plain, sort_keys=False, width=120, allow_unicode=True)
    return text
