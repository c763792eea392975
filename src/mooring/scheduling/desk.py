"""The desk of each cluster: where claims are made and given up, one write at a time.

Whoever comes to a desk while a write is under way waits, and the next write carries all who wait. So a cluster with
many takers costs few writes, and our own writes never conflict with each other; with others' writes (a provider, a
second scheduler) they may, and are then tried again on what is true by then.

Guarantees:
    A claim is made only by a write that sets the cluster's resourceVersion, on a cluster that was looked at in just
    that version: it still suits, has a seat, and the prefix is free. Whoever finds no seat gets :class:`SeatLost` and
    plans again.
    The last one out deletes the cluster (if it is to go with its last request) before it gives up its claim, both
    guarded, so that nobody can come in between.

Assumptions: one event loop; stores learn of our writes at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from mooring.api.claims import Claim, claim_on, claimants, prefixes_on, with_claims, without_claims
from mooring.api.clusters import Cluster, Tenancy
from mooring.api.kinds import Metadata, as_document
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, WARM_LABEL
from mooring.api.requests import ClusterRequest
from mooring.kube import Client, KubeError, ObjectKey, key_of, typed
from mooring.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from mooring.runtime import Writer
from mooring.scheduling.asking import Ask, smallest
from mooring.scheduling.drafts import place_of, with_propagated
from mooring.scheduling.plan import has_seat
from mooring.scheduling.prefixes import granted_prefix, is_free
from mooring.scheduling.seen import Seen

_TRIES = 20  # of one write against others' writes, before it is given back to the queue


class SeatLost(Exception):
    """The cluster cannot be had (any more): plan again."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Coming:
    """A request that wants a seat. Without an ask it had one before, and only wants it back."""

    request: ClusterRequest
    ask: Ask | None
    prefix: str | None  # that it was granted already; None: to be chosen
    draft: Cluster | None  # what to make if the cluster is not there
    done: asyncio.Future[Cluster]


@dataclass(eq=False, slots=True)
class _Leaving:
    uid: str
    done: asyncio.Future[Cluster | None]


@dataclass(eq=False, slots=True)
class _Line:
    """Who waits at one desk."""

    coming: list[_Coming] = field(default_factory=list)
    leaving: list[_Leaving] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.coming or self.leaving)

    def all(self) -> list[_Coming | _Leaving]:
        return [*self.coming, *self.leaving]


