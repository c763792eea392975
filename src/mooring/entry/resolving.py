"""Which cluster an access request means, and of which profile that is. Both sides of a grant find out for themselves.

``clusterRef`` counts over ``requestRef``. A ClusterRequest leads to a cluster by its Grant, and where there is none
(another scheduler writes none) by its status. Pure: things are looked up in whatever has a ``get``. That something is
not found there is no proof that it does not exist, so :class:`Unresolved` names what to ask the server for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.references import ObjectReference
from mooring.api.requests import ClusterRequest, ClusterRequestGrant, RequestPhase
from mooring.entry.policies import cluster_named, request_named
from mooring.kube import ObjectKey, Resource, typed

T_co = TypeVar("T_co", covariant=True)


class Lookup(Protocol[T_co]):
    """Something that has objects by their keys, such as a store."""

    def get(self, key: ObjectKey, /) -> T_co | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the way from a request to its cluster is looked up."""

    requests: Lookup[ClusterRequest]
    grants: Lookup[ClusterRequestGrant]
    clusters: Lookup[Cluster]
    profiles: Lookup[ClusterProfile]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a request leads to."""

    cluster: Cluster
    profile: ClusterProfile
    holds: bool  # whether the ClusterRequest that is named, if one is, has this cluster


class Gap(StrEnum):
    """Why a request leads nowhere yet."""

    NO_REFERENCE = "NoReference"
    REQUEST_MISSING = "RequestMissing"
    REQUEST_PENDING = "RequestPending"
    REQUEST_DENIED = "RequestDenied"
    REQUEST_TERMINATING = "RequestTerminating"
    CLUSTER_MISSING = "ClusterMissing"
    PROFILE_MISSING = "ProfileMissing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """The way ends here. ``missing`` is what was not found, if that is why."""

    gap: Gap
    message: str
    missing: tuple[Resource[Any], ObjectKey] | None = None


def resolved(access: AccessRequest, sources: Sources) -> Target | Unresolved:
    """The cluster that is meant and its profile, or where the way ends."""
    asked, place = request_named(access), cluster_named(access)
    home = None if asked is None else _home_of(asked, sources)
    if place is None:
        if asked is None:
            return Unresolved(
                gap=Gap.NO_REFERENCE, message="The request names nothing: set spec.clusterRef or spec.requestRef."
            )
        if isinstance(home, Unresolved):
            return home
        place = home
    assert place is not None  # noqa: S101
    cluster = sources.clusters.get(place)
    if cluster is None:
        return Unresolved(
            gap=Gap.CLUSTER_MISSING,
            message=f"There is no Cluster {place}; the request goes on when there is.",
            missing=(typed(Cluster), place),
        )
    profile = sources.profiles.get(ObjectKey("", cluster.spec.profile))
    if profile is None:
        return Unresolved(
            gap=Gap.PROFILE_MISSING,
            message=f"There is no ClusterProfile {cluster.spec.profile}, which the Cluster {place} is made by; its "
            f"provider has to publish it.",
            missing=(typed(ClusterProfile), ObjectKey("", cluster.spec.profile)),
        )
    return Target(cluster=cluster, profile=profile, holds=home == place)


def _home_of(asked: ObjectKey, sources: Sources) -> ObjectKey | Unresolved:
    """The cluster that a ClusterRequest has. A Grant without its request is one that nobody has taken away yet."""
    request = sources.requests.get(asked)
    if request is None:
        return Unresolved(
            gap=Gap.REQUEST_MISSING,
            message=f"There is no ClusterRequest {asked}; the request goes on when there is.",
            missing=(typed(ClusterRequest), asked),
        )
    grant = sources.grants.get(asked)
    if grant is not None and _belongs_to(grant, request):
        return _key(grant.spec.cluster_ref)
    status = request.status
    if status is not None and status.cluster is not None:
        return _key(status.cluster)
    if request.metadata.deleting:
        return Unresolved(gap=Gap.REQUEST_TERMINATING, message=f"The ClusterRequest {asked} is being deleted.")
    if status is not None and status.phase == RequestPhase.DENIED:
        return Unresolved(
            gap=Gap.REQUEST_DENIED, message=f"The ClusterRequest {asked} was denied: {status.message or status.reason}"
        )
    return Unresolved(gap=Gap.REQUEST_PENDING, message=f"The ClusterRequest {asked} has no cluster yet.")


def _belongs_to(grant: ClusterRequestGrant, request: ClusterRequest) -> bool:
    """Whether the Grant is this request's, and not that of an earlier one of the same name."""
    owners = [owner.uid for owner in grant.metadata.owner_references if owner.kind == request.API.kind]
    return not owners or request.metadata.uid in owners


def _key(reference: ObjectReference) -> ObjectKey:
    return ObjectKey(reference.namespace, reference.name)
