"""What we last wrote on each cluster, so that somebody else's hand in it is told from our own.

Every change of a cluster comes back to us, also the ones that we made. A change that leaves our part as we wrote it
wakes nobody; one that does not (a status that was wiped, a label that was removed) brings the cluster back to work.
"""

from __future__ import annotations

from typing import Any

from mooring.api.clusters import Cluster
from mooring.api.marks import KUBERNETES_VERSION_LABEL, PROVIDER_INFO_ANNOTATION, PROVIDER_LABEL
from mooring.kube import Change, ObjectKey

_Part = tuple[Any, ...]


class Drift:
    """Kept in memory only: after a restart every cluster is looked at anyhow."""

    def __init__(self, finalizer: str) -> None:
        self._finalizer = finalizer
        self._ours: dict[ObjectKey, list[_Part]] = {}

    def expect(self, key: ObjectKey, *ways: Cluster) -> None:
        """From now on, our part of the cluster is as in one of these: before, between and after our writes."""
        self._ours[key] = [self._part(way) for way in ways]

    def forget(self, key: ObjectKey) -> None:
        self._ours.pop(key, None)

    def clear(self) -> None:
        self._ours.clear()

    def seen_in(self, change: Change[Cluster]) -> bool:
        """Whether somebody else has changed our part of it. What we have not written yet cannot have been changed."""
        known = self._ours.get(change.key)
        return known is not None and change.after is not None and self._part(change.after) not in known

    def _part(self, cluster: Cluster) -> _Part:
        metadata = cluster.metadata
        return (
            metadata.uid,
            self._finalizer in metadata.finalizers,
            metadata.labels.get(PROVIDER_LABEL),
            metadata.labels.get(KUBERNETES_VERSION_LABEL),
            metadata.annotations.get(PROVIDER_INFO_ANNOTATION),
            cluster.status,
        )