class Desk:
    """All desks."""

    def __init__(self, client: Client, seen: Seen) -> None:
        self._client = client
        self._seen = seen
        self._clusters = Writer(client, typed(Cluster), seen.clusters)
        self._lines: dict[ObjectKey, _Line] = {}
        self._serving: set[asyncio.Task[None]] = set()

    async def take(self, key: ObjectKey, request: ClusterRequest, ask: Ask) -> Cluster:
        """A seat in a cluster that is there, or that somebody is about to make. Raises SeatLost."""
        return await self._come(key, request, ask=ask, prefix=None, draft=None)

    async def make(self, draft: Cluster, request: ClusterRequest, ask: Ask, *, prefix: str | None = None) -> Cluster:
        """A new cluster with the first seat taken. Raises SeatLost if the name is taken by one that cannot be had."""
        return await self._come(key_of(draft), request, ask=ask, prefix=prefix, draft=draft)

    async def take_back(self, key: ObjectKey, request: ClusterRequest, *, prefix: str | None) -> Cluster:
        """A seat that was granted, and lost by somebody's patch. Raises SeatLost if seat or prefix are not free."""
        return await self._come(key, request, ask=None, prefix=prefix, draft=None)

    async def leave(self, key: ObjectKey, uid: str) -> Cluster | None:
        """Give up a claim; the cluster as it is then, or None if it is gone."""
        done: asyncio.Future[Cluster | None] = asyncio.get_running_loop().create_future()
        self._line(key).leaving.append(_Leaving(uid, done))
        return await done

    async def _come(
        self, key: ObjectKey, request: ClusterRequest, *, ask: Ask | None, prefix: str | None, draft: Cluster | None
    ) -> Cluster:
        done: asyncio.Future[Cluster] = asyncio.get_running_loop().create_future()
        one = _Coming(request=request, ask=ask, prefix=prefix, draft=draft, done=done)
        self._line(key).coming.append(one)
        return await done

    def _line(self, key: ObjectKey) -> _Line:
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line()
            task = asyncio.create_task(self._serve(key, line))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        return line

    async def _serve(self, key: ObjectKey, line: _Line) -> None:
        """Until nobody waits. Those who come while a write is under way are served together by the next."""
        try:
            while line:
                served = _Line(line.coming, line.leaving)
                line.coming, line.leaving = [], []
                await self._serve_these(key, served)
        finally:
            del self._lines[key]
            for one in line.all():
                one.done.cancel()

    async def _serve_these(self, key: ObjectKey, line: _Line) -> None:
        try:
            seated, cluster = await self._write(key, line.coming, {one.uid for one in line.leaving})
        except BaseException as error:
            for one in line.all():
                # Whose draft was refused hears why; the others only wanted to join, and look for something else.
                joins = isinstance(one, _Coming) and one.draft is None and isinstance(error, Invalid | NotFound)
                _fail(one.done, SeatLost(str(error)) if joins else error)
            if not isinstance(error, Exception):
                raise
            return
        for comer in line.coming:
            if cluster is not None and comer in seated:
                _answer(comer.done, cluster)
            else:
                _fail(comer.done, SeatLost(f"no seat in {key}"))
        for leaver in line.leaving:
            _answer(leaver.done, cluster)

    async def _write(
        self, key: ObjectKey, coming: Sequence[_Coming], leaving: set[str]
    ) -> tuple[set[_Coming], Cluster | None]:
        """Bring the cluster to where it should be; who has a seat in it then, and how it is."""
        for _ in range(_TRIES):
            cluster = self._seen.clusters.get(key)
            try:
                if cluster is None:
                    return await self._create(coming)
                return await self._change(cluster, coming, leaving)
            except (Conflict, AlreadyExists, NotFound, Invalid) as error:
                # What we saw is not true any more. An Invalid says so, too: a cluster in deletion takes no finalizer.
                if not await self._look_again(key, cluster, error):
                    raise
        raise KubeError(f"The cluster {key} is changed by others faster than a claim can be written on it.")

    async def _create(self, coming: Sequence[_Coming]) -> tuple[set[_Coming], Cluster | None]:
        draft = next((one.draft for one in coming if one.draft is not None), None)
        if draft is None:
            return set(), None
        seated, metadata = self._seated(draft, coming)
        body = as_document(msgspec.structs.replace(draft, metadata=metadata))
        return seated, await self._clusters.create(body)

    async def _change(
        self, cluster: Cluster, coming: Sequence[_Coming], leaving: set[str]
    ) -> tuple[set[_Coming], Cluster | None]:
        left = msgspec.structs.replace(cluster, metadata=without_claims(cluster.metadata, leaving))
        seated, metadata = self._seated(left, coming)
        wanted = msgspec.structs.replace(cluster, metadata=metadata)
        alone = next((one.request for one in seated if cluster.spec.tenancy is Tenancy.EXCLUSIVE), None)
        if alone is not None:
            wanted = with_propagated(wanted, alone)
        goes = bool(leaving) and goes_without_claims(wanted.metadata)
        if wanted == cluster and not goes:
            return seated, cluster
        if goes:
            await self._clusters.delete(cluster, guarded=True)
            there = self._seen.clusters.get(key_of(cluster))
            if there is None or not there.metadata.deleting:
                return set(), None
            cluster = there
            metadata = without_claims(there.metadata, leaving)
            wanted = msgspec.structs.replace(there, metadata=metadata)
        written = await self._clusters.save(cluster, wanted, guarded=True)
        gone = written.metadata.deleting and not written.metadata.finalizers
        return seated, None if gone else written

    def _seated(self, cluster: Cluster, coming: Sequence[_Coming]) -> tuple[set[_Coming], Metadata]:
        """Who of those who come gets a seat, and the cluster's metadata with their claims."""
        seated: set[_Coming] = set()
        for one in coming:
            claim = self._claim(cluster, one)
            if claim is not None:
                seated.add(one)
                metadata = with_claims(cluster.metadata, [claim])
                if WARM_LABEL in metadata.labels:
                    labels = {name: value for name, value in metadata.labels.items() if name != WARM_LABEL}
                    metadata = msgspec.structs.replace(metadata, labels=labels)
                cluster = msgspec.structs.replace(cluster, metadata=metadata)
        return seated, cluster.metadata

    def _claim(self, cluster: Cluster, one: _Coming) -> Claim | None:
        """The claim of a request on the cluster as it is; None if there is no seat for it."""
        own, metadata = one.request.metadata, cluster.metadata
        known = claim_on(metadata, own.uid)
        prefixes = (None, "" if known is None else known.prefix)
        if known is not None and (known.namespace, known.name) == (own.namespace, own.name) and one.prefix in prefixes:
            return known
        if metadata.deleting:
            return known
        prefix, taken = one.prefix, prefixes_on(metadata, but=own.uid)
        if prefix is None:
            shared = cluster.spec.tenancy is Tenancy.SHARED
            prefix = granted_prefix(one.request.spec.prefix, taken, uid=own.uid) if shared else ""
        elif prefix and not is_free(prefix, taken):
            return None
        if known is None and not self._has_seat(cluster, one):
            return None
        return Claim(uid=own.uid, namespace=own.namespace, name=own.name, prefix=prefix)

    def _has_seat(self, cluster: Cluster, one: _Coming) -> bool:
        taken = len(claimants(cluster.metadata))
        if one.draft is not None and not taken:
            # Made for it, or by others just so; whether anything else of this name will do is for a new plan to say.
            return not cluster.metadata.uid or cluster.spec == one.draft.spec
        if cluster.spec.tenancy is Tenancy.EXCLUSIVE:
            return not taken and (one.ask is None or one.ask.dedicated)
        catalogue, sort = self._seen.catalogue, self._seen.fleet.sorted(cluster)
        if one.ask is not None and sort is not None:
            nobodys = not taken and place_of(one.request, one.ask) == key_of(cluster)  # selectors do not matter then
            return nobodys or has_seat(one.ask, sort, catalogue, taken=taken)
        seats = smallest(catalogue.purposes[p].tenancy_count for p in cluster.spec.purposes if p in catalogue.purposes)
        return not seats or taken < seats

    async def _look_again(self, key: ObjectKey, tried: Cluster | None, error: KubeError) -> bool:
        """Tell the store how the cluster is by now; False if that does not explain what became of what was tried."""
        try:
            there = await self._client.get(typed(Cluster), key.name, namespace=key.namespace)
        except NotFound:
            if tried is not None:
                self._seen.clusters.deleted(tried)
            return tried is not None or isinstance(error, AlreadyExists)
        self._seen.clusters.wrote(there)
        changed = tried is None or tried.metadata.resource_version != there.metadata.resource_version
        return changed or not isinstance(error, Invalid | NotFound)


def goes_without_claims(metadata: Metadata) -> bool:
    """Whether the cluster, left by somebody and as it would be then, is to be deleted: nobody else is there."""
    return (
        not claimants(metadata)
        and not metadata.deleting
        and WARM_LABEL not in metadata.labels
        and metadata.labels.get(DELETE_WITHOUT_REQUESTS_LABEL) == "true"
    )


def _answer(done: asyncio.Future[Cluster] | asyncio.Future[Cluster | None], cluster: Cluster | None) -> None:
    if not done.done():
        done.set_result(cluster)  # type: ignore[arg-type]


def _fail(done: asyncio.Future[Cluster] | asyncio.Future[Cluster | None], error: BaseException) -> None:
    if done.done():
        return
    if isinstance(error, asyncio.CancelledError):
        done.cancel()
    else:
        done.set_exception(error)
