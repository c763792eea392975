"""What is worth a look at a ClusterProvider, beside what its ground hears."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import PROVIDER_FINALIZER
from mooring.api.providers import ClusterProvider
from mooring.kube import Change, ObjectKey
from mooring.providers.deployment.reconciler import ProviderReconciler
from mooring.providers.deployment.seen import Seen, by_provider_label
from mooring.runtime.predicates import asked_for


class ProviderWakes:
    """Mappers from changes to the providers that they concern."""

    def __init__(self, seen: Seen, reconciler: ProviderReconciler) -> None:
        self._seen = seen
        self._reconciler = reconciler

    def provider_asks(self, change: Change[ClusterProvider]) -> bool:
        """It was changed, or somebody laid a hand on what is ours of it."""
        return asked_for(change) or self._status_changed(change) or _finalizer_lost(change)

    def profile_to_providers(self, change: Change[ClusterProfile]) -> Iterable[ObjectKey]:
        before, after = change.before, change.after
        if before is not None and after is not None and before.spec == after.spec:
            return ()
        return {ObjectKey("", one.spec.provider_ref.name) for one in (before, after) if one is not None}

    def cluster_to_providers(self, change: Change[Cluster]) -> Iterable[ObjectKey]:
        """A cluster that came or went matters to a provider that would go."""
        if change.before is not None and change.after is not None:
            return ()
        cluster = change.after or change.before
        return () if cluster is None else {key for key in self._providers_of(cluster) if self._would_go(key)}

    def _providers_of(self, cluster: Cluster) -> set[ObjectKey]:
        profile = self._seen.profiles.get(ObjectKey("", cluster.spec.profile))
        names = set(by_provider_label(cluster))
        if profile is not None:
            names.add(profile.spec.provider_ref.name)
        return {ObjectKey("", name) for name in names}

    def _would_go(self, key: ObjectKey) -> bool:
        provider = self._seen.providers.get(key)
        return provider is not None and provider.metadata.deleting

    def _status_changed(self, change: Change[ClusterProvider]) -> bool:
        """By somebody else. What we have not written yet cannot have been changed."""
        told = self._reconciler.told.get(change.key)
        return told is not None and change.after is not None and change.after.status != told


def _finalizer_lost(change: Change[ClusterProvider]) -> bool:
    before, after = change.before, change.after
    if before is None or after is None:
        return False
    return PROVIDER_FINALIZER in before.metadata.finalizers and PROVIDER_FINALIZER not in after.metadata.finalizers
