"""Reading what is there for `mooring.inventory`, and deleting clusters that nobody holds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.claims import Claim, claims_on
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.kinds import Document, Kind
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, PurposeSpec
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.api.texts import printable
from mooring.app.explaining import listed, listed_plainly, named
from mooring.app.settings import SettingError
from mooring.entry.entrants import ENTRANT_LABEL
from mooring.inventory import ClusterPage, Entry, ProviderRow, Surroundings, cluster_page, entry_of, provider_rows
from mooring.kube import Bare, Client, ObjectKey, key_of, metadata_of, typed, untyped
from mooring.kube.errors import Conflict, Forbidden, Invalid, NotFound
from mooring.runtime.recorder import EVENTS
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION, Configuration

K = TypeVar("K", bound=Kind)

CLUSTERS: Final = typed(Cluster)
_SECRETS: Final = untyped(plural="secrets", kind="Secret")
_ATTEMPTS: Final = 10
_NAMED_AT_MOST: Final = 10


async def readable(client: Client, kind: type[K]) -> list[K] | None:
    """All objects of a kind; None if whoever asks may not read them."""
    try:
        return await listed(client, kind)
    except Forbidden:
        return None


async def known_purposes(
    client: Client, configuration: Configuration = DEFAULT_CONFIGURATION
) -> Mapping[str, PurposeSpec]:
    """The purposes by name: the objects, and those of the configuration that no object speaks over."""
    own = {one.metadata.name: one.spec for one in await readable(client, Purpose) or ()}
    return {**configuration.purposes, **own}


# -- clusters -------------------------------------------------------------------------------------------------------


async def clusters(
    client: Client, namespace: str | None, *, purpose: str | None = None, profile: str | None = None
) -> list[Document]:
    """The clusters of a namespace, or of all, that are for this purpose and of this profile."""

    def wanted(document: Document) -> bool:
        spec = document.get("spec") or {}
        return (purpose is None or purpose in spec.get("purposes", ())) and profile in (None, spec.get("profile"))

    return [one for one in await listed_plainly(client, Cluster, namespace) if wanted(one)]


async def described(
    client: Client, key: ObjectKey, configuration: Configuration = DEFAULT_CONFIGURATION
) -> ClusterPage:
    """Everything about a cluster that whoever asks may read."""
    cluster = await named(client, Cluster, key, word="cluster")
    purposes, requests, grants, access, events = await asyncio.gather(
        known_purposes(client, configuration),
        readable(client, ClusterRequest),
        readable(client, ClusterRequestGrant),
        readable(client, AccessRequest),
        _events_of(client, cluster),
    )
    around = Surroundings(purposes=purposes, requests=requests, grants=grants, access=access, events=events)
    return cluster_page(cluster, around)


async def _events_of(client: Client, cluster: Cluster) -> Sequence[Document] | None:
    metadata = cluster.metadata
    try:
        listing = await client.list(
            EVENTS, namespace=metadata.namespace, field_selector=f"regarding.uid={metadata.uid}"
        )
    except Forbidden:
        return None
    return listing.items


async def deletable(client: Client, key: ObjectKey) -> Cluster:
    """The cluster, if nobody holds it; one that is being deleted already is only left to wait for."""
    cluster = await named(client, Cluster, key, word="cluster")
    if not cluster.metadata.deleting:
        _refuse_if_held(cluster)
    return cluster


async def delete(client: Client, key: ObjectKey, uid: str) -> str:
    """Delete the cluster if it is still this one and nobody holds it; its uid if it stays for a while, else nothing.

    A request that takes a seat in between wins: the server refuses a deletion that was decided on an older state.
    """
    for attempt in range(_ATTEMPTS):
        try:
            cluster = await client.get(CLUSTERS, key.name, namespace=key.namespace)
        except NotFound:
            return ""
        if cluster.metadata.uid != uid:
            return ""  # gone; this is another one of the same name
        if cluster.metadata.deleting:
            return uid
        _refuse_if_held(cluster)
        revision = cluster.metadata.resource_version
        try:
            left = await client.delete(CLUSTERS, key.name, namespace=key.namespace, uid=uid, resource_version=revision)
        except NotFound:
            return ""
        except Conflict:
            if attempt + 1 == _ATTEMPTS:
                raise
            continue
        except (Forbidden, Invalid) as error:
            # Policies have their reasons; those of the platform's own cluster are told so.
            raise SettingError(f"The server refused to delete the cluster {key}: {printable(error.message)}") from None
        return "" if left is None else left.metadata.uid
    raise AssertionError("unreachable")  # pragma: no cover


def _refuse_if_held(cluster: Cluster) -> None:
    claims = claims_on(cluster.metadata)
    if not claims:
        return
    count = f"{len(claims)} requests hold" if len(claims) > 1 else "a request holds"
    more = [f"and {len(claims) - _NAMED_AT_MOST} more"] if len(claims) > _NAMED_AT_MOST else []
    lines = [
        f"The cluster {key_of(cluster)} is not deleted: {count} it, and would keep it.",
        *map(_holder, claims[:_NAMED_AT_MOST]),
        *more,
    ]
    raise SettingError("\n  ".join(map(printable, lines)))


def _holder(claim: Claim) -> str:
    if not claim.signed:
        return f"the request with the uid {claim.uid}: look for it with 'mooring request list -A -o yaml'"
    return f"{claim.namespace}/{claim.name}: 'mooring request delete {claim.name} -n {claim.namespace}' gives it back"


def standing(cluster: Cluster) -> str:
    """What a cluster that is being deleted waits for, in one line."""
    finalizers = ", ".join(cluster.metadata.finalizers)
    phase = cluster.status.phase if cluster.status is not None else ""
    if not cluster.metadata.deleting:
        return phase or "not deleted yet"
    return f"Terminating{f': waits for {finalizers}' if finalizers else ''}"


# -- offers ---------------------------------------------------------------------------------------------------------


async def profiles(client: Client) -> tuple[list[Document], list[Cluster] | None]:
    """All profiles, and the clusters that were made by them."""
    return await asyncio.gather(listed_plainly(client, ClusterProfile), readable(client, Cluster))


async def providers(client: Client) -> list[ProviderRow]:
    """All providers, declared or not."""
    declared, offered, made = await asyncio.gather(
        listed(client, ClusterProvider), listed(client, ClusterProfile), readable(client, Cluster)
    )
    return provider_rows(declared, offered, made)


# -- access ---------------------------------------------------------------------------------------------------------


async def entries(client: Client, namespace: str | None, *, cluster: str = "") -> list[tuple[Document, Entry | None]]:
    """The access requests of a namespace, or of all, each with its row; those that cannot be read have none."""
    documents, secrets = await asyncio.gather(
        listed_plainly(client, AccessRequest, namespace), _credentials(client, namespace)
    )
    found: list[tuple[Document, Entry | None]] = []
    for document in documents:
        try:
            request = msgspec.convert(document, AccessRequest)
        except msgspec.ValidationError:
            found.append((document, None))
            continue
        reference = request.status.secret_ref if request.status is not None else None
        key = ObjectKey(request.metadata.namespace, reference.name) if reference is not None else None
        entry = entry_of(request, secrets.get(key) if key is not None else None)
        if not cluster or entry.cluster in (cluster, f"{request.metadata.namespace}/{cluster}"):
            found.append((document, entry))
    return found


async def _credentials(client: Client, namespace: str | None) -> Mapping[ObjectKey, Bare]:
    """The Secrets with credentials, without what is in them; none if whoever asks may not read them."""
    try:
        listed = await client.list(metadata_of(_SECRETS), namespace=namespace, label_selector=ENTRANT_LABEL)
    except Forbidden:
        return {}
    return {key_of(one): one for one in listed.items}
