"""Ways into clusters, as their administrator: opened when they are needed, kept for a while, and never written down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube import Client, Connection, Timeouts
from mooring.kube.errors import Unauthorized, Unreachable
from mooring.providers.sdk.asking import asked
from mooring.providers.sdk.ordering import last_order_of
from mooring.providers.sdk.seen import Seen
from mooring.providers.sdk.status import version_in
from mooring.runtime import Clock

_KEPT = 300.0  # seconds that a way in is used before it is asked for anew
# A cluster that does not answer must not hold up others for long.
_PATIENCE = Timeouts(connect=10.0, request=30.0)


@dataclass(slots=True)
class _Way:
    client: Client
    opened: float
    users: int = 0
    stale: bool = False


class Targets:
    """For one instance of a provider. To be closed when it is no longer needed."""

    def __init__(self, seen: Seen, clock: Clock) -> None:
        self._seen = seen
        self._clock = clock
        self._ways: dict[str, _Way] = {}  # by the cluster's uid
        # Many come at once; the provider is asked once for all of them.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def close(self) -> None:
        for uid in list(self._ways):
            await self._drop(uid)

    @contextlib.asynccontextmanager
    async def entered(self, cluster: Cluster, profile: ClusterProfile) -> AsyncIterator[Client]:
        """A client in the cluster. One that turns out to lead nowhere is not used again."""
        uid = cluster.metadata.uid
        async with self._turns.setdefault(uid, asyncio.Lock()):
            way = self._ways.get(uid) or await self._open(cluster, profile)
            if self._is_old(way):
                way = await self._open(cluster, profile)
            way.users += 1
        try:
            yield way.client
        except (Unauthorized, Unreachable):
            if self._ways.get(uid) is way:
                del self._ways[uid]
            way.stale = True
            raise
        finally:
            way.users -= 1
            await _closed_if_unused(way)

    def _is_old(self, way: _Way) -> bool:
        return self._clock.elapsed() - way.opened >= _KEPT

    async def _open(self, cluster: Cluster, profile: ClusterProfile) -> _Way:
        connection = await self._connection(cluster, profile)
        for uid in [uid for uid, way in self._ways.items() if uid == cluster.metadata.uid or self._is_old(way)]:
            await self._drop(uid)
        client = await Client(connection, timeouts=_PATIENCE).__aenter__()
        way = self._ways[cluster.metadata.uid] = _Way(client, self._clock.elapsed())
        return way

    async def _connection(self, cluster: Cluster, profile: ClusterProfile) -> Connection:
        provider: Any = self._seen.provider
        order = last_order_of(cluster, profile, self._seen, running=version_in(cluster.metadata))
        connection: Connection = await asked(provider, provider.admin_access(order))
        return connection

    async def _drop(self, uid: str) -> None:
        way = self._ways.pop(uid, None)
        if way is not None:
            way.stale = True
            await _closed_if_unused(way)


async def _closed_if_unused(way: _Way) -> None:
    """Those who still use it close it when they leave."""
    if way.stale and not way.users:
        await way.client.__aexit__(None, None, None)
