"""A request that goes: access first, then its claim (and with the last claim the cluster), then its finalizer.

Each step can be repeated, so it does not matter where the last run was stopped. What a request waits for stands in its
status meanwhile.
"""

from __future__ import annotations

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, Tenancy
from mooring.api.marks import GRANT_FINALIZER, REQUEST_FINALIZER
from mooring.api.requests import ClusterRequest, RequestPhase
from mooring.entry.policies import judged
from mooring.kube import ObjectKey, key_of, typed
from mooring.kube.errors import NotFound
from mooring.runtime import Manager, Outcome, Writer, without_finalizer
from mooring.runtime.clock import timestamp
from mooring.runtime.predicates import is_ignored
from mooring.scheduling.desk import Desk
from mooring.scheduling.lifetimes import Life
from mooring.scheduling.reasons import Reason
from mooring.scheduling.seen import Seen
from mooring.scheduling.standing import belongs_to
from mooring.scheduling.status import Answer, status_of


class Leaving:
    """What is done for a request in deletion."""

    def __init__(self, manager: Manager, seen: Seen, desk: Desk) -> None:
        self._seen = seen
        self._desk = desk
        self._clock = manager.clock
        self._requests = Writer(manager.client, typed(ClusterRequest), seen.requests)
        self._access = Writer(manager.client, typed(AccessRequest), seen.access)

    async def leave(self, request: ClusterRequest) -> Outcome:
        if REQUEST_FINALIZER not in request.metadata.finalizers:
            return Outcome.await_change()  # others may still hold it; we do not
        if await self._access_remains(request):
            return Outcome.await_change()
        uid = request.metadata.uid
        for key in self._homes(request):
            await self._desk.leave(key, uid)
        waits_for = self._ending_cluster(request)
        if waits_for is not None:
            # Noted in the same step in which it was seen to be there, so that its end is not missed.
            self._seen.leaving.setdefault(waits_for, set()).add(key_of(request))
            await self._tell(request, Reason.WAITING_FOR_CLUSTER, f"Waiting until the cluster {waits_for} is gone.")
            return Outcome.await_change()
        await self._let_go(request)
        return Outcome.await_change()

    async def _access_remains(self, request: ClusterRequest) -> bool:
        """Have the access go that names this request; whether some is still there."""
        for one in self._seen.access.by("request", key_of(request)):
            if not one.metadata.deleting:
                try:
                    await self._access.delete(one, guarded=False)
                except NotFound:
                    self._seen.access.deleted(one)
        there = self._seen.access.by("request", key_of(request))
        left = sorted(str(key_of(one)) for one in there if self._is_waited_for(one, request))
        if left:
            message = f"Waiting until the access requests {', '.join(left[:10])} are revoked and gone."
            await self._tell(request, Reason.WAITING_FOR_ACCESS, message)
        return bool(left)

    def _is_waited_for(self, access: AccessRequest, request: ClusterRequest) -> bool:
        """Anybody can name this request. What is in another namespace counts only while a door may be open: its
        provider holds it, is not told to leave it alone, and may have let it in."""
        own, place = access.metadata, access.spec.cluster_ref
        if own.namespace == request.metadata.namespace:
            return True
        if GRANT_FINALIZER not in own.finalizers or place is None or is_ignored(access):
            return False
        cluster = self._seen.clusters.get(ObjectKey(place.namespace or own.namespace, place.name))
        profile = None if cluster is None else self._seen.profiles.get(ObjectKey("", cluster.spec.profile))
        if cluster is None or profile is None:
            return False
        return judged(access, cluster, profile, holds=True).allowed

    def _homes(self, request: ClusterRequest) -> list[ObjectKey]:
        """The clusters to leave: those with its claim, and its home. Somebody may have torn the claim off there."""
        held = [key_of(one) for one in self._seen.held_by(request.metadata.uid)]
        home = self._home(request)
        return held if home is None or home in held or home not in self._seen.clusters else [*held, home]

    def _home(self, request: ClusterRequest) -> ObjectKey | None:
        """The cluster that the request was granted."""
        grant = self._seen.grants.get(key_of(request))
        reference = grant.spec.cluster_ref if grant is not None and belongs_to(grant, request) else None
        if reference is None and request.status is not None:
            reference = request.status.cluster
        return None if reference is None else ObjectKey(reference.namespace, reference.name)

    def _ending_cluster(self, request: ClusterRequest) -> ObjectKey | None:
        """The cluster whose end the request waits for: one that is ending, if it is to wait at all."""
        home = self._home(request)
        cluster = None if home is None else self._seen.clusters.get(home)
        if cluster is None or not cluster.metadata.deleting or not self._waits(request, cluster):
            return None
        return home

    def _waits(self, request: ClusterRequest, cluster: Cluster) -> bool:
        wanted = request.spec.wait_for_cluster_deletion
        return cluster.spec.tenancy is Tenancy.EXCLUSIVE if wanted is None else wanted

    async def _let_go(self, request: ClusterRequest) -> None:
        current = self._seen.requests.get(key_of(request)) or request
        finalizers = without_finalizer(current.metadata.finalizers, REQUEST_FINALIZER)
        metadata = msgspec.structs.replace(current.metadata, finalizers=finalizers)
        try:
            await self._requests.save(current, msgspec.structs.replace(current, metadata=metadata), guarded=True)
        except NotFound:
            self._seen.requests.deleted(current)

    async def _tell(self, request: ClusterRequest, reason: Reason, message: str) -> None:
        told = "" if request.status is None else request.status.phase
        phase = RequestPhase(told) if told in set(RequestPhase) else RequestPhase.PENDING
        answer = Answer(phase=phase, reason=reason, message=message)
        status = status_of(request, answer, cluster=None, life=Life(), now=timestamp(self._clock.now()))
        if status is not request.status:
            await self._requests.save(request, msgspec.structs.replace(request, status=status))
