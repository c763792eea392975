"""What one instance of a provider sees of the platform: the stores it reads, and what of them is its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube import Object, ObjectKey, typed
from mooring.providers.sdk.configs import plain_resource, provider_named_by
from mooring.providers.sdk.provider import Provider
from mooring.runtime import Manager, Store


class Seen:
    """Made once for each instance; its reconcilers share it. Stores are shared by all on the same manager."""

    def __init__(self, manager: Manager, provider: Provider[Any], *, name: str, environment: str) -> None:
        self.provider = provider
        self.name = name
        self.environment = environment
        self.clusters: Store[Cluster] = manager.store(
            typed(Cluster), indexes={"profile": by_profile, "cluster-config": by_cluster_config}
        )
        self.profiles: Store[ClusterProfile] = manager.store(typed(ClusterProfile), indexes={"origin": by_origin})
        self.configs: Store[Object] = manager.store(plain_resource(provider.config))
        kind = provider.cluster_config
        self.cluster_configs: Store[Object] | None = None if kind is None else manager.store(plain_resource(kind))

    def is_ours(self, config: Object | None) -> bool:
        """Whether a configuration is meant for this instance."""
        return config is not None and provider_named_by(config) == self.name

    def profile_of(self, cluster: Cluster) -> ClusterProfile | None:
        """The profile of a cluster, if it is one of ours: then we are responsible for the cluster, and else not."""
        profile = self.profiles.get(ObjectKey("", cluster.spec.profile))
        return profile if profile is not None and profile.spec.provider_ref.name == self.name else None

    def profiles_of(self, config: str) -> list[ClusterProfile]:
        """Our profiles of a configuration."""
        return self.profiles.by("origin", (self.name, config))

    def clusters_of(self, config: str) -> list[ObjectKey]:
        """The clusters that are made by a configuration of ours."""
        profiles = [profile.metadata.name for profile in self.profiles_of(config)]
        return [key for profile in profiles for key in self.clusters.keys_by("profile", profile)]


def by_profile(cluster: Cluster) -> Iterable[str]:
    return (cluster.spec.profile,)


def by_cluster_config(cluster: Cluster) -> Iterable[ObjectKey]:
    """The further configuration that a cluster names; it is in the cluster's namespace."""
    return [ObjectKey(cluster.metadata.namespace, one.name) for one in cluster.spec.cluster_configs]


def by_origin(profile: ClusterProfile) -> Iterable[tuple[str, str]]:
    """Whose profile it is, and of which configuration."""
    return ((profile.spec.provider_ref.name, profile.spec.provider_config_ref.name),)
