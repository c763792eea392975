"""A tree that is told again when something of it changes: by watches, never by asking over and over.

A watch only says that something is new. What the tree looks like then is read as it was the first time: events of
different kinds come in any order, and a tree of halves would be shown otherwise. Many changes at once are one reading.

Guarantee: after the last change, the last tree that is told has it. A watch begins with a list of its own, which counts
as a change, so that nothing is lost between the reading and the watch.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Final

from mooring.clusterctl.describe.asdata import as_data
from mooring.clusterctl.describe.contracts import Contract
from mooring.clusterctl.describe.discovery import (
    BINDINGS,
    CLUSTERS,
    DEPLOYMENTS,
    HEALTH_CHECKS,
    MACHINES,
    POOLS,
    SETS,
    Discovery,
)
from mooring.clusterctl.describe.seen import CLUSTER_LABEL, Kind, Seen
from mooring.clusterctl.describe.tree import Tree, grow
from mooring.kube import Interrupted, Resource, metadata_of, watching
from mooring.kube.errors import ApiError, UnknownKind

_TOGETHER: Final = 0.2  # seconds in which changes are gathered


async def watched(discovery: Discovery) -> AsyncGenerator[Tree, None]:
    """The tree, and again after each change of it. Ends with `NotHere` when the cluster is gone."""
    changed = asyncio.Event()
    told: dict[str, Any] | None = None
    async with contextlib.AsyncExitStack() as stack:
        watches = await stack.enter_async_context(_Watches(discovery, changed))
        while True:
            changed.clear()
            seen = await discovery.read()
            watches.follow(seen)
            tree = grow(seen, discovery.options)
            if (now := as_data(tree)) != told:
                told = now
                yield tree
            await watches.next_change()
            await asyncio.sleep(_TOGETHER)


class _Watches:
    """One watch per kind; all end together."""

    def __init__(self, discovery: Discovery, changed: asyncio.Event) -> None:
        self._discovery, self._changed = discovery, changed
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self._failure: BaseException | None = None

    async def __aenter__(self) -> _Watches:
        options, name = self._discovery.options, self._discovery.name
        mine = f"{CLUSTER_LABEL}={name}"
        self._begin(CLUSTERS, fields=f"metadata.name={name}")
        for resource in (MACHINES, DEPLOYMENTS, SETS, POOLS):
            self._begin(resource, labels=mine)
        if options.resource_sets:
            self._begin(BINDINGS, fields=f"metadata.name={name}")
        if options.health_checks:
            self._begin(HEALTH_CHECKS)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def follow(self, seen: Seen) -> None:
        """Providers' kinds, too, as they come to be known."""
        for kind, contract in seen.contracts.items():
            if isinstance(contract, Contract) and kind not in self._tasks:
                self._start(kind, self._of_provider(kind, contract.version))

    async def next_change(self) -> None:
        await self._changed.wait()
        if self._failure is not None:
            raise self._failure

    async def _of_provider(self, kind: Kind, version: str) -> None:
        with contextlib.suppress(ApiError, UnknownKind):  # what may not be seen has no line, either
            await self._watch(await self._discovery.client.resource(f"{kind.group}/{version}", kind.kind))

    def _begin(self, resource: Resource[Any], *, labels: str | None = None, fields: str | None = None) -> None:
        self._start(resource.kind, self._watch(resource, labels=labels, fields=fields))

    def _start(self, key: object, watch: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(watch)
        task.add_done_callback(self._ended)
        self._tasks[key] = task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = error
            self._changed.set()

    async def _watch(self, resource: Resource[Any], *, labels: str | None = None, fields: str | None = None) -> None:
        """That something is new is all there is to know: the objects themselves need not come here."""
        where = self._discovery.namespace if resource.namespaced else None
        events = watching(
            self._discovery.client,
            metadata_of(resource),
            namespace=where,
            label_selector=labels,
            field_selector=fields,
        )
        async with contextlib.aclosing(events):
            async for event in events:
                if not isinstance(event, Interrupted):
                    self._changed.set()
