"""``mooring kubeconfig``: a way into the landscape for its owner, or into a cluster for a person."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.access import RoleOption, RuleOption, until_granted_there
from mooring.cli.landscapes import DirectoryOption, LandscapeOption, place_of, started
from mooring.cli.operator import ContextOption
from mooring.cli.platforms import there, waiting
from mooring.cli.why import NamespaceOption

if TYPE_CHECKING:
    from mooring.app.reaching import Reach
    from mooring.kube import Client, Object

_EVERYTHING = "cluster-admin"
_A_WEEK = "168h"


def kubeconfig(
    cluster: Annotated[
        str | None, typer.Argument(help="A Cluster: NAME, or NAMESPACE/NAME. [default: the landscape itself]")
    ] = None,
    request: Annotated[str, typer.Option("--request", help="The cluster of this ClusterRequest, instead.")] = "",
    rule: RuleOption = None,
    role: RoleOption = None,
    ttl: Annotated[str, typer.Option("--ttl", help="For a cluster: how long it is needed. [default: 168h]")] = "",
    namespace: NamespaceOption = None,
    merge: Annotated[
        bool | None,
        typer.Option(
            "--merge/--print",
            help="Add a context to your own kubeconfig, and use it; or print. [default: a cluster's is merged, the "
            "landscape's is written to a file of its own]",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--kubeconfig", help="Into which file it is merged. [default: as kubectl, $KUBECONFIG]"),
    ] = None,
    context: ContextOption = None,
    landscape: LandscapeOption = "default",
    directory: DirectoryOption = None,
) -> None:
    """Get into the landscape as its owner, or into one of its clusters.

    Without a cluster: writes an administrator's kubeconfig of the landscape, good for seven days, and prints its path.

    With one, as in 'mooring kubeconfig web': creates an AccessRequest for you, waits for it, and adds a context to your
    kubeconfig. It may do everything in the cluster unless --rule or --role say what. It ends after a week, or when you
    ask again from this machine and have another. --context says which context leads to the platform, if not the
    landscape.
    """
    from mooring.app.reaching import Reach

    if cluster is not None and request:
        raise typer.BadParameter("give either a cluster or --request.")
    if cluster is None and not request:
        _landscape(
            landscape, directory, merge=bool(merge), file=file, other=rule or role or ttl or namespace or context
        )
        return
    if file is not None and merge is False:
        raise typer.BadParameter("--kubeconfig says where to merge into, and --print that nothing is merged.")
    from mooring.app.own_access import end_earlier

    reach = Reach(context=context, landscape=landscape, directory=directory)
    roles = role or ([] if rule else [_EVERYTHING])
    metadata, document = _personal(reach, cluster or "", request, rule, roles, ttl, namespace)
    if merge is False:
        from mooring.cli.operator import yaml_text

        typer.echo(yaml_text(document), nl=False)
    else:
        _merge(document, file, document["current-context"])
    there(reach, lambda client: end_earlier(client, metadata))


def _landscape(landscape: str, directory: Path | None, *, merge: bool, file: Path | None, other: object) -> None:
    if other:
        raise typer.BadParameter("--rule, --role, --ttl, --namespace and --context are for a cluster; name one.")
    found = started(place_of(landscape, directory))
    if merge:
        _merge(found.admin_kubeconfig(), file, found.context)
    elif file is not None:
        raise typer.BadParameter("--kubeconfig says where to merge into; give --merge with it.")
    else:
        typer.echo(found.write_kubeconfig())


def _merge(document: Object, file: Path | None, context: str) -> None:
    from mooring.app.kubeconfigs import merge_into, user_kubeconfig

    target = file or user_kubeconfig()
    merge_into(target, document)
    typer.echo(f"Context {context!r} is now the current one of {target}.")
    if file is not None:
        typer.echo(f"\n  export KUBECONFIG={shlex.quote(str(file.absolute()))}\n  kubectl get namespaces")


def _personal(
    reach: Reach,
    cluster: str,
    request: str,
    rule: list[str] | None,
    role: list[str],
    ttl: str,
    namespace: str | None,
) -> tuple[Object, Object]:
    """The metadata of an access request of one's own, and its kubeconfig."""
    import getpass
    import platform

    from mooring.app.accesses import Wish
    from mooring.app.own_access import ask_for_oneself, cluster_named, context_for, renamed
    from mooring.app.requests import checked_duration
    from mooring.kube import ObjectKey

    async def asked(client: Client) -> tuple[Object, ObjectKey]:
        where, _, name = request.rpartition("/")
        here = namespace or client.connection.namespace
        place = ObjectKey(where or here, name)
        wish = Wish(request=request, rules=rule or (), roles=role, ttl=checked_duration(ttl or _A_WEEK, "--ttl"))
        if cluster:
            place = await cluster_named(client, cluster, namespace)
            here = place.namespace
            wish = Wish(cluster=place.name, rules=wish.rules, roles=wish.roles, ttl=wish.ttl)
        who = {"user": getpass.getuser(), "machine": platform.node()}
        return await ask_for_oneself(client, wish, here, **who), place

    created, place = there(reach, asked)
    hint = f"The accessrequest {created['metadata']['name']} stays; ask again to go on."
    _, document = waiting(until_granted_there(reach, created["metadata"], None), hint)
    return created["metadata"], renamed(document, context_for(place))
