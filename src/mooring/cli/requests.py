"""``mooring request``: create, list, extend and delete requests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mooring.cli.platforms import (
    Printed,
    TimeoutOption,
    WaitUntilGoneOption,
    on_a_platform,
    print_one,
    progress,
    run,
    seconds_to_wait,
    see_off,
    there,
    waiting,
)
from mooring.cli.request_lists import list_requests
from mooring.cli.tables import span
from mooring.cli.why import (
    ConfigOption,
    NamespaceOption,
    Telling,
    configuration,
    place_given,
    print_story,
    request_name,
)

if TYPE_CHECKING:
    from mooring.app.reaching import Reach
    from mooring.kube import Client, Object
    from mooring.scheduling.story import Story

app = typer.Typer(help="Ask for clusters, and look after what was asked for.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="Which request: NAME, or clusterrequest/NAME.")]


@app.command()
@on_a_platform
def create(
    reach: Reach,
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
    unless_exists: Annotated[
        bool, typer.Option("--unless-exists", help="Be content with a request of this name that is there already.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing, and tell what would be decided as things are now.")
    ] = False,
    output: Annotated[
        Printed | None, typer.Option("--output", "-o", help="Print the object, or its name, instead of a sentence.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Ask for a cluster.

    For example: 'mooring request create web --purpose workload --trait infrastructure/vendor/aws --wait'.

    With --wait it ends when the cluster is ready; with 1 if the request is denied, or if it takes longer than
    --timeout. Ctrl-C ends the waiting, not the request.
    """
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
    seconds = seconds_to_wait(timeout, wait=wait)
    if dry_run:
        _print_foretold(run(_foretell(reach, wish, namespace, name, config)), output)
        return
    if unless_exists and name is None:
        raise typer.BadParameter("--unless-exists needs the name of the request.")
    created, is_new = there(reach, lambda client: _created(client, wish, namespace, name, unless_exists))
    metadata = created["metadata"]
    where = f"{metadata['name']} -n {metadata['namespace']}{place_given(reach)}"
    if output is None:
        how = "created" if is_new else "there already,"
        typer.echo(f"clusterrequest {metadata['name']} is {how} in the namespace {metadata['namespace']}.")
    if wait:
        created = waiting(
            _until_ready(reach, metadata, seconds), f"The request stays; 'mooring why {where}' tells how it stands."
        )
    elif output is None:
        typer.echo(f"'mooring why {where}' tells how it stands.")
    if output is not None:
        print_one(created, output)


async def _created(
    client: Client, wish: Any, namespace: str | None, name: str | None, unless_exists: bool
) -> tuple[Object, bool]:
    """The request, and whether it is new."""
    from mooring.app.requests import PLAIN_REQUESTS, create
    from mooring.kube.errors import NotFound

    where = namespace or client.connection.namespace
    if unless_exists and name is not None:
        try:
            return await client.get(PLAIN_REQUESTS, name, namespace=where), False
        except NotFound:
            pass
    return await create(client, wish.document(where, name)), True


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
        progress(text)

    key = ObjectKey(metadata["namespace"], metadata["name"])
    async with reaching(reach) as client:
        async with patience(seconds, lambda: f"The clusterrequest {key} is not ready in time, and stays. {last}"):
            await until_ready(client, key, metadata["uid"], told=told)
        return await client.get(PLAIN_REQUESTS, key.name, namespace=key.namespace)


def _print_foretold(answer: tuple[Object, Story], output: Printed | None) -> None:
    from mooring.api.texts import printable
    from mooring.scheduling.telling import decision

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


app.command("list")(list_requests)


@app.command()
@on_a_platform
def extend(
    reach: Reach,
    name: NameArgument,
    ttl: Annotated[str, typer.Option("--ttl", help="How long in all, counted from its creation: 72h.")] = "",
    by: Annotated[str, typer.Option("--by", help="How much longer than so far: 24h.")] = "",
    namespace: NamespaceOption = None,
) -> None:
    """Move the end of a request.

    For example: 'mooring request extend web --by 24h'. A request with a ttl deletes itself when that time since its
    creation is over.
    """
    from mooring.app.requests import checked_duration
    from mooring.app.requests import extend as move
    from mooring.kube import ObjectKey

    if bool(ttl) == bool(by):
        raise typer.BadParameter("give either --ttl (the whole time since its creation) or --by (how much longer).")
    whole = checked_duration(ttl, "--ttl") if ttl else ""
    more = checked_duration(by, "--by") if by else ""
    known = request_name(name)

    async def moved(client: Client) -> tuple[str, float]:
        key = ObjectKey(namespace or client.connection.namespace, known)
        return await move(client, key, ttl=whole, by=more, now=time.time())

    new, left = there(reach, moved)
    typer.echo(f"clusterrequest {known} has a ttl of {new} now; {span(left)} are left.")


@app.command()
@on_a_platform
def delete(
    reach: Reach,
    name: NameArgument,
    namespace: NamespaceOption = None,
    wait: WaitUntilGoneOption = False,
    timeout: TimeoutOption = "",
) -> None:
    """Delete a request, and give its cluster back.

    All access that names the request is revoked, and a cluster of its own is deleted. With --wait it ends when the
    request is gone; with 1 if that takes longer than --timeout.
    """
    from mooring.api.requests import ClusterRequest
    from mooring.app.requests import delete as remove
    from mooring.app.waiting import standing
    from mooring.kube import ObjectKey

    known = request_name(name)
    seconds = seconds_to_wait(timeout, wait=wait)

    async def deleted(client: Client) -> tuple[ObjectKey, str]:
        key = ObjectKey(namespace or client.connection.namespace, known)
        return key, await remove(client, key)

    key, uid = there(reach, deleted)
    see_off(reach, ClusterRequest, key, uid, standing=standing, wait=wait, seconds=seconds)
