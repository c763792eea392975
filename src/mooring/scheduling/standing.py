"""What a request has already: read from its Grant, from the claims that carry its uid, and from its status.

The Grant counts over the others. Next comes the status, which the server lets nobody take back, and then the claims.
Whatever is lost of the three is made again from what is left. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mooring.api.claims import Claim, claim_on
from mooring.api.clusters import Cluster
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.kube import ObjectKey, key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a request is at home, if it is anywhere."""

    home: ObjectKey | None = None  # the cluster that it has, or must get back
    prefix: str | None = None  # that it was granted there; None: none was yet
    claimed: bool = False  # its claim is on the cluster
    signed: bool = False  # and the claim's annotation says what it should
    granted: bool = False  # its Grant says so
    spare: tuple[ObjectKey, ...] = ()  # clusters that carry a claim of it, too, and must not


def standing_of(request: ClusterRequest, grant: ClusterRequestGrant | None, holders: Sequence[Cluster]) -> Standing:
    """What the request has. ``grant`` is its own, ``holders`` all clusters with its claim."""
    held = {key_of(one): one for one in sorted(holders, key=_oldest_first)}
    status = request.status.cluster if request.status is not None else None
    if grant is not None:
        home = ObjectKey(grant.spec.cluster_ref.namespace, grant.spec.cluster_ref.name)
    elif status is not None:
        home = ObjectKey(status.namespace, status.name)
    elif held:
        home = next(iter(held))
    else:
        return Standing()
    claim = claim_on(held[home].metadata, request.metadata.uid) if home in held else None
    prefix = grant.spec.prefix if grant is not None else claim.prefix if claim is not None and claim.signed else None
    return Standing(
        home=home,
        prefix=prefix,
        claimed=claim is not None,
        signed=claim is not None and _is_signed(claim, request, prefix),
        granted=grant is not None,
        spare=tuple(key for key in held if key != home),
    )


def _is_signed(claim: Claim, request: ClusterRequest, prefix: str | None) -> bool:
    own = request.metadata
    return claim == Claim(uid=own.uid, namespace=own.namespace, name=own.name, prefix=prefix or "") and claim.signed


def belongs_to(grant: ClusterRequestGrant, request: ClusterRequest) -> bool:
    """Whether the Grant is this request's, and not that of an earlier one of the same name."""
    owners = [owner.uid for owner in grant.metadata.owner_references if owner.kind == request.API.kind]
    return not owners or request.metadata.uid in owners


def _oldest_first(cluster: Cluster) -> tuple[bool, str, ObjectKey]:
    """One that is being deleted comes last: the claim keeps it, but it is no home."""
    return cluster.metadata.deleting, cluster.metadata.creation_timestamp, key_of(cluster)
