"""``mooring request``: create, list, extend and delete requests."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mooring.cli.background import INTERRUPTED
from mooring.cli.landscapes import DirectoryOption, LandscapeOption
from mooring.cli.operator import ContextOption, Notation, print_documents, yaml_text
from mooring.cli.tables import print_table, span
from mooring.cli.why import (
    ConfigOption,
    KubeconfigOption,
    NamespaceOption,
    Telling,
    configuration,
    place_given,
    print_story,
    request_name,
)

if TYPE_CHECKING:
    from mooring.api.requests import ClusterRequest
    from mooring.app.reaching import Reach
    from mooring.kube import Object
    from mooring.scheduling.story import Story

app = typer.Typer(help="Ask for clusters, and look after what was asked for.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="Which request: NAME, or clusterrequest/NAME.")]
TimeoutOption = Annotated[
    str, typer.Option("--timeout", help="With --wait: how long at most, such as 10m. [default: no limit]")
]


class Printed(StrEnum):
    """How what was created is printed."""

    YAML = "yaml"
    JSON = "json"
    NAME = "name"


class Listed(StrEnum):
    """How requests are listed."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


@app.command()
def create(
    name: Annotated[str | None, typer.Argument(help="Its name. [default: the purpose and a random end]")] = None,
    purpose: Annotated[
        list[str] | None, typer.Option("--purpose", "-p", help="What the cluster is for. Can be repeated.")
    ] = None,
    trait: Annotated[
        list[str] | None,
        typer.Option(
            "--trait",
            "-t",
            help="A trait that it shall have: T, 'T?' if possible, '!T' if it shall not, or an entry of spec.traits as "
            "YAML: '{or: [{trait: a}, {trait: b}]}'. Can be repeated.",
        ),
    ] = None,
    version: Annotated[
        str, typer.Option("--version", help="The version of Kubernetes, in full (1.33.3) or in part (1.33).")
    ] = "",
    dedicated: Annotated[
        bool | None,
        typer.Option("--dedicated/--shared", help="A cluster of its own, or not. [default: as the purposes say]"),
    ] = None,
    prefix: Annotated[
        str, typer.Option("--prefix", help="A proposal for the prefix of its names in a shared cluster.")
    ] = "",
    ttl: Annotated[str, typer.Option("--ttl", help="How long it is needed, such as 72h. [default: without end]")] = "",
    label: Annotated[list[str] | None, typer.Option("--label", help="A label, KEY=VALUE. Can be repeated.")] = None,
    annotation: Annotated[
        list[str] | None, typer.Option("--annotation", help="An annotation, KEY=VALUE. Can be repeated.")
    ] = None,
    namespace: NamespaceOption = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait until it is granted and its cluster ready.")] = False,
    timeout: TimeoutOption = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing, and tell what would be decided as things are now.")
    ] = False,
    output: Annotated[
        Printed | None, typer.Option("--output", "-o", help="Print the object, or its name, instead of a sentence.")
    ] = None,
    config: ConfigOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
) -> None:
    """Ask for a cluster.

    For example: 'mooring request create web --purpose workload --trait infrastructure/vendor/aws --wait'.

    With --wait it ends when the cluster is ready; with 1 if the request is denied, or if it takes longer than
    --timeout. Ctrl-C ends the waiting, not the request.
    """
    from mooring.app.reaching import Reach
    from mooring.app.requests import Wish, checked_duration

    if not purpose:
        raise typer.BadParameter("say what the cluster is for: --purpose workload, for instance.")
    if dry_run and wait:
        raise typer.BadParameter("--dry-run creates nothing that --wait could wait for.")
    wish = Wish(
        purposes=purpose,
        traits=trait or (),
        version=version,
        dedicated=dedicated,
        prefix=prefix,
        ttl=checked_duration(ttl, "--ttl") if ttl else "",
        labels=label or (),
        annotations=annotation or (),
    )
    seconds = _seconds(timeout, wait=wait)
    reach = Reach(kubeconfig=kubeconfig, context=context, landscape=landscape, directory=directory)
    if dry_run:
        _print_foretold(_run(_foretell(reach, wish, namespace, name, config)), output)
        return
    created = _run(_create(reach, wish, namespace, name))
    metadata = created["metadata"]
    where = f"{metadata['name']} -n {metadata['namespace']}{place_given(reach)}"
    if output is None:
        typer.echo(f"clusterrequest {metadata['name']} is created in the namespace {metadata['namespace']}.")
    if wait:
        created = _waiting(
            _until_ready(reach, metadata, seconds), f"The request stays; 'mooring why {where}' tells how it stands."
        )
    elif output is None:
        typer.echo(f"'mooring why {where}' tells how it stands.")
    if output is not None:
        _print_one(created, output)


async def _create(reach: Reach, wish: Any, namespace: str | None, name: str | None) -> Object:
    from mooring.app.reaching import reaching
    from mooring.app.requests import create as make

    async with reaching(reach) as client:
        return await make(client, wish.document(namespace or client.connection.namespace, name))


