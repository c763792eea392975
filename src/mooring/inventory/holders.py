"""Who has to do with a cluster: the requests that hold it, and the access requests that want to enter it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mooring.api.access import AccessRequest
from mooring.api.claims import Claim, claims_on
from mooring.api.clusters import Cluster
from mooring.api.conditions import READY, found
from mooring.api.references import ObjectReference
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.kube import ObjectKey, key_of


class Standing(StrEnum):
    """What is known of the request behind a claim."""

    THERE = "There"
    LEAVING = "Leaving"
    GONE = "Gone"
    UNKNOWN = "Unknown"  # requests could not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A claim on the cluster. Namespace and name are empty where neither the claim nor a request tells them."""

    namespace: str
    name: str
    uid: str
    prefix: str
    since: str  # empty if the grant is not there, or could not be read
    request: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRow:
    """An access request for the cluster."""

    namespace: str
    name: str
    way: str  # token or oidc
    through: str  # the request that it names instead of the cluster, as namespace/name
    phase: str
    ready: str
    reason: str
    ttl: str
    created: str


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests and grants that were read; None for what could not be."""

    requests: Sequence[ClusterRequest] | None
    grants: Sequence[ClusterRequestGrant] | None

    def holders(self, cluster: Cluster) -> tuple[Holder, ...]:
        """Who holds the cluster, in the order of the claims."""
        by_uid = {one.metadata.uid: one for one in self.requests or ()}
        return tuple(
            self._holder(claim, by_uid.get(claim.uid), key_of(cluster)) for claim in claims_on(cluster.metadata)
        )

    def _holder(self, claim: Claim, request: ClusterRequest | None, cluster: ObjectKey) -> Holder:
        # The uid is the claim; what the annotation says beside it may have been written by anybody.
        key = key_of(request) if request is not None else ObjectKey(claim.namespace, claim.name)
        return Holder(
            namespace=key.namespace,
            name=key.name,
            uid=claim.uid,
            prefix=claim.prefix,
            since=self._since(key, claim.uid, cluster),
            request=self._standing(request),
        )

    def _standing(self, request: ClusterRequest | None) -> Standing:
        if request is not None:
            return Standing.LEAVING if request.metadata.deleting else Standing.THERE
        return Standing.UNKNOWN if self.requests is None else Standing.GONE

    def _since(self, key: ObjectKey, uid: str, cluster: ObjectKey) -> str:
        for grant in self.grants or ():
            owners = {one.uid for one in grant.metadata.owner_references}
            if key_of(grant) == key and _means(grant.spec.cluster_ref, cluster) and (not owners or uid in owners):
                return grant.metadata.creation_timestamp
        return ""

    def entering(self, cluster: ObjectKey, access: Sequence[AccessRequest]) -> tuple[AccessRow, ...]:
        """The access requests that mean this cluster, by themselves or through a request, by name."""
        granted = {key_of(one): one.spec.cluster_ref for one in self.grants or ()}
        told = {key_of(one): one.status.cluster for one in self.requests or () if one.status is not None}
        rows = []
        for one in sorted(access, key=key_of):
            through = _through(one)
            # As access itself resolves it: the cluster counts over the request, the grant over what a status says.
            if one.spec.cluster_ref is not None:
                own = one.spec.cluster_ref
                means = cluster == ObjectKey(own.namespace or one.metadata.namespace, own.name)
            else:
                means = through is not None and _means(granted.get(through) or told.get(through), cluster)
            if means:
                rows.append(_access_row(one, through))
        return tuple(rows)


def _means(reference: ObjectReference | None, cluster: ObjectKey) -> bool:
    return reference is not None and ObjectKey(reference.namespace, reference.name) == cluster


def _through(access: AccessRequest) -> ObjectKey | None:
    reference = access.spec.request_ref
    return None if reference is None else ObjectKey(reference.namespace or access.metadata.namespace, reference.name)


def _access_row(access: AccessRequest, through: ObjectKey | None) -> AccessRow:
    metadata, status = access.metadata, access.status
    ready = found(status.conditions, READY) if status is not None else None
    phase = status.phase if status is not None else "Pending"
    return AccessRow(
        namespace=metadata.namespace,
        name=metadata.name,
        way="token" if access.spec.token is not None else "oidc" if access.spec.oidc is not None else "",
        through=str(through) if through is not None else "",
        phase="Leaving" if metadata.deleting else phase,
        ready=str(ready.status) if ready is not None else "",
        reason=status.reason if status is not None else "",
        ttl=access.spec.ttl,
        created=metadata.creation_timestamp,
    )
