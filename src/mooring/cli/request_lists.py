"""``mooring request list``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mooring.cli.listings import (
    NAMESPACE,
    EverywhereOption,
    Listed,
    ListedOption,
    Table,
    age,
    namespace_listed,
    print_list,
    read_as,
)
from mooring.cli.platforms import on_a_platform, there
from mooring.cli.tables import span
from mooring.cli.why import NamespaceOption

if TYPE_CHECKING:
    from mooring.api.requests import ClusterRequest
    from mooring.app.reaching import Reach
    from mooring.kube import Client, Object


@on_a_platform
def list_requests(
    reach: Reach,
    namespace: NamespaceOption = None,
    everywhere: EverywhereOption = False,
    output: ListedOption = Listed.TEXT,
) -> None:
    """List requests.

    Shows what they are for, where they stand, which cluster they have, and for how long still.
    """
    from mooring.api.requests import ClusterRequest
    from mooring.app.explaining import listed_plainly

    async def look(client: Client) -> tuple[str | None, list[Object]]:
        where = namespace_listed(client, namespace, everywhere)
        return where, await listed_plainly(client, ClusterRequest, where)

    where, found = there(reach, look)
    print_list(found, output, _TABLE, lambda: read_as(ClusterRequest, found), what="requests", where=where)


def _phase(request: ClusterRequest) -> str:
    said = request.status.phase if request.status is not None else ""
    return "Leaving" if request.metadata.deleting else said or "Pending"


def _reason(request: ClusterRequest) -> str:
    return request.status.reason if request.status is not None else ""


def _cluster(request: ClusterRequest) -> str:
    cluster = request.status.cluster if request.status is not None else None
    return f"{cluster.namespace}/{cluster.name}" if cluster is not None else ""


def _ready(request: ClusterRequest) -> str:
    from mooring.api.conditions import READY, found

    ready = found(request.status.conditions, READY) if request.status is not None else None
    return str(ready.status) if ready is not None else ""


def _left(request: ClusterRequest) -> str:
    from mooring.app.requests import seconds_left

    left = seconds_left(request, time.time())
    return "" if left is None else span(left) if left > 0 else "over"


def _sharing(request: ClusterRequest) -> str:
    dedicated = request.spec.dedicated
    return "" if dedicated is None else "dedicated" if dedicated else "shared"


_TABLE: Table[ClusterRequest] = Table(
    {
        NAMESPACE: lambda one: one.metadata.namespace,
        "NAME": lambda one: one.metadata.name,
        "PURPOSES": lambda one: ",".join(one.spec.all_purposes),
        "PHASE": _phase,
        "REASON": _reason,
        "CLUSTER": _cluster,
        "READY": _ready,
        "TTL LEFT": _left,
        "AGE": lambda one: age(one.metadata.creation_timestamp),
    },
    wide={
        "VERSION": lambda one: one.spec.kubernetes.version,
        "SHARING": _sharing,
        "MESSAGE": lambda one: one.status.message if one.status is not None else "",
    },
)
