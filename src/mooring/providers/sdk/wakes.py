"""What wakes the two reconcilers of a provider. What is another instance's wakes nobody here.

Our own writes come back as changes, too; those that tell us nothing new wake nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube import Change, Object, ObjectKey
from mooring.providers.sdk.drift import Drift
from mooring.providers.sdk.holding import Holding
from mooring.providers.sdk.publishing import Publisher, looks_of
from mooring.providers.sdk.seen import Seen
from mooring.runtime.predicates import asked_for, generation_changed


class ClusterWakes:
    """What is worth a look at a cluster."""

    def __init__(self, seen: Seen, drift: Drift) -> None:
        self._seen = seen
        self._drift = drift

    def cluster_asks(self, change: Change[Cluster]) -> bool:
        """One of ours that was changed, that somebody laid a hand on, or that others hold no more."""
        if not any(one is not None and self._seen.profile_of(one) for one in (change.before, change.after)):
            return False
        return asked_for(change) or self._drift.seen_in(change) or _let_go_by_others(change)

    def profile_to_clusters(self, change: Change[ClusterProfile]) -> Iterable[ObjectKey]:
        before, after = change.before, change.after
        if not any(one is not None and one.spec.provider_ref.name == self._seen.name for one in (before, after)):
            return ()
        if before is not None and after is not None and before.spec == after.spec:
            return ()
        return tuple(self._seen.clusters.keys_by("profile", change.key.name))

    def config_to_clusters(self, change: Change[Object]) -> Iterable[ObjectKey]:
        return self._seen.clusters_of(change.key.name) if generation_changed(change) else ()

    def cluster_config_to_clusters(self, change: Change[Object]) -> Iterable[ObjectKey]:
        if not generation_changed(change):
            return ()
        named = self._seen.clusters.by("cluster-config", change.key)
        return [
            ObjectKey(one.metadata.namespace, one.metadata.name)
            for one in named
            if self._seen.profile_of(one) is not None
        ]


class ConfigWakes:
    """What is worth a look at a configuration."""

    def __init__(self, seen: Seen, publisher: Publisher, holding: Holding) -> None:
        self._seen = seen
        self._publisher = publisher
        self._holding = holding

    def config_asks(self, change: Change[Object]) -> bool:
        if not any(self._seen.is_ours(one) for one in (change.before, change.after)):
            return False
        return asked_for(change) or self._hold_lost(change) or _status_lost(change)

    def profile_to_config(self, change: Change[ClusterProfile]) -> Iterable[ObjectKey]:
        """A profile of ours that is not as we wrote it; or a name that we waited for and that is free now."""
        before, after, name = change.before, change.after, change.key.name
        waiting = self._publisher.taken.get(name)
        if waiting is not None:
            return (waiting,)
        if after is not None and looks_of(after) == self._publisher.published.get(name):
            return ()
        origins = {_config_of(one) for one in (before, after) if one is not None and self._is_ours(one)}
        return tuple(origins)

    def cluster_to_config(self, change: Change[Cluster]) -> Iterable[ObjectKey]:
        """A cluster that is gone may have been the last of its profile."""
        if change.after is not None or change.before is None:
            return ()
        profile = self._seen.profile_of(change.before)
        return () if profile is None else (_config_of(profile),)

    def _is_ours(self, profile: ClusterProfile) -> bool:
        return profile.spec.provider_ref.name == self._seen.name

    def _hold_lost(self, change: Change[Object]) -> bool:
        """Somebody has let go of a configuration that clusters are made by."""
        lost = self._holding.is_held(change.before) and not self._holding.is_held(change.after)
        return lost and bool(self._seen.clusters_of(change.key.name))


def _let_go_by_others(change: Change[Cluster]) -> bool:
    before, after = change.before, change.after
    if before is None or after is None or not after.metadata.deleting:
        return False
    return before.metadata.finalizers != after.metadata.finalizers


def _status_lost(change: Change[Object]) -> bool:
    before, after = change.before or {}, change.after or {}
    return bool((before.get("status") or {}).get("conditions") and not (after.get("status") or {}).get("conditions"))


def _config_of(profile: ClusterProfile) -> ObjectKey:
    return ObjectKey("", profile.spec.provider_config_ref.name)
