"""Clusters as providers and scheduling leave them, for the words that show them."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.api.claims import Claim, with_claims
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.kinds import Metadata
from mooring.kube import Client, MergePatch, typed
from mooring.testing.builders import cluster, cluster_profile, plain_resource_of

CLUSTERS = typed(Cluster)
PLAIN_CLUSTERS = plain_resource_of(Cluster)


def condition(status: str, *, reason: str = "AllGood", message: str = "", kind: str = "Ready") -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def a_cluster(
    there: Client,
    name: str,
    room: str,
    *claims: Claim,
    meta: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> Cluster:
    """A cluster that these requests hold, with this status."""
    document = cluster(name, room, **spec)
    marked = with_claims(Metadata(), claims)
    marks = msgspec.to_builtins(marked)
    more = meta or {}
    finalizers = [*more.pop("finalizers", ()), *marks.get("finalizers", ())]
    document["metadata"] |= {**more, "finalizers": finalizers, "annotations": dict(marked.annotations)}
    made = await there.create(CLUSTERS, document)
    if status is not None:
        body = MergePatch({"status": {"observedGeneration": made.metadata.generation, **status}})
        made = await there.patch(CLUSTERS, name, body, namespace=room, subresource="status")
    return made


async def a_profile(there: Client, name: str, *, provider: str, **spec: Any) -> None:
    document = cluster_profile(name, provider=provider)
    document["spec"] |= spec
    await there.create(typed(ClusterProfile), document)
