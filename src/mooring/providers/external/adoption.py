"""Which cluster is whose: one cluster backs one Cluster, whoever brings it, and by however many kubeconfigs.

A claim is an AdoptedCluster whose name stands for the cluster itself, so that of two who create it one is refused by
the server. It is made before anything is said of a cluster, is found again by the uid of its Cluster, and goes when
that says so. One whose Cluster is gone without a word is taken over; that it is gone is asked of the server.
"""

from __future__ import annotations

import contextlib
from typing import Annotated, ClassVar, Final

from mooring.api.clusters import Cluster
from mooring.api.kinds import AGE_COLUMN, Api, Column, Kind, Metadata, Part, as_document
from mooring.api.names import name_uuid
from mooring.api.references import Name, NamespaceName
from mooring.api.schema import about
from mooring.kube import Client, ObjectKey, metadata_of, typed
from mooring.kube.errors import AlreadyExists, NotFound
from mooring.providers.external.config import GROUP
from mooring.providers.external.reasons import Reason, Trouble

# On claims: whose they are.
HOLDER_LABEL: Final = f"{GROUP}/cluster-uid"


class Holder(Part, frozen=True, kw_only=True):
    """A Cluster, and no later one of its name."""

    namespace: Annotated[NamespaceName, about("Namespace of the Cluster.")]
    name: Annotated[Name, about("Name of the Cluster.")]
    uid: Annotated[str, about("Its uid.", max_length=128)]

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.namespace, self.name)


class AdoptedClusterSpec(Part, frozen=True, kw_only=True):
    """Which cluster it is, and whose."""

    identity: Annotated[str, about("The uid of the namespace kube-system in the cluster.", max_length=1024)]
    cluster_ref: Annotated[Holder, about("The Cluster that it backs.")]


class AdoptedCluster(Kind, frozen=True, kw_only=True):
    """A cluster from elsewhere that backs a Cluster, and so no other one. Written by the provider only."""

    API: ClassVar[Api] = Api(
        group=GROUP,
        kind="AdoptedCluster",
        plural="adoptedclusters",
        namespaced=False,
        columns=(
            Column(name="Namespace", path=".spec.clusterRef.namespace"),
            Column(name="Cluster", path=".spec.clusterRef.name"),
            Column(name="Identity", path=".spec.identity", priority=10),
            AGE_COLUMN,
        ),
    )

    spec: Annotated[AdoptedClusterSpec, about()]


CLAIMS: Final = typed(AdoptedCluster)


class Occupied(Trouble):
    """Somebody else has the cluster."""

    def __init__(self, claim: AdoptedCluster) -> None:
        holder = claim.spec.cluster_ref.key
        super().__init__(
            Reason.ALREADY_ADOPTED,
            f"The cluster behind this kubeconfig backs the Cluster {holder} already, and cannot back two. Use a "
            f"kubeconfig of another cluster, or delete {holder}.",
        )
        self.claim = claim.metadata.name


class Adoptions:
    """The claims of Clusters. What is remembered saves a search, and decides nothing."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # of the claims that Clusters were seen to hold, by the Clusters' uids

    async def adopt(self, client: Client, holder: Holder, identity: str) -> str:
        """Have the Cluster hold the cluster; the name of its claim. Raises a Trouble if that cannot be."""
        claim = await self.held_by(client, holder.uid)
        if claim is None:
            claim = await _claimed(client, _claim(holder, identity))
            self._names[holder.uid] = claim.metadata.name
        confirm(claim, identity)
        return claim.metadata.name

    async def held_by(self, client: Client, uid: str) -> AdoptedCluster | None:
        """The claim of the Cluster with this uid, if it has one."""
        with contextlib.suppress(KeyError, NotFound):
            claim = await client.get(CLAIMS, self._names[uid])
            if claim.spec.cluster_ref.uid == uid:
                return claim
        claims = await _claims_of(client, uid)
        if not claims:
            self._names.pop(uid, None)
            return None
        self._names[uid] = claims[0].metadata.name
        return claims[0]

    async def release(self, client: Client, uid: str) -> bool:
        """Give back what the Cluster with this uid holds; True when there is nothing."""
        self._names.pop(uid, None)
        left = False
        for claim in await _claims_of(client, uid):
            metadata = claim.metadata
            with contextlib.suppress(NotFound):
                kept = await client.delete(
                    CLAIMS, metadata.name, uid=metadata.uid, resource_version=metadata.resource_version
                )
                left = left or kept is not None
        return not left


def confirm(claim: AdoptedCluster, identity: str) -> None:
    """Raises a Trouble if this is not the cluster that is claimed: it is never exchanged in silence."""
    if claim.spec.identity != identity:
        raise Trouble(
            Reason.ANOTHER_CLUSTER,
            "The kubeconfig leads to another cluster than the one that this Cluster was made with; what was given out "
            "for that one cannot be moved. Put a kubeconfig of the former cluster there, or make a new Cluster for "
            "this one.",
        )


def claim_name(identity: str) -> str:
    return name_uuid(identity)


def _claim(holder: Holder, identity: str) -> AdoptedCluster:
    metadata = Metadata(name=claim_name(identity), labels={HOLDER_LABEL: holder.uid})
    return AdoptedCluster(metadata=metadata, spec=AdoptedClusterSpec(identity=identity, cluster_ref=holder))


async def _claimed(client: Client, wanted: AdoptedCluster) -> AdoptedCluster:
    document = as_document(wanted)
    try:
        return await client.create(CLAIMS, document)
    except AlreadyExists:
        there = await client.get(CLAIMS, wanted.metadata.name)
    if there.spec.cluster_ref.uid == wanted.spec.cluster_ref.uid:
        return there
    if not await _is_stale(client, there):
        raise Occupied(there)
    # Of two who find it stale, one is told that it was changed meanwhile.
    document["metadata"]["resourceVersion"] = there.metadata.resource_version
    return await client.replace(CLAIMS, document)


async def _is_stale(client: Client, claim: AdoptedCluster) -> bool:
    """Whether its Cluster is gone: on the server's word, now."""
    holder = claim.spec.cluster_ref
    try:
        found = await client.get(metadata_of(typed(Cluster)), holder.name, namespace=holder.namespace)
    except NotFound:
        return True
    return found.metadata.uid != holder.uid


async def _claims_of(client: Client, uid: str) -> list[AdoptedCluster]:
    """Nearly always one or none."""
    found = (await client.list(CLAIMS, label_selector=f"{HOLDER_LABEL}={uid}")).items
    return [one for one in found if one.spec.cluster_ref.uid == uid]
