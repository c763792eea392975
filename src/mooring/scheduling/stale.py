"""Claims that nobody stands behind any more: their requests were removed by force, or restored under another uid.

A claim is given up only on evidence: the server itself says that there is no such request, or that another one has its
name by now. That our cache does not know a request is the occasion to ask, and never the evidence.
"""

from __future__ import annotations

import structlog

from mooring.api.claims import Claim, claims_on
from mooring.api.requests import ClusterRequest
from mooring.kube import ObjectKey, metadata_of, typed
from mooring.kube.errors import NotFound
from mooring.runtime import Manager, Outcome
from mooring.scheduling.desk import Desk
from mooring.scheduling.seen import Seen

log = structlog.get_logger(__name__)

# Only who they are is needed, not what they say.
_REQUESTS = metadata_of(typed(ClusterRequest))


class StaleClaims:
    """Looks through the claims of one cluster."""

    def __init__(self, manager: Manager, seen: Seen, desk: Desk) -> None:
        self._client = manager.client
        self._seen = seen
        self._desk = desk

    async def reconcile(self, key: ObjectKey) -> Outcome:
        cluster = self._seen.clusters.get(key)
        if cluster is None:
            return Outcome.await_change()
        for claim in claims_on(cluster.metadata):
            if not self._is_known(claim) and await self._is_stale(claim):
                log.warning("a claim has no request any more and is given up", claim=claim.uid, cluster=str(key))
                await self._desk.leave(key, claim.uid)
        return Outcome.await_change()

    def _is_known(self, claim: Claim) -> bool:
        return bool(self._seen.requests.keys_by("uid", claim.uid))

    async def _is_stale(self, claim: Claim) -> bool:
        if not claim.signed:
            there = await self._client.list(_REQUESTS)
            return all(one.metadata.uid != claim.uid for one in there.items)
        try:
            request = await self._client.get(_REQUESTS, claim.name, namespace=claim.namespace)
        except NotFound:
            return True
        return request.metadata.uid != claim.uid
