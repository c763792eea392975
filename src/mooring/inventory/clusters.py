"""A cluster in one row: what it is for, how many seats of it are taken, and how it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mooring.api.claims import claimants
from mooring.api.clusters import Cluster, ClusterPhase, Tenancy
from mooring.api.conditions import READY, found
from mooring.api.marks import KUBERNETES_VERSION_LABEL, PROVIDER_LABEL, WARM_LABEL
from mooring.api.purposes import PurposeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    """A cluster at a glance."""

    namespace: str
    name: str
    purposes: tuple[str, ...]
    tenancy: str
    taken: int
    seats: int  # 0: any number
    phase: str  # empty while nobody has said anything about it
    ready: str  # of the condition: True, False, Unknown; empty without one
    reason: str
    message: str
    version: str  # that it runs, else that it shall run
    profile: str
    provider: str
    warm: str  # the purpose that it is kept ready for; empty if it is not
    created: str


def cluster_row(cluster: Cluster, purposes: Mapping[str, PurposeSpec]) -> ClusterRow:
    """The row of a cluster; ``purposes`` say how many requests may share it."""
    metadata, spec, status = cluster.metadata, cluster.spec, cluster.status
    ready = found(status.conditions, READY) if status is not None else None
    phase = status.phase if status is not None else ""
    return ClusterRow(
        namespace=metadata.namespace,
        name=metadata.name,
        purposes=spec.purposes,
        tenancy=str(spec.tenancy),
        taken=len(claimants(metadata)),
        seats=seats_of(cluster, purposes),
        phase=str(ClusterPhase.TERMINATING) if metadata.deleting else phase,
        ready=str(ready.status) if ready is not None else "",
        reason=ready.reason if ready is not None else "",
        message=ready.message if ready is not None else "",
        version=metadata.labels.get(KUBERNETES_VERSION_LABEL) or spec.kubernetes.version,
        profile=spec.profile,
        provider=metadata.labels.get(PROVIDER_LABEL, ""),
        warm=metadata.labels.get(WARM_LABEL, ""),
        created=metadata.creation_timestamp,
    )


def seats_of(cluster: Cluster, purposes: Mapping[str, PurposeSpec]) -> int:
    """How many requests it may serve; 0 for any number. Of several purposes the strictest counts."""
    if cluster.spec.tenancy is Tenancy.EXCLUSIVE:
        return 1
    counts = [purposes[name].tenancy_count for name in cluster.spec.purposes if name in purposes]
    return min((count for count in counts if count), default=0)
