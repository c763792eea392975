"""Ways into clusters, as their administrator: opened when they are needed, kept for a while, and never written down."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

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

    async def close(self) -> None:
        ways, self._ways = list(self._ways.values()), {}
        for way in ways:
            await _let_go(way)

    @contextlib.asynccontextmanager
    async def entered(self, cluster: Cluster, profile: ClusterProfile) -> AsyncIterator[Client]:
        """A client in the cluster. One that turns out to lead nowhere is not used again."""
        way = await self._way(cluster, profile)
        way.users += 1
        try:
            yield way.client
        except (Unauthorized, Unreachable):
            way.stale = True
            if self._ways.get(cluster.metadata.uid) is way:
                del self._ways[cluster.metadata.uid]
            raise
        finally:
            way.users -= 1
            if way.stale and not way.users:
                await way.client.__aexit__(None, None, None)

    async def _way(self, cluster: Cluster, profile: ClusterProfile) -> _Way:
        uid, now = cluster.metadata.uid, self._clock.elapsed()
        way = self._ways.get(uid)
        if way is not None and now - way.opened < _KEPT:
            return way
        connection = await self._connection(cluster, profile)
        client = await Client(connection, timeouts=_PATIENCE).__aenter__()
        old = [one for one, kept in self._ways.items() if one == uid or now - kept.opened >= _KEPT]
        ends = [self._ways.pop(one) for one in old]
        fresh = self._ways[uid] = _Way(client, now)
        for end in ends:
            await _let_go(end)
        return fresh

    async def _connection(self, cluster: Cluster, profile: ClusterProfile) -> Connection:
        provider: Any = self._seen.provider
        order = last_order_of(cluster, profile, self._seen, running=version_in(cluster.metadata))
        connection: Connection = await asked(provider, provider.admin_access(order))
        return connection


async def _let_go(way: _Way) -> None:
    """Close it, now or when its last user has left."""
    way.stale = True
    if not way.users:
        await way.client.__aexit__(None, None, None)
