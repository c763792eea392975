"""The management cluster of a verb that can often do without one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.looping import loop_needed

if TYPE_CHECKING:
    from mooring.kube import Client, Connection


@dataclass(slots=True)
class Management:
    """The management cluster, reached only if something has to be asked of it."""

    load: Callable[[], Connection]
    named: bool = False  # whether somebody named its kubeconfig
    _connection: Connection | None = field(default=None, init=False)

    def connection(self) -> Connection:
        if self._connection is None:
            self._connection = self.load()
        return self._connection

    def connection_for(self, purpose: str) -> Connection:
        """The connection, or an error that says what it is needed for and how to do without."""
        from mooring.kube.errors import KubeError

        try:
            return self.connection()
        except KubeError as error:
            raise ClusterctlError(f"{purpose}; and there is no management cluster to ask: {error}") from error

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        await loop_needed()
        from mooring.kube import Client

        async with Client(self.connection()) as client:
            yield client

    @asynccontextmanager
    async def initialized(self) -> AsyncIterator[Client | None]:
        """A client, if there is a cluster and Cluster API is in it."""
        from mooring.kube.errors import KubeError

        try:
            self.connection()
        except KubeError:
            yield None
            return
        from mooring.clusterctl.inventory import Inventory

        async with self.client() as client:
            yield client if await Inventory(client).stored_contract() is not None else None
