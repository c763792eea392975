"""What wakes preparation: changes mapped to the access requests for which they may make a difference."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.access.reasons import REFUSALS
from mooring.access.seen import PROVIDER, REQUEST, Seen
from mooring.api.access import AccessRequest, AccessRequestStatus
from mooring.api.claims import Claim, claims_on
from mooring.api.clusters import Cluster, ClusterProfile, Tenancy
from mooring.api.marks import MANAGED_BY_LABEL
from mooring.api.policies import AccessRules
from mooring.api.providers import ClusterProvider
from mooring.api.references import ObjectReference
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.kube import Change, ObjectKey
from mooring.runtime.predicates import Predicate, any_of, asked_for, labels_changed


class Wakes:
    """The mappers. Each first looks whether anything changed that a decision depends on."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def cluster_to_access(self, change: Change[Cluster]) -> Iterable[ObjectKey]:
        """A cluster that came or went, or on which other requests have a seat now."""
        if _is_same(change.before, change.after) or _of_cluster(change.before) == _of_cluster(change.after):
            return ()
        return tuple(self._seen.entering(change.key))

    def profile_to_access(self, change: Change[ClusterProfile]) -> Iterable[ObjectKey]:
        """A profile that came or went, or has another provider or policy now."""
        if _of_profile(change.before) == _of_profile(change.after):
            return ()
        keys = list(self._seen.entering_by_profile(change.key.name))
        if change.before is not None and change.after is None:
            # It may have been the last one of its provider, which requests in deletion wait for.
            keys += self._seen.access.keys_by(PROVIDER, change.before.spec.provider_ref.name)
        return keys

    def provider_to_access(self, change: Change[ClusterProvider]) -> Iterable[ObjectKey]:
        """A provider that is gone: requests in deletion may wait for that."""
        return tuple(self._seen.access.keys_by(PROVIDER, change.key.name)) if change.after is None else ()

    def request_to_access(self, change: Change[ClusterRequest]) -> Iterable[ObjectKey]:
        """A ClusterRequest that came or went, or was answered."""
        if _of_request(change.before) == _of_request(change.after):
            return ()
        return tuple(self._seen.access.keys_by(REQUEST, change.key))

    def grant_to_access(self, change: Change[ClusterRequestGrant]) -> Iterable[ObjectKey]:
        """A Grant that came or went; it never changes."""
        if change.before is not None and change.after is not None:
            return ()
        return tuple(self._seen.access.keys_by(REQUEST, change.key))


def word_lost(change: Change[AccessRequest]) -> bool:
    """Somebody took the status away, or wrote over our refusal."""
    before, after = _status(change.before), _status(change.after)
    if before is None or change.after is None:
        return False
    if after is None or not after.phase:
        return True
    return before.reason in REFUSALS and (before.phase, before.reason) != (after.phase, after.reason)


# What of an access request is worth a look at it.
access_asks: Predicate = any_of(asked_for, labels_changed, word_lost)


def _status(access: AccessRequest | None) -> AccessRequestStatus | None:
    return None if access is None else access.status


def _is_same(before: Cluster | None, after: Cluster | None) -> bool:
    """Whether only the status changed, as it mostly does: then claims need not be read."""
    if before is None or after is None or before.spec != after.spec:
        return False
    old, new = before.metadata, after.metadata
    return (old.uid, old.finalizers, old.annotations) == (new.uid, new.finalizers, new.annotations)


def _of_cluster(cluster: Cluster | None) -> tuple[str, Tenancy, tuple[Claim, ...]] | None:
    return None if cluster is None else (cluster.metadata.uid, cluster.spec.tenancy, claims_on(cluster.metadata))


def _of_profile(profile: ClusterProfile | None) -> tuple[str, AccessRules | None, str] | None:
    if profile is None:
        return None
    managed_by = profile.metadata.labels.get(MANAGED_BY_LABEL, "")
    return profile.spec.provider_ref.name, profile.spec.access, managed_by


def _of_request(request: ClusterRequest | None) -> tuple[str, bool, str, str, ObjectReference | None] | None:
    if request is None:
        return None
    status, own = request.status, request.metadata
    if status is None:
        return own.uid, own.deleting, "", "", None
    return own.uid, own.deleting, status.phase, status.message, status.cluster
