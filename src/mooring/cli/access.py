"""``mooring access``: ask to enter clusters, and look after who may."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mooring.cli.access_lists import list_access
from mooring.cli.platforms import (
    Printed,
    TimeoutOption,
    WaitUntilGoneOption,
    on_a_platform,
    print_one,
    progress,
    seconds_to_wait,
    see_off,
    there,
    waiting,
)
from mooring.cli.why import NamespaceOption, place_given

if TYPE_CHECKING:
    from mooring.app.reaching import Reach
    from mooring.kube import Client, Object, ObjectKey

app = typer.Typer(help="Ask to enter clusters, and look after who may.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="Which access request.")]
RuleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        help="What may be done: VERBS:RESOURCES[/NAME][@NAMESPACE], such as get,list:pods,deployments.apps@team, or "
        "VERBS:/path. Can be repeated.",
    ),
]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="A role that is there: a ClusterRole NAME, for a namespace NAME@NAMESPACE, or role/NAME@NAMESPACE. Can be "
        "repeated.",
    ),
]


class Shown(StrEnum):
    """What is printed of a new access request."""

    YAML = "yaml"
    JSON = "json"
    NAME = "name"
    KUBECONFIG = "kubeconfig"


@app.command()
@on_a_platform
def create(
    reach: Reach,
    name: Annotated[str | None, typer.Argument(help="Its name. [default: the cluster's and a random end]")] = None,
    cluster: Annotated[str, typer.Option("--cluster", help="The Cluster to enter: NAME or NAMESPACE/NAME.")] = "",
    request: Annotated[
        str, typer.Option("--request", help="The ClusterRequest whose cluster is to be entered, instead.")
    ] = "",
    rule: RuleOption = None,
    role: RoleOption = None,
    ttl: Annotated[
        str, typer.Option("--ttl", help="How long access is needed, such as 8h. [default: without end]")
    ] = "",
    lifetime: Annotated[
        str, typer.Option("--lifetime", help="How long a token lives before a new one is due. [default: 720h]")
    ] = "",
    namespace: NamespaceOption = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait until it is granted.")] = False,
    timeout: TimeoutOption = "",
    output: Annotated[
        Shown | None,
        typer.Option("--output", "-o", help="Print the object, its name, or (waiting for it) the kubeconfig."),
    ] = None,
) -> None:
    """Ask to enter a cluster, and to do just this there.

    For example: 'mooring access create --request web --rule get,list:pods@default -o kubeconfig > web.kubeconfig'.

    With --wait it ends when the credentials are there; with 1 if access is denied, or if it takes longer than
    --timeout. Ctrl-C ends the waiting, not the request.
    """
    from mooring.app.accesses import Wish
    from mooring.app.accesses import create as make
    from mooring.app.requests import checked_duration

    if bool(cluster) == bool(request):
        raise typer.BadParameter("say what to enter: either --cluster or --request.")
    if not rule and not role:
        raise typer.BadParameter("say what is to be done there: --rule get,list:pods, or --role view.")
    wish = Wish(
        cluster=cluster,
        request=request,
        rules=rule or (),
        roles=role or (),
        ttl=checked_duration(ttl, "--ttl") if ttl else "",
        lifetime=checked_duration(lifetime, "--lifetime") if lifetime else "",
    )
    wait = wait or output is Shown.KUBECONFIG
    seconds = seconds_to_wait(timeout, wait=wait)
    created = there(reach, lambda client: make(client, wish.document(namespace or client.connection.namespace, name)))
    metadata = created["metadata"]
    if output is None:
        typer.echo(f"accessrequest {metadata['name']} is created in the namespace {metadata['namespace']}.")
    if wait:
        where = f"-n {metadata['namespace']}{place_given(reach)}"
        hint = f"The request stays; 'mooring access list {where}' tells how it stands."
        created, kubeconfig = waiting(until_granted_there(reach, metadata, seconds), hint)
        if output is Shown.KUBECONFIG:
            _print_yaml(kubeconfig)
            return
    if output is not None:
        print_one(created, Printed(output.value))


async def until_granted_there(reach: Reach, metadata: Object, seconds: float | None) -> tuple[Object, Object]:
    from mooring.app.accesses import PLAIN, kubeconfig_of, until_granted
    from mooring.app.reaching import reaching
    from mooring.app.waiting import patience
    from mooring.kube import ObjectKey

    key, last = ObjectKey(metadata["namespace"], metadata["name"]), ""

    def told(text: str) -> None:
        nonlocal last
        last = text
        progress(text)

    async with reaching(reach) as client:
        async with patience(seconds, lambda: f"The accessrequest {key} is not granted in time, and stays. {last}"):
            granted = await until_granted(client, key, metadata["uid"], told=told)
        return await client.get(PLAIN, key.name, namespace=key.namespace), await kubeconfig_of(client, granted)


def _print_yaml(document: Object) -> None:
    from mooring.cli.operator import yaml_text

    typer.echo(yaml_text(document), nl=False)


app.command("list")(list_access)


@app.command()
@on_a_platform
def kubeconfig(reach: Reach, name: NameArgument, namespace: NamespaceOption = None) -> None:
    """Print the kubeconfig that an access request was given."""
    from mooring.app.accesses import kubeconfig_of, named

    async def read(client: Client) -> Object:
        return await kubeconfig_of(client, await named(client, _key(client, name, namespace)))

    _print_yaml(there(reach, read))


@app.command()
@on_a_platform
def rotate(
    reach: Reach,
    name: NameArgument,
    namespace: NamespaceOption = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait until there is a new token.")] = False,
    timeout: TimeoutOption = "",
) -> None:
    """Replace the token of an access request by a new one.

    The old one works for another minute, so that nobody is cut off who reads the Secret again.
    """
    from mooring.app.accesses import rotate as turn
    from mooring.app.accesses import until_granted

    _operate(reach, name, namespace, turn, until_granted, wait=wait, timeout=timeout, done="has a new token")


@app.command()
@on_a_platform
def revoke(
    reach: Reach,
    name: NameArgument,
    namespace: NamespaceOption = None,
    undo: Annotated[bool, typer.Option("--undo", help="Grant again what was revoked.")] = False,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait until it is done.")] = False,
    timeout: TimeoutOption = "",
) -> None:
    """Take access back, at once.

    The cluster refuses every token of the request within about ten seconds, and everything that was made for it there
    is removed. The request stays, and is granted again with --undo; delete it to be rid of it.
    """
    from mooring.app.accesses import restore, until_granted, until_revoked
    from mooring.app.accesses import revoke as take_back

    if undo:
        _operate(reach, name, namespace, restore, until_granted, wait=wait, timeout=timeout, done="is granted again")
    else:
        _operate(reach, name, namespace, take_back, until_revoked, wait=wait, timeout=timeout, done="is revoked")


@app.command()
@on_a_platform
def delete(
    reach: Reach,
    name: NameArgument,
    namespace: NamespaceOption = None,
    wait: WaitUntilGoneOption = False,
    timeout: TimeoutOption = "",
) -> None:
    """Delete an access request: its tokens are refused, and what was made for it in the cluster is removed."""
    from mooring.api.access import AccessRequest
    from mooring.app.accesses import delete as remove
    from mooring.app.accesses import standing

    seconds = seconds_to_wait(timeout, wait=wait)

    async def deleted(client: Client) -> tuple[ObjectKey, str]:
        key = _key(client, name, namespace)
        return key, await remove(client, key)

    key, uid = there(reach, deleted)
    see_off(reach, AccessRequest, key, uid, standing=standing, wait=wait, seconds=seconds)


def _operate(
    reach: Reach,
    name: str,
    namespace: str | None,
    deed: Callable[[Client, ObjectKey], Coroutine[Any, Any, str]],
    until: Callable[..., Coroutine[Any, Any, Any]],
    *,
    wait: bool,
    timeout: str,
    done: str,
) -> None:
    from mooring.app.reaching import reaching
    from mooring.app.waiting import patience

    seconds = seconds_to_wait(timeout, wait=wait)

    async def operated() -> ObjectKey:
        async with reaching(reach) as client:
            key = _key(client, name, namespace)
            uid = await deed(client, key)
            if wait:
                async with patience(seconds, lambda: f"The accessrequest {key} is not so in time; it goes on."):
                    await until(client, key, uid, told=progress)
            return key

    key = waiting(operated(), "It goes on without us.")
    typer.echo(f"accessrequest {key.name} {done}." if wait else f"accessrequest {key.name}: asked for; --wait waits.")


def _key(client: Client, name: str, namespace: str | None) -> ObjectKey:
    from mooring.kube import ObjectKey

    return ObjectKey(namespace or client.connection.namespace, name.removeprefix("accessrequest/"))
