"""``mooring cluster``: list, describe and delete clusters. `cluster_pages` prints a description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.listings import (
    NAMESPACE,
    EverywhereOption,
    Listed,
    ListedOption,
    Table,
    age,
    namespace_listed,
    out_of,
    print_list,
    read_as,
)
from mooring.cli.platforms import (
    TimeoutOption,
    WaitUntilGoneOption,
    on_a_platform,
    seconds_to_wait,
    see_off,
    there,
)
from mooring.cli.why import ConfigOption, Telling, TellingOption, configuration, print_data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mooring.api.clusters import Cluster
    from mooring.api.purposes import PurposeSpec
    from mooring.app.reaching import Reach
    from mooring.inventory import ClusterPage, ClusterRow
    from mooring.kube import Client, Object, ObjectKey

app = typer.Typer(help="See the clusters there are, and delete those that nobody holds.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="Which cluster: NAME, or NAMESPACE/NAME.")]
NamespaceOption = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="The namespace of the cluster. [default: the kubeconfig's, or default]"),
]


@app.command("list")
@on_a_platform
def list_clusters(
    reach: Reach,
    namespace: NamespaceOption = None,
    everywhere: EverywhereOption = False,
    purpose: Annotated[str | None, typer.Option("--purpose", "-p", help="Only those for this purpose.")] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Only those of this profile.")] = None,
    output: ListedOption = Listed.TEXT,
    config: ConfigOption = None,
) -> None:
    """List clusters.

    Shows what they are for, how many requests have a seat and how many could, and how they are. JSON and YAML have the
    objects themselves.
    """
    from mooring.api.clusters import Cluster
    from mooring.app.inventories import clusters, known_purposes
    from mooring.inventory import cluster_row

    known = configuration(config)

    async def look(client: Client) -> tuple[str | None, list[Object], Mapping[str, PurposeSpec]]:
        where = namespace_listed(client, namespace, everywhere)
        found = await clusters(client, where, purpose=purpose, profile=profile)
        return where, found, await known_purposes(client, known) if output.is_table else {}

    where, found, purposes = there(reach, look)

    def rows() -> list[ClusterRow]:
        return [cluster_row(one, purposes) for one in read_as(Cluster, found)]

    print_list(found, output, _TABLE, rows, what=f"clusters{_of_this_sort(purpose, profile)}", where=where)


def _of_this_sort(purpose: str | None, profile: str | None) -> str:
    kinds = (f"for the purpose {purpose!r}" if purpose else "", f"of the profile {profile!r}" if profile else "")
    return "".join(f" {one}" for one in kinds if one)


_TABLE: Table[ClusterRow] = Table(
    {
        NAMESPACE: lambda one: one.namespace,
        "NAME": lambda one: one.name,
        "PURPOSES": lambda one: ",".join(one.purposes),
        "TENANCY": lambda one: one.tenancy,
        "SEATS": lambda one: out_of(one.taken, one.seats),
        "PHASE": lambda one: one.phase,
        "READY": lambda one: one.ready,
        "VERSION": lambda one: one.version,
        "PROFILE": lambda one: one.profile,
        "WARM": lambda one: one.warm,
        "AGE": lambda one: age(one.created),
    },
    wide={
        "PROVIDER": lambda one: one.provider,
        "REASON": lambda one: one.reason,
        "MESSAGE": lambda one: one.message,
    },
)


@app.command()
@on_a_platform
def describe(
    reach: Reach,
    name: NameArgument,
    namespace: NamespaceOption = None,
    output: TellingOption = Telling.TEXT,
    config: ConfigOption = None,
) -> None:
    """Tell all about a cluster.

    What it shall be and how it is, where its API server is, which requests hold it and since when, who asks for access
    to it, and what happened lately.
    """
    from mooring.app.inventories import described
    from mooring.cli.cluster_pages import page_text

    known = configuration(config)

    async def look(client: Client) -> ClusterPage:
        return await described(client, cluster_key(client, name, namespace), known)

    page = there(reach, look)
    if output is Telling.TEXT:
        typer.echo(page_text(page), nl=False)
    else:
        print_data(page, output)


@app.command()
@on_a_platform
def delete(
    reach: Reach,
    name: NameArgument,
    namespace: NamespaceOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether it is meant.")] = False,
    wait: WaitUntilGoneOption = False,
    timeout: TimeoutOption = "",
) -> None:
    """Delete a cluster that no request holds.

    A cluster that requests hold stays: they are named, with how each gives it back. With --wait it ends when the
    cluster is gone; with 1 if that takes longer than --timeout.
    """
    from mooring.api.clusters import Cluster
    from mooring.app.inventories import deletable, standing
    from mooring.app.inventories import delete as remove

    seconds = seconds_to_wait(timeout, wait=wait)

    async def look(client: Client) -> tuple[ObjectKey, Cluster]:
        key = cluster_key(client, name, namespace)
        return key, await deletable(client, key)

    key, cluster = there(reach, look)
    if not yes and not cluster.metadata.deleting:
        _ask(key, cluster)
    uid = there(reach, lambda client: remove(client, key, cluster.metadata.uid))
    see_off(reach, Cluster, key, uid, standing=standing, wait=wait, seconds=seconds)


def _ask(key: ObjectKey, cluster: Cluster) -> None:
    import sys

    from mooring.api.texts import printable

    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody is there to be asked; say with --yes that it is meant.")
    purposes = ", ".join(cluster.spec.purposes) or "nothing"
    typer.confirm(printable(f"Delete the cluster {key} (for {purposes}) with everything in it?"), abort=True, err=True)


def cluster_key(client: Client, name: str, namespace: str | None) -> ObjectKey:
    """Which cluster is meant by NAME or NAMESPACE/NAME."""
    from mooring.kube import ObjectKey

    before, slash, last = name.rpartition("/")
    if slash and namespace not in (None, before):
        raise typer.BadParameter(f"{name!r} names another namespace than --namespace {namespace}.")
    if not last or (slash and not before) or "/" in before:
        raise typer.BadParameter(f"{name!r} is no cluster; write NAME, or NAMESPACE/NAME.")
    return ObjectKey(before or namespace or client.connection.namespace, last)
