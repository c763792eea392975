"""What wakes the reconcilers: changes mapped to the requests, clusters and purposes that care.

Our own writes come back as changes, too. Those that tell us nothing new (a claim that was made, a Grant that was
written) wake nobody, so that a grant is one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mooring.api.access import AccessRequest
from mooring.api.claims import claimants
from mooring.api.clusters import Cluster, Tenancy
from mooring.api.conditions import READY, Condition, found
from mooring.api.marks import GRANT_FINALIZER, PROPAGATED_PREFIX, REQUEST_FINALIZER, claim_of
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.kube import Change, ObjectKey
from mooring.runtime.predicates import Predicate, any_of, asked_for, labels_changed
from mooring.scheduling.fleet import is_healthy
from mooring.scheduling.seen import Seen, WaitsFor, by_request


class Wakes:
    """The mappers that need to look something up."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def rules_to_requests(self, _change: Change[object]) -> Iterable[ObjectKey]:
        """Purposes, profiles, equivalences or providers: all that is not granted is planned again."""
        return self._seen.waiting_for(WaitsFor.RULES)

    def cluster_to_requests(self, change: Change[Cluster]) -> Iterable[ObjectKey]:
        """Those who hold the cluster and would see the difference, those who lost it, those who wait for one."""
        before, after = _claimants(change.before), _claimants(change.after)
        concerned = (before - after) | {uid for uid in after - before if self._is_surprised(uid)}
        concerned |= {uid for uid in before & after if _words(change.before, uid) != _words(change.after, uid)}
        if _looks(change.before) != _looks(change.after):
            concerned |= before & after
        keys = [key for uid in concerned for key in self._seen.requests.keys_by("uid", uid)]
        if concerned or _may_serve(change):
            keys += self._seen.waiting_for(WaitsFor.SEATS if _is_shared(change.after) else WaitsFor.CLUSTERS)
        if change.after is None and change.before is not None:
            # A request in deletion may wait for the end of a cluster that carries its claim no more.
            keys += self._seen.leaving.pop(change.key, ())
        return keys

    def _is_surprised(self, uid: str) -> bool:
        """Whether a new claim is news to its request: it has another one, or thinks that it has none."""
        if len(self._seen.clusters.keys_by("claimant", uid)) > 1:
            return True
        return any(key in self._seen.waiting for key in self._seen.requests.keys_by("uid", uid))

    def lost_claim_to_cluster(self, change: Change[ClusterRequest]) -> Iterable[ObjectKey]:
        """A request that is gone, or was made anew: the clusters that it held."""
        if change.before is None or change.after is not None:
            return ()
        return tuple(self._seen.clusters.keys_by("claimant", change.before.metadata.uid))


def grant_to_request(change: Change[ClusterRequestGrant]) -> Iterable[ObjectKey]:
    """The request of a Grant that is gone; they have the same name."""
    return (change.key,) if change.after is None else ()


def access_to_request(change: Change[AccessRequest]) -> Iterable[ObjectKey]:
    """The request whose access is gone, or taken back."""
    before, after = change.before, change.after
    if before is None or (after is not None and (_is_held(after) or not _is_held(before))):
        return ()
    return by_request(before)


def _is_held(access: AccessRequest) -> bool:
    return GRANT_FINALIZER in access.metadata.finalizers


def status_lost(change: Change[ClusterRequest]) -> bool:
    """Somebody took the status away, or a part that we do not take back ourselves."""
    before, after = change.before, change.after
    if before is None or after is None or before.status is None:
        return False
    status = after.status
    return status is None or not status.phase or (before.status.cluster is not None and status.cluster is None)


def propagated_changed(change: Change[ClusterRequest]) -> bool:
    """An annotation that is to be seen on the cluster, too, changed."""
    before, after = change.before, change.after
    if before is None or after is None:
        return False
    return _propagated(before.metadata.annotations) != _propagated(after.metadata.annotations)


def finalizer_lost(change: Change[ClusterRequest]) -> bool:
    """Somebody took our finalizer away, and we did not."""
    before, after = change.before, change.after
    if before is None or after is None or after.metadata.deleting:
        return False
    return REQUEST_FINALIZER in before.metadata.finalizers and REQUEST_FINALIZER not in after.metadata.finalizers


# What of a request is worth a look at it.
request_asks: Predicate = any_of(asked_for, labels_changed, status_lost, finalizer_lost, propagated_changed)


def _propagated(marks: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in marks.items() if name.startswith(PROPAGATED_PREFIX)}


def _claimants(cluster: Cluster | None) -> set[str]:
    return set() if cluster is None else set(claimants(cluster.metadata))


def _words(cluster: Cluster | None, uid: str) -> str:
    """What the annotation of a claim says."""
    return "" if cluster is None else cluster.metadata.annotations.get(claim_of(uid), "")


def _looks(cluster: Cluster | None) -> tuple[bool, Condition | None] | None:
    """What the status of a request tells of its cluster."""
    if cluster is None:
        return None
    ready = found(cluster.status.conditions, READY) if cluster.status is not None else None
    return cluster.metadata.deleting, ready


def _is_shared(cluster: Cluster | None) -> bool:
    return cluster is not None and cluster.spec.tenancy is Tenancy.SHARED


def _may_serve(change: Change[Cluster]) -> bool:
    """Whether the cluster may serve somebody now whom it did not before; or, gone, whether its name is free."""
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    return (
        before.spec != after.spec
        or before.metadata.labels != after.metadata.labels
        or before.metadata.deleting != after.metadata.deleting
        or is_healthy(before) != is_healthy(after)
    )
