"""A request that goes: its provider revokes what it granted, and lets it go. What we do is see to it that this happens.

Upstream's providers act on a request in deletion only when its status speaks of its present generation. And where the
cluster and everything of its provider are gone, nobody is left to remove the finalizer of a grant: then we do.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.access.lifetimes import timestamp
from mooring.access.plan import leaving_answer
from mooring.access.reporting import Reporter
from mooring.access.seen import PROVIDER, Seen
from mooring.access.status import status_of
from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import GRANT_FINALIZER, PROVIDER_LABEL
from mooring.api.providers import ClusterProvider
from mooring.api.requests import ClusterRequest
from mooring.entry.policies import cluster_named, request_named
from mooring.kube import ObjectKey, Resource, typed
from mooring.kube.errors import BadAnswer, InvalidName, NotFound
from mooring.runtime import Manager, Writer, without_finalizer


class Leaving:
    """What is done for a request in deletion."""

    def __init__(self, manager: Manager, seen: Seen, reporter: Reporter) -> None:
        self._seen = seen
        self._clock = manager.clock
        self._client = manager.client
        self._access = Writer(manager.client, typed(AccessRequest), seen.access)
        self._reporter = reporter

    async def leave(self, request: AccessRequest) -> None:
        if GRANT_FINALIZER in request.metadata.finalizers and await self._is_abandoned(request):
            await self._free(request)
            return
        answer = leaving_answer(request, labelled_for=self._seen.profile_labelled(request))
        if answer is not None:
            status = status_of(request, answer, now=timestamp(self._clock.now()))
            await self._access.save(request, msgspec.structs.replace(request, status=status), guarded=True)

    async def _free(self, request: AccessRequest) -> None:
        finalizers = without_finalizer(request.metadata.finalizers, GRANT_FINALIZER)
        metadata = msgspec.structs.replace(request.metadata, finalizers=finalizers)
        await self._access.save(request, msgspec.structs.replace(request, metadata=metadata), guarded=True)
        self._reporter.freed(request)

    async def _is_abandoned(self, request: AccessRequest) -> bool:
        """Whether there is nothing to revoke, and nobody to do it. What the stores still have need not be asked for."""
        provider = request.metadata.labels.get(PROVIDER_LABEL, "")
        if self._seen.profiles.keys_by(PROVIDER, provider) or ObjectKey("", provider) in self._seen.providers:
            return False
        return await self._has_no_cluster(request) and (not provider or await self._has_no_provider(provider))

    async def _has_no_cluster(self, request: AccessRequest) -> bool:
        place, asked = cluster_named(request), request_named(request)
        if place is not None:
            return place not in self._seen.clusters and await self._is_gone(typed(Cluster), place)
        return asked is None or (asked not in self._seen.requests and await self._is_gone(typed(ClusterRequest), asked))

    async def _has_no_provider(self, name: str) -> bool:
        if not await self._is_gone(typed(ClusterProvider), ObjectKey("", name)):
            return False
        offers = await self._client.list(typed(ClusterProfile), field_selector=f"spec.providerRef.name={name}")
        return not offers.items

    async def _is_gone(self, resource: Resource[Any], key: ObjectKey) -> bool:
        """Asked of the server: that a store has not got it proves nothing."""
        try:
            await self._client.get(resource, key.name, namespace=key.namespace or None)
        except (NotFound, InvalidName):
            return True
        except BadAnswer:  # it is there, in a form that cannot be read
            return False
        return False