async def _foretell(
    reach: Reach, wish: Any, namespace: str | None, name: str | None, config: list[str] | None
) -> tuple[Object, Story]:
    from mooring.app.reaching import reaching
    from mooring.app.requests import foretold

    known = configuration(config)
    async with reaching(reach) as client:
        document = wish.document(namespace or client.connection.namespace, name)
        return document, await foretold(client, document, known)


async def _until_ready(reach: Reach, metadata: Object, seconds: float | None) -> Object:
    from mooring.app.reaching import reaching
    from mooring.app.requests import PLAIN_REQUESTS
    from mooring.app.waiting import patience, until_ready
    from mooring.kube import ObjectKey

    last = ""

    def told(text: str) -> None:
        nonlocal last
        last = text
        _progress(text)

    key = ObjectKey(metadata["namespace"], metadata["name"])
    async with reaching(reach) as client:
        async with patience(seconds, lambda: f"The clusterrequest {key} is not ready in time, and stays. {last}"):
            await until_ready(client, key, metadata["uid"], told=told)
        return await client.get(PLAIN_REQUESTS, key.name, namespace=key.namespace)


def _print_foretold(answer: tuple[Object, Story], output: Printed | None) -> None:
    from mooring.scheduling.telling import decision, printable

    document, story = answer
    if output is Printed.NAME:
        metadata = document["metadata"]
        typer.echo(f"clusterrequest/{metadata.get('name', metadata.get('generateName'))}")
    elif output is not None:
        print_story(story, Telling(output))
    else:
        outcome = story.outcome
        reason = f" ({outcome.reason})" if outcome.reason != outcome.phase else ""
        typer.echo(f"{outcome.phase}{reason}, if it were created now:")
        for line in (*decision(outcome), *(f"- {one.what}" for one in story.remedies)):
            typer.echo(f"  {printable(line)}")


@app.command("list")
def list_requests(
    namespace: NamespaceOption = None,
    everywhere: Annotated[bool, typer.Option("--all-namespaces", "-A", help="Those of all namespaces.")] = False,
    output: Annotated[Listed, typer.Option("--output", "-o", help="How to print them.")] = Listed.TEXT,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
) -> None:
    """List requests.

    Shows what they are for, where they stand, which cluster they have, and for how long still.
    """
    from mooring.app.reaching import Reach

    if everywhere and namespace is not None:
        raise typer.BadParameter("--all-namespaces and --namespace exclude each other.")
    reach = Reach(kubeconfig=kubeconfig, context=context, landscape=landscape, directory=directory)
    where, found = _run(_listed(reach, namespace, everywhere))
    if output in (Listed.JSON, Listed.YAML):
        print_documents(found, Notation(output)) if output is Listed.JSON else _print_yaml(found)
        return
    if not found:
        typer.echo(f"There are no requests{'' if everywhere else f' in the namespace {where}'}.", err=True)
        return
    _print_requests(found, everywhere=everywhere, wide=output is Listed.WIDE)


async def _listed(reach: Reach, namespace: str | None, everywhere: bool) -> tuple[str, list[Object]]:
    from mooring.app.reaching import reaching
    from mooring.app.requests import listed_plainly

    async with reaching(reach) as client:
        where = namespace or client.connection.namespace
        return where, await listed_plainly(client, None if everywhere else where)


def _print_yaml(found: list[Object]) -> None:
    # One List, as kubectl prints it: it can be applied, and 'mooring simulate' reads it.
    typer.echo(yaml_text({"apiVersion": "v1", "kind": "List", "items": found}), nl=False)


def _print_requests(found: list[Object], *, everywhere: bool, wide: bool) -> None:
    import msgspec

    from mooring.api.requests import ClusterRequest
    from mooring.kube import key_of
    from mooring.scheduling.telling import printable

    now = time.time()
    header = ["NAME", "PURPOSES", "PHASE", "REASON", "CLUSTER", "READY", "TTL LEFT", "AGE"]
    header = (["NAMESPACE"] if everywhere else []) + header + (["VERSION", "SHARING", "MESSAGE"] if wide else [])
    rows = []
    for document in found:
        try:
            request = msgspec.convert(document, ClusterRequest)
        except msgspec.ValidationError as error:
            # Written past our definitions: it is there, and the others are still worth showing.
            typer.echo(f"clusterrequest {key_of(document)} cannot be read: {error}", err=True)
            continue
        row = _row(request, now)
        row = ([request.metadata.namespace] if everywhere else []) + row + (_wide(request) if wide else [])
        rows.append([printable(cell) or "-" for cell in row])
    print_table(header, rows)


def _row(request: ClusterRequest, now: float) -> list[str]:
    from mooring.api.conditions import READY, found
    from mooring.app.requests import moment, seconds_left

    status = request.status
    ready = found(status.conditions, READY) if status is not None else None
    cluster = status.cluster if status is not None else None
    left = seconds_left(request, now)
    return [
        request.metadata.name,
        ",".join(request.spec.all_purposes),
        "Leaving" if request.metadata.deleting else (status.phase if status is not None else "") or "Pending",
        status.reason if status is not None else "",
        f"{cluster.namespace}/{cluster.name}" if cluster is not None else "",
        str(ready.status) if ready is not None else "",
        "" if left is None else span(left) if left > 0 else "over",
        span(max(0.0, now - moment(request.metadata.creation_timestamp))),
    ]


