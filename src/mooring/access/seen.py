"""What preparation sees of the world: the stores it reads, and which requests care for what in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.api.providers import ClusterProvider
from mooring.api.references import ObjectReference
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.entry.policies import cluster_named, request_named
from mooring.entry.resolving import Sources
from mooring.kube import ObjectKey, Resource, typed
from mooring.runtime import Manager, Store

# Stores are shared with other rooms, and so are the names of indexes.
CLUSTER, REQUEST, PROFILE, PROVIDER = "access-cluster", "access-request", "access-profile", "access-provider"


class Seen:
    """Made once for a manager."""

    def __init__(self, manager: Manager) -> None:
        self.access: Store[AccessRequest] = manager.store(
            typed(AccessRequest), indexes={CLUSTER: _cluster, REQUEST: _request, PROVIDER: _labelled_provider}
        )
        self.requests: Store[ClusterRequest] = manager.store(
            typed(ClusterRequest), indexes={CLUSTER: _cluster_in_status}
        )
        self.grants: Store[ClusterRequestGrant] = manager.store(
            typed(ClusterRequestGrant), indexes={CLUSTER: _cluster_granted}
        )
        self.clusters: Store[Cluster] = manager.store(typed(Cluster), indexes={PROFILE: _profile})
        self.profiles: Store[ClusterProfile] = manager.store(typed(ClusterProfile), indexes={PROVIDER: _provider})
        self.providers: Store[ClusterProvider] = manager.store(typed(ClusterProvider))
        self.sources = Sources(
            requests=self.requests, grants=self.grants, clusters=self.clusters, profiles=self.profiles
        )

    def store_of(self, resource: Resource[Any]) -> Store[Any]:
        """The store of a kind that a request leads over."""
        stores: dict[str, Store[Any]] = {
            ClusterRequest.API.kind: self.requests,
            Cluster.API.kind: self.clusters,
            ClusterProfile.API.kind: self.profiles,
        }
        return stores[resource.kind]

    def profile_labelled(self, request: AccessRequest) -> ClusterProfile | None:
        """The profile that the labels of a request name, if they also name its provider."""
        labels = request.metadata.labels
        profile = self.profiles.get(ObjectKey("", labels.get(PROFILE_LABEL, "")))
        if profile is None or profile.spec.provider_ref.name != labels.get(PROVIDER_LABEL):
            return None
        return profile

    def entering(self, cluster: ObjectKey) -> Iterator[ObjectKey]:
        """The access requests that mean a cluster: those that name it, and those that name a request that has it."""
        yield from self.access.keys_by(CLUSTER, cluster)
        for holders in (self.grants.keys_by(CLUSTER, cluster), self.requests.keys_by(CLUSTER, cluster)):
            for request in holders:
                yield from self.access.keys_by(REQUEST, request)

    def entering_by_profile(self, profile: str) -> Iterator[ObjectKey]:
        """The access requests that mean a cluster of a profile."""
        for cluster in self.clusters.keys_by(PROFILE, profile):
            yield from self.entering(cluster)


def _cluster(access: AccessRequest) -> Iterable[ObjectKey]:
    key = cluster_named(access)
    return () if key is None else (key,)


def _request(access: AccessRequest) -> Iterable[ObjectKey]:
    key = request_named(access)
    return () if key is None else (key,)


def _labelled_provider(access: AccessRequest) -> Iterable[str]:
    provider = access.metadata.labels.get(PROVIDER_LABEL)
    return (provider,) if provider else ()


def _cluster_in_status(request: ClusterRequest) -> Iterable[ObjectKey]:
    return () if request.status is None else _keys(request.status.cluster)


def _cluster_granted(grant: ClusterRequestGrant) -> Iterable[ObjectKey]:
    return _keys(grant.spec.cluster_ref)


def _profile(cluster: Cluster) -> Iterable[str]:
    return (cluster.spec.profile,)


def _provider(profile: ClusterProfile) -> Iterable[str]:
    return (profile.spec.provider_ref.name,)


def _keys(reference: ObjectReference | None) -> Iterable[ObjectKey]:
    return () if reference is None else (ObjectKey(reference.namespace, reference.name),)
