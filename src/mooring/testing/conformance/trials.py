"""One check at work: what it may do on the bench, and how long it waits."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mooring.kube import Client, MergePatch, Object, ObjectKey, Resource
from mooring.kube.errors import Conflict, NotFound
from mooring.testing.builders import cluster as cluster_object
from mooring.testing.conformance.asking import take_back
from mooring.testing.conformance.bench import Bench
from mooring.testing.conformance.checks import Unmet
from mooring.testing.conformance.instances import Instance
from mooring.testing.conformance.trails import CLUSTERS, Trail, finalizers_of, in_short, is_ready, revision

T = TypeVar("T")

_ASK_AGAIN = 0.1  # seconds, for what is not watched
numbers = itertools.count(1)

NEVER_READY = "Its status, its events and the provider's log say what it waits for."


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The bench, as one check has it."""

    bench: Bench
    check: str
    patience: float  # of this check
    usual: float  # of most, and so of evidence that several checks share
    clusters: list[Trail] = field(default_factory=list)
    accesses: list[ObjectKey] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return self.bench.client

    async def once(self, what: str, make: Callable[[Trial], Awaitable[T]]) -> T:
        """Evidence that several checks share; it outlives the one that asked first, whose patience does not count."""
        shared = Trial(bench=self.bench, check=what, patience=self.usual, usual=self.usual)
        made: T = await self.bench.once(what, lambda: make(shared))
        return made

    # -- Clusters -----------------------------------------------------------------------------------------------

    async def profile(self) -> str:
        """The name of a profile of the provider."""
        found = await self.bench.profiles(self.bench.first)
        if not found:
            raise Unmet(expected="a ClusterProfile of the provider", seen="none")
        name: str = found[0]["metadata"]["name"]
        return name

    async def cluster(
        self,
        *,
        profile: str | None = None,
        own: bool = True,
        namespace: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Trail:
        """A new Cluster, of the provider's profile unless told otherwise; it is deleted when the check is over."""
        name = f"{re.sub('[^a-z0-9]+', '-', self.check)[:50]}-{next(numbers)}"
        key = ObjectKey(namespace or self.bench.namespace, name)
        trail = self.bench.trails.follow(key, own=own)
        self.clusters.append(trail)
        what = profile if profile is not None else await self.profile()
        body = cluster_object(name, key.namespace, profile=what, tenancy="Exclusive", purposes=["conformance"], **spec)
        body["metadata"] |= metadata or {}
        await self.client.create(CLUSTERS, body)
        return trail

    async def ready_cluster(self, **given: Any) -> Trail:
        trail = await self.cluster(**given)
        await self.ready(trail)
        return trail

    async def ready(self, trail: Trail) -> Object:
        return await self.sees(trail, is_ready, "it becomes Ready", remedy=NEVER_READY)

    async def gone(self, trail: Trail, remedy: str = "") -> None:
        try:
            await self.until(lambda: trail.gone, f"{trail} to go after its deletion", trail, remedy=remedy)
        except Unmet:
            trail.stuck = True
            raise

    async def delete(self, trail: Trail) -> None:
        with contextlib.suppress(NotFound):
            await self.client.delete(CLUSTERS, trail.key.name, namespace=trail.key.namespace)

    async def patch(self, trail: Trail, body: Mapping[str, Any], *, subresource: str | None = None) -> Object:
        where = trail.key.namespace
        return await self.client.patch(
            CLUSTERS, trail.key.name, MergePatch(body), namespace=where, subresource=subresource
        )

    async def let_go(self, trail: Trail, mark: str) -> None:
        """Take one finalizer off, and no other, whoever writes at the same time."""
        while True:
            there = await self.client.get(CLUSTERS, trail.key.name, namespace=trail.key.namespace)
            left = [one for one in finalizers_of(there) if one != mark]
            with contextlib.suppress(Conflict):
                await self.patch(trail, {"metadata": {"finalizers": left, "resourceVersion": revision(there)}})
                return

    async def barrier(self) -> None:
        """When this is over, the provider has had every occasion to do something wrong with what was there before."""
        trail = await self.ready_cluster()
        await self.delete(trail)
        await self.gone(trail)

    async def clean(self) -> None:
        """Have what this check has made go; nobody waits for that here."""
        for key in self.accesses:
            await take_back(self.client, key)
        for trail in self.clusters:
            await self.delete(trail)

    # -- waiting ------------------------------------------------------------------------------------------------

    async def sees(self, trail: Trail, wanted: Callable[[Object], bool], what: str, *, remedy: str = "") -> Object:
        """The Cluster, once it is as wanted. It cannot become so once it is gone."""

        def ask() -> Object | None:
            if trail.gone:
                raise Unmet(expected=f"{what}: {trail}", seen="it is gone", remedy=remedy)
            return trail.latest if trail.versions and wanted(trail.latest) else None

        return await self.until(ask, f"{what}: {trail}", trail, remedy=remedy)

    async def until(self, ask: Callable[[], T | None], expected: str, trail: Trail, *, remedy: str = "") -> T:
        """The first answer that is something, as the Clusters change."""

        def asked() -> T | None:
            answer = ask()
            if not answer:
                self.all_alive()
            return answer

        try:
            async with asyncio.timeout(self.patience):
                return await self.bench.trails.until(asked)
        except TimeoutError:
            raise self.unmet(expected, in_short(trail.latest), remedy) from None

    async def asks(
        self,
        ask: Callable[[], Awaitable[T | None]],
        expected: str,
        seen: Callable[[], Awaitable[str]],
        remedy: str = "",
    ) -> T:
        """The same for what is not watched."""
        try:
            async with asyncio.timeout(self.patience):
                while not (answer := await ask()):
                    self.all_alive()
                    await asyncio.sleep(_ASK_AGAIN)
                return answer
        except TimeoutError:
            raise self.unmet(expected, await seen(), remedy) from None

    def unmet(self, expected: str, seen: str, remedy: str) -> Unmet:
        """What was waited for in vain; with what the provider itself complains about."""
        for one in self.bench.instances.values():
            if refusal := one.refusal():
                remedy = f"{remedy} It may lack a right; its log says: {refusal}".strip()
                break
        return Unmet(expected=expected, seen=f"after {self.patience:g} s: {seen}", remedy=remedy)

    def all_alive(self) -> None:
        """Waiting for a provider that is dead would be in vain."""
        for one in self.bench.instances.values():
            if one.died:
                raise died(one)

    async def untouched(self, resource: Resource[Object], written: Object, what: str, *, remedy: str) -> None:
        """The object is as we wrote it last; what the provider may have done to it was done before a barrier."""
        metadata = written["metadata"]
        try:
            there = await self.client.get(resource, metadata["name"], namespace=metadata.get("namespace"))
        except NotFound:
            raise Unmet(expected=f"nobody touches {what}", seen="it is gone", remedy=remedy) from None
        if revision(there) != revision(written):
            seen = f"changed: {_difference(written, there)}"
            raise Unmet(expected=f"nobody touches {what}", seen=seen, remedy=remedy)


def died(instance: Instance) -> Unmet:
    return Unmet(
        expected="the provider runs until it is told to stop",
        seen=f"{instance.name} ended by itself with code {instance.code}; its last words: {instance.last_words()}",
        remedy="Whatever it meets, it says so in a status or in its log, and goes on.",
    )


def _difference(before: Object, after: Object) -> str:
    """Which parts of an object are not as they were."""
    parts: Sequence[str] = [name for name in {**before, **after} if name not in ("metadata", "apiVersion", "kind")]
    changed = [name for name in parts if before.get(name) != after.get(name)]
    passing = ("managedFields", "resourceVersion", "generation")
    one, other = before["metadata"], after["metadata"]
    inner = [name for name in {**one, **other} if name not in passing and one.get(name) != other.get(name)]
    return ", ".join([*sorted(changed), *sorted(f"metadata.{name}" for name in inner)]) or "written without a change"
