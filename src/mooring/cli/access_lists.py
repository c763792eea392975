"""``mooring access list``: who has what, where, until when."""

from __future__ import annotations

import time
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
    print_list,
)
from mooring.cli.platforms import on_a_platform, there
from mooring.cli.tables import span
from mooring.cli.why import NamespaceOption

if TYPE_CHECKING:
    from mooring.app.reaching import Reach
    from mooring.inventory import Entry
    from mooring.kube import Client, Object


@on_a_platform
def list_access(
    reach: Reach,
    namespace: NamespaceOption = None,
    everywhere: EverywhereOption = False,
    cluster: Annotated[str, typer.Option("--cluster", help="Those of one Cluster: NAME or NAMESPACE/NAME.")] = "",
    output: ListedOption = Listed.TEXT,
) -> None:
    """List who may enter which clusters.

    Shows what each request may do there, when its token ends, and when the request itself does.
    """
    from mooring.app.inventories import entries

    async def look(client: Client) -> tuple[str | None, list[tuple[Object, Entry | None]]]:
        where = namespace_listed(client, namespace, everywhere)
        return where, await entries(client, where, cluster=cluster)

    where, found = there(reach, look)
    rows = [entry for _, entry in found if entry is not None]
    print_list([one for one, _ in found], output, _TABLE, lambda: rows, what="access requests", where=where)


def _left(moment: float | None) -> str:
    if moment is None:
        return ""
    left = moment - time.time()
    return span(left) if left > 0 else "over"


_TABLE: Table[Entry] = Table(
    {
        NAMESPACE: lambda one: one.namespace,
        "NAME": lambda one: one.name,
        "PHASE": lambda one: one.phase,
        "CLUSTER": lambda one: one.cluster,
        "BY": lambda one: one.way,
        "MAY": lambda one: "; ".join(one.rights),
        "TOKEN LEFT": lambda one: _left(one.token_ends),
        "TTL LEFT": lambda one: _left(one.ends),
        "AGE": lambda one: age(one.created),
    },
    wide={
        "REASON": lambda one: one.reason,
        "CREATOR": lambda one: one.creator,
        "MESSAGE": lambda one: one.message,
    },
)