def _wide(request: ClusterRequest) -> list[str]:
    dedicated = request.spec.dedicated
    message = request.status.message if request.status is not None else ""
    sharing = "" if dedicated is None else "dedicated" if dedicated else "shared"
    return [request.spec.kubernetes.version, sharing, " ".join(message.split())]


@app.command()
def extend(
    name: NameArgument,
    ttl: Annotated[str, typer.Option("--ttl", help="How long in all, counted from its creation: 72h.")] = "",
    by: Annotated[str, typer.Option("--by", help="How much longer than so far: 24h.")] = "",
    namespace: NamespaceOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
) -> None:
    """Move the end of a request.

    For example: 'mooring request extend web --by 24h'. A request with a ttl deletes itself when that time since its
    creation is over.
    """
    from mooring.app.reaching import Reach
    from mooring.app.requests import checked_duration

    if bool(ttl) == bool(by):
        raise typer.BadParameter("give either --ttl (the whole time since its creation) or --by (how much longer).")
    whole = checked_duration(ttl, "--ttl") if ttl else ""
    more = checked_duration(by, "--by") if by else ""
    known = request_name(name)
    reach = Reach(kubeconfig=kubeconfig, context=context, landscape=landscape, directory=directory)
    new, left = _run(_extended(reach, namespace, known, whole, more))
    typer.echo(f"clusterrequest {known} has a ttl of {new} now; {span(left)} are left.")


async def _extended(reach: Reach, namespace: str | None, name: str, ttl: str, by: str) -> tuple[str, float]:
    from mooring.app.reaching import reaching
    from mooring.app.requests import extend as move
    from mooring.kube import ObjectKey

    async with reaching(reach) as client:
        key = ObjectKey(namespace or client.connection.namespace, name)
        return await move(client, key, ttl=ttl, by=by, now=time.time())


@app.command()
def delete(
    name: NameArgument,
    namespace: NamespaceOption = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait until it is gone.")] = False,
    timeout: TimeoutOption = "",
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
) -> None:
    """Delete a request, and give its cluster back.

    All access that names the request is revoked, and a cluster of its own is deleted. With --wait it ends when the
    request is gone; with 1 if that takes longer than --timeout.
    """
    from mooring.app.reaching import Reach

    known = request_name(name)
    seconds = _seconds(timeout, wait=wait)
    reach = Reach(kubeconfig=kubeconfig, context=context, landscape=landscape, directory=directory)
    where, uid = _run(_deleted(reach, namespace, known))
    if not uid:
        typer.echo(f"clusterrequest {known} is deleted.")
        return
    if not wait:
        typer.echo(f"clusterrequest {known} is being deleted.")
        return
    _waiting(_until_gone(reach, where, known, uid, seconds), "The deletion goes on without us.")
    typer.echo(f"clusterrequest {known} is deleted.")


async def _deleted(reach: Reach, namespace: str | None, name: str) -> tuple[str, str]:
    from mooring.app.reaching import reaching
    from mooring.app.requests import delete as remove
    from mooring.kube import ObjectKey

    async with reaching(reach) as client:
        key = ObjectKey(namespace or client.connection.namespace, name)
        return key.namespace, await remove(client, key)


async def _until_gone(reach: Reach, namespace: str, name: str, uid: str, seconds: float | None) -> None:
    from mooring.app.reaching import reaching
    from mooring.app.waiting import patience, until_gone
    from mooring.kube import ObjectKey

    key = ObjectKey(namespace, name)
    async with (
        reaching(reach) as client,
        patience(seconds, lambda: f"The clusterrequest {key} is not gone in time; its deletion goes on."),
    ):
        await until_gone(client, key, uid, told=_progress)


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    import asyncio

    return asyncio.run(work)


def _waiting(work: Coroutine[Any, Any, Any], on_interrupt: str) -> Any:
    """Wait for something that goes on without us, too: Ctrl-C says so."""
    try:
        return _run(work)
    except KeyboardInterrupt:
        typer.echo(on_interrupt, err=True)
        raise typer.Exit(INTERRUPTED) from None


def _progress(text: str) -> None:
    from mooring.scheduling.telling import printable

    typer.echo(f"  {printable(text)}", err=True)


def _seconds(timeout: str, *, wait: bool) -> float | None:
    from mooring.api.durations import seconds_of
    from mooring.app.requests import checked_duration

    if timeout and not wait:
        raise typer.BadParameter("--timeout says how long to wait; give --wait with it.")
    return seconds_of(checked_duration(timeout, "--timeout")) if timeout else None


def _print_one(document: Object, output: Printed) -> None:
    import json

    if output is Printed.NAME:
        typer.echo(f"clusterrequest/{document['metadata']['name']}")
    elif output is Printed.JSON:
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        typer.echo(yaml_text(document), nl=False)
