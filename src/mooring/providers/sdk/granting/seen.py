"""What a provider sees of access: requests, the Secrets that it has written, and who holds which cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from mooring.api.access import AccessRequest
from mooring.api.claims import claims_on
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import PROVIDER_LABEL
from mooring.api.requests import ClusterRequest
from mooring.entry.creators import may_enter
from mooring.entry.entrants import ENTRANT_LABEL, REQUEST_ANNOTATION, Entrant
from mooring.entry.opening import Part
from mooring.entry.policies import Verdict, cluster_named, judged, request_named
from mooring.kube import Bare, Change, Object, ObjectKey, key_of, metadata_of, typed, untyped
from mooring.kube.errors import InvalidName, NotFound
from mooring.providers.sdk.seen import Seen
from mooring.runtime import Manager, Store

_PLAIN: Final = untyped(plural="secrets", kind="Secret")
# What is written to them is ours; what comes back of it is looked at no further than the metadata.
SECRETS: Final = replace(metadata_of(_PLAIN), metadata_only=False)
_NAMESPACES: Final = untyped(plural="namespaces", kind="Namespace", namespaced=False)
_OLDEST: Final = "kube-system"  # the namespace that is as old as its cluster: its uid tells clusters apart


class AccessSeen:
    """Made once for each instance."""

    def __init__(self, manager: Manager, sdk: Seen) -> None:
        self.sdk = sdk
        self.clusters = sdk.clusters
        self._client = manager.client
        self._installation = ""
        # All of them: one whose labels somebody took away may still have something of ours in a cluster.
        self.requests: Store[AccessRequest] = manager.store(
            typed(AccessRequest), indexes={"cluster": by_cluster, "uid": by_uid}
        )
        selector = f"{PROVIDER_LABEL}={sdk.name},{ENTRANT_LABEL}"
        self.secrets: Store[Bare] = manager.store(metadata_of(_PLAIN), label_selector=selector)
        self.own_revisions: dict[str, str] = {}  # by the Secret's uid: as we wrote it last
        self.touched: set[str] = set()  # uids of requests whose Secrets somebody else has changed
        self.secrets.subscribe(self._note_touched, cleared=self._begin_anew)

    def _note_touched(self, change: Change[Bare]) -> None:
        before, after = change.before, change.after
        if before is not None and after is None:
            self.own_revisions.pop(before.metadata.uid, None)
        elif before is not None and after is not None:
            metadata = after.metadata
            if self.own_revisions.get(metadata.uid) != metadata.resource_version:
                self.touched.add(metadata.labels.get(ENTRANT_LABEL, ""))

    def _begin_anew(self) -> None:
        self.own_revisions.clear()
        self.touched.clear()

    async def installation(self) -> str:
        """Which platform this is."""
        if not self._installation:
            self._installation = str((await self._client.get(_NAMESPACES, _OLDEST))["metadata"]["uid"])
        return self._installation

    async def entrant(self, request: AccessRequest) -> Entrant:
        """The request, as it is known in clusters."""
        return Entrant(
            installation=await self.installation(),
            environment=self.sdk.environment,
            provider=self.sdk.name,
            key=key_of(request),
            uid=request.metadata.uid,
        )

    def by_cluster(self, cluster: ObjectKey) -> list[AccessRequest]:
        return self.requests.by("cluster", cluster)

    def of_uid(self, uid: str) -> list[AccessRequest]:
        return self.requests.by("uid", uid)

    async def judged(self, request: AccessRequest, cluster: Cluster, profile: ClusterProfile) -> Verdict:
        """What the policy of the cluster says. With ``ask_creator``, :meth:`creators_say` the rest."""
        holds = await self._holds(request_named(request), cluster)
        return judged(request, cluster, profile, holds=holds)

    async def creators_say(self, request: AccessRequest, cluster: Cluster) -> Verdict:
        """Whether the creator of a request may enter, as of now: rights change without a word to us."""
        return await may_enter(self._client, request, key_of(cluster))

    async def _holds(self, request: ObjectKey | None, cluster: Cluster) -> bool | None:
        """Whether a ClusterRequest holds the cluster, where the cluster does not say whose its claims are.

        None if all claims are signed: then the cluster itself tells.
        """
        unsigned = {claim.uid for claim in claims_on(cluster.metadata) if not claim.signed}
        if request is None or not unsigned:
            return None
        try:
            found = await self._client.get(typed(ClusterRequest), request.name, namespace=request.namespace)
        except NotFound:
            return False
        return found.metadata.uid in unsigned

    async def is_forgotten(self, uid: str, key: ObjectKey) -> bool:
        """Whether the request of this uid is gone: asked of the server, because absence in a store is no evidence."""
        try:
            found = await self._client.get(typed(AccessRequest), key.name, namespace=key.namespace)
        except (NotFound, InvalidName):  # the note may hold anything
            return True
        return found.metadata.uid != uid

    async def is_gone(self, cluster: ObjectKey, uid: str = "") -> bool:
        """Whether there is no such Cluster any more: asked likewise."""
        try:
            found = await self._client.get(typed(Cluster), cluster.name, namespace=cluster.namespace)
        except NotFound:
            return True
        return bool(uid) and found.metadata.uid != uid


def by_cluster(request: AccessRequest) -> Iterable[ObjectKey]:
    named = cluster_named(request)
    return () if named is None else (named,)


def by_uid(request: AccessRequest) -> Iterable[str]:
    return (request.metadata.uid,)


def entrant_in(one: Object) -> str:
    """The uid of the request that something in a cluster is for, as its marks tell it."""
    return str((one["metadata"].get("labels") or {}).get(ENTRANT_LABEL, ""))


def request_in(one: Object) -> ObjectKey | None:
    """The key of that request, as noted beside."""
    noted = (one["metadata"].get("annotations") or {}).get(REQUEST_ANNOTATION, "")
    namespace, _, name = noted.partition("/")
    return ObjectKey(namespace, name) if namespace and name else None


def by_entrant(parts: Mapping[Part, Object]) -> dict[str, dict[Part, Object]]:
    doors: dict[str, dict[Part, Object]] = defaultdict(dict)
    for part, one in parts.items():
        doors[entrant_in(one)][part] = one
    return doors
