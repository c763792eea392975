"""What the deployment controller sees of the platform: providers, what they offer, and which clusters are theirs."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import PROVIDER_LABEL
from mooring.api.names import LONGEST_NAME
from mooring.api.providers import ClusterProvider
from mooring.kube import Client, ObjectKey, key_of, metadata_of, typed
from mooring.providers.sdk.seen import by_profile
from mooring.runtime import Manager, Store


class Seen:
    """Stores, and what of them belongs to a provider."""

    def __init__(self, manager: Manager) -> None:
        self._client: Client = manager.client
        self.providers: Store[ClusterProvider] = manager.store(typed(ClusterProvider))
        self.profiles: Store[ClusterProfile] = manager.store(
            typed(ClusterProfile), indexes={"offered-by": by_provider_ref}
        )
        self.clusters: Store[Cluster] = manager.store(
            typed(Cluster), indexes={"profile": by_profile, "made-by": by_provider_label}
        )

    def profiles_of(self, provider: str) -> list[ClusterProfile]:
        return self.profiles.by("offered-by", provider)

    async def clusters_of(self, provider: str) -> list[ObjectKey]:
        """The clusters that a provider has made, or is to make. None is only said after a look at the server."""
        known = self._known_clusters(provider)
        return sorted(known or await self._clusters_there(provider))

    def _known_clusters(self, provider: str) -> set[ObjectKey]:
        known = set(self.clusters.keys_by("made-by", provider))
        for profile in self.profiles_of(provider):
            known.update(self.clusters.keys_by("profile", profile.metadata.name))
        return known

    async def _clusters_there(self, provider: str) -> set[ObjectKey]:
        bare = metadata_of(typed(Cluster))
        there: set[ObjectKey] = set()
        if len(provider) <= LONGEST_NAME:  # longer ones cannot be the value of a label
            made = await self._client.list(bare, label_selector=f"{PROVIDER_LABEL}={provider}")
            there.update(key_of(one) for one in made.items)
        for profile in [one.metadata.name for one in self.profiles_of(provider)]:
            used = await self._client.list(bare, field_selector=f"spec.profile={profile}")
            there.update(key_of(one) for one in used.items)
        return there


def by_provider_ref(profile: ClusterProfile) -> Iterable[str]:
    return (profile.spec.provider_ref.name,)


def by_provider_label(cluster: Cluster) -> Iterable[str]:
    """Who has made it; a profile that is gone does not tell any more."""
    name = cluster.metadata.labels.get(PROVIDER_LABEL)
    return (name,) if name else ()
