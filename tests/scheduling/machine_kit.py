"""What the proofs of scheduling share: connections that fail, schedulers that die, and a witness who misses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field

from scheduling_kit import HOME

from mooring.api.access import AccessRequest
from mooring.api.claims import claimants, claims_on
from mooring.api.clusters import Cluster
from mooring.api.kinds import CLUSTERS_GROUP
from mooring.api.marks import WARM_LABEL, claimant_of
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.controlplane.plane import ControlPlane
from mooring.kube import Changed, Client, Connection, Deleted, ObjectKey, Relisted, key_of, typed, watching
from mooring.kube.tls import tls_context
from mooring.runtime import Manager
from mooring.scheduling.controllers import add_scheduling
from mooring.testing.faults import FaultProxy
from mooring.testing.managers import until

SERVED = "test.example/served"  # the finalizer of a provider


@contextlib.asynccontextmanager
async def proxy_before(plane: ControlPlane) -> AsyncIterator[FaultProxy]:
    """A connection to the plane that can be told to fail."""
    context = tls_context(ca=plane.ca, certificate=plane.admin_certificate())
    async with FaultProxy(plane.server, ssl=context) as proxy:
        yield proxy


def ours(request) -> bool:
    """What scheduling writes, but for events: those are told when there is time."""
    return request.group == CLUSTERS_GROUP


class Mortal:
    """A scheduler that can be dropped in the middle of what it does."""

    def __init__(self, connection: Connection) -> None:
        self.manager = Manager(connection, identity=uuid.uuid4().hex)
        add_scheduling(self.manager, home=HOME)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.manager.__aenter__()
        self._task = asyncio.create_task(self.manager.run())
        await until(lambda: self.manager.working or self._task.done(), "the scheduler works")

    async def die(self) -> None:
        """Without a last word: what it was doing is not ended, but dropped."""
        self._task.cancel()
        await asyncio.wait([self._task])
        await self.manager.__aexit__()


@contextlib.asynccontextmanager
async def doomed(connection: Connection) -> AsyncIterator[Manager]:
    """A scheduler that works, and dies at the end."""
    mortal = Mortal(connection)
    await mortal.start()
    try:
        yield mortal.manager
    finally:
        await mortal.die()


@dataclass
class Witness:
    """Sees every version of every cluster, and notes what must never be."""

    seats: int = 0  # of clusters that are shared; 0: any number
    limit: Callable[[Cluster], int] | None = None  # instead, if that depends on the cluster
    wrongs: list[str] = field(default_factory=list)
    versions: int = 0
    most_warm: int = 0  # that were there at a time
    deleted_under: dict[str, ObjectKey] = field(default_factory=dict)  # whose claims were there when deletion began
    _known: dict[ObjectKey, Cluster] = field(default_factory=dict)

    def see(self, event) -> None:
        match event:
            case Relisted():
                for one in event.items:
                    self._version(one)
            case Changed(object=thing):
                self._version(thing)
            case Deleted(object=thing):
                self._known.pop(key_of(thing), None)

    def _version(self, cluster: Cluster) -> None:
        key, before = key_of(cluster), self._known.get(key_of(cluster))
        if before is not None and before.metadata.uid != cluster.metadata.uid:
            before = None
        self._known[key] = cluster
        self.versions += 1
        held = set(claimants(cluster.metadata))
        fresh = held - (set() if before is None else set(claimants(before.metadata)))
        seats = 1 if cluster.spec.tenancy == "Exclusive" else self.limit(cluster) if self.limit else self.seats
        if seats and fresh and len(held) > seats:
            self.wrongs.append(f"{key} has {seats} seats and got {len(held)} claims")
        if fresh and before is not None and cluster.metadata.deleting:
            self.wrongs.append(f"{key} was being deleted and got the claims {fresh}")
        if cluster.metadata.deleting and (before is None or not before.metadata.deleting):
            self.deleted_under |= dict.fromkeys(held, key)
        warm = [one for one in self._known.values() if WARM_LABEL in one.metadata.labels and not one.metadata.deleting]
        self.most_warm = max(self.most_warm, len(warm))
        self.wrongs += [f"{key}: {clash}" for clash in clashing_prefixes(cluster)]

    @contextlib.asynccontextmanager
    async def watching(self, client: Client) -> AsyncIterator[Witness]:
        listed = asyncio.Event()

        async def look() -> None:
            async with contextlib.aclosing(watching(client, typed(Cluster))) as events:
                async for event in events:
                    self.see(event)
                    listed.set()

        task = asyncio.create_task(look())
        try:
            await until(lambda: listed.is_set() or task.done(), "the witness looks")
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])


async def in_turn(jobs) -> None:
    """Do them all, some at a time."""
    slots = asyncio.Semaphore(32)

    async def one(job):
        async with slots:
            await job

    await asyncio.gather(*map(one, jobs))


async def until_all_granted(world, count: int) -> None:
    async def missing():
        phases = Counter(one.status.phase if one.status else "" for one in await world.all(ClusterRequest))
        return {phase: many for phase, many in phases.items() if phase != "Granted"} or count - phases["Granted"]

    async def done():
        return not await missing()

    async def seen():
        return f"all {count} are granted; still {await missing()}"

    await until(done, seen)


def clashing_prefixes(cluster: Cluster) -> list[str]:
    prefixes = [claim.prefix for claim in claims_on(cluster.metadata) if claim.prefix]
    return [f"{a} begins with {b}" for a in prefixes for b in prefixes if a is not b and a.startswith(b)]


def without(finalizers: Iterable[str], mark: str) -> list[str]:
    return [one for one in finalizers if one != mark]


@contextlib.asynccontextmanager
async def obliging_provider(world) -> AsyncIterator[None]:
    """Lets clusters and access go as soon as nobody else holds what is being deleted."""

    async def oblige() -> None:
        while True:
            for kind in (Cluster, AccessRequest):
                for one in await world.all(kind):
                    claimed = any(claimant_of(mark) for mark in one.metadata.finalizers)
                    if one.metadata.deleting and SERVED in one.metadata.finalizers and not claimed:
                        body = {"metadata": {"finalizers": without(one.metadata.finalizers, SERVED)}}
                        body["metadata"]["resourceVersion"] = one.metadata.resource_version
                        with contextlib.suppress(Exception):  # somebody was faster: look again
                            await world.patch(kind, one.metadata.name, body, namespace=one.metadata.namespace)
            await asyncio.sleep(0.02)

    task = asyncio.create_task(oblige())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_nothing_is_left(world, *, but: Iterable[ObjectKey] = (), grants: bool = True) -> None:
    """No requests, no Grants, no claims; and no clusters, but these.

    Grants go with their requests, by the garbage collector of the cluster, which takes its time if they are many;
    without ``grants`` it is enough that each has an owner.
    """
    kept = set(but)

    async def left() -> list[str]:
        found = [f"request {key_of(one)}" for one in await world.all(ClusterRequest)]
        there = await world.all(ClusterRequestGrant)
        found += [f"Grant {key_of(one)}" for one in there if grants or not one.metadata.owner_references]
        for one in await world.all(Cluster):
            if key_of(one) not in kept or claimants(one.metadata):
                found.append(f"cluster {key_of(one)} with {one.metadata.finalizers}")
        return found

    async def nothing() -> bool:
        return not await left()

    async def seen() -> str:
        return f"nothing is left; there is {await left()}"

    await until(nothing, seen)
