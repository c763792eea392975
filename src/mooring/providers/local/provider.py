"""The provider: what is ordered becomes processes of a landscape, and what they do becomes a State."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from mooring.api.clusters import Endpoint
from mooring.api.kinds import Kind
from mooring.api.marks import EXTERNAL_ENDPOINT
from mooring.api.versions import satisfies
from mooring.controlplane.errors import BinariesError, NotReady
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, Executables, identity_for
from mooring.controlplane.versions import cached_versions, versions_at_hand
from mooring.kube import Connection, ObjectKey
from mooring.providers.local.access import admin_connection
from mooring.providers.local.config import LocalConfig
from mooring.providers.local.first import PLATFORM
from mooring.providers.local.oidc import settle
from mooring.providers.local.plans import Wish, as_before, next_version, offer, wish
from mooring.providers.local.reasons import Reason
from mooring.providers.local.running import LOOK, LocalCluster
from mooring.providers.sdk.provider import Issuer, Offer, Order, Provider, Refused, State
from mooring.runtime import TryAgain

_GLANCE = 10.0  # seconds for a look at processes that are there, so that a restart of ours is no change of theirs
_LOOK_AGAIN = 0.5  # seconds, for those whom nobody wakes


class LocalProvider(Provider[LocalConfig]):
    """Clusters in one landscape, whose etcd must be running. To be closed when it is no longer needed."""

    config: ClassVar[type[Kind]] = LocalConfig

    def __init__(self, landscape: Landscape, *, platform: ObjectKey = PLATFORM) -> None:
        self._landscape = landscape
        self._platform = platform
        self._clusters: dict[str, LocalCluster] = {}
        self._at_hand: Mapping[str, Executables] | None = None
        self._left: Mapping[str, Executables] = {}  # of those, the ones from before
        self._listener: Callable[[ObjectKey], None] | None = None

    async def profiles(self, config: LocalConfig) -> Sequence[Offer]:
        at_hand = await self._versions()
        return [offer(config, at_hand, left=self._left)]

    async def ensure(self, order: Order[LocalConfig]) -> State:
        if order.key == self._platform:
            return await self._platform_state(order.wanted)
        cluster = self._cluster(order)
        wanted, refusal = await self._wish(cluster, order)
        is_first = not cluster.is_wanted
        cluster.want(wanted)
        if is_first and cluster.seems_alive:
            await cluster.settled(_GLANCE)
        if refusal is not None:
            raise refusal
        return self._state(cluster)

    async def delete(self, order: Order[LocalConfig]) -> bool:
        if order.key == self._platform:
            raise Refused("The platform goes with its landscape: 'mooring down --purge'.", reason=Reason.PLATFORM)
        cluster = self._cluster(order)
        if cluster.gone:
            del self._clusters[cluster.plane.identity]
            return True
        failure = cluster.failure
        cluster.end()
        if failure is not None:
            raise failure
        return False

    async def admin_access(self, order: Order[LocalConfig]) -> Connection:
        plane = self._plane(order)
        if not plane.was_prepared:
            raise NotReady(f"The cluster {order.key} has not been started yet.")
        return admin_connection(plane)

    async def oidc(self, order: Order[LocalConfig], issuers: Sequence[Issuer]) -> Mapping[str, str]:
        try:
            return await settle(self._plane(order), issuers, authority=order.config.spec.oidc.certificate_authority)
        except NotReady as error:
            raise TryAgain(str(error)) from None

    async def watch(self, wake: Callable[[ObjectKey], None]) -> None:
        """Tell of every change, and let go of the clusters at the end: whoever comes next finds them again."""
        self._listener = wake
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._listener = None
            await self.close()

    async def close(self) -> None:
        """Let go of all clusters, which live on."""
        clusters, self._clusters = list(self._clusters.values()), {}
        await asyncio.gather(*(cluster.release() for cluster in clusters))

    # -- what is ------------------------------------------------------------------------------------------------

    def _plane(self, order: Order[LocalConfig]) -> ControlPlane:
        return self._landscape.platform if order.key == self._platform else self._cluster(order).plane

    def _cluster(self, order: Order[LocalConfig]) -> LocalCluster:
        identity = identity_for(order.uid)
        if identity not in self._clusters:
            plane = self._landscape.control_plane(identity)
            changed = functools.partial(self._wake, order.key)
            self._clusters[identity] = LocalCluster(self._landscape, plane, changed)
        return self._clusters[identity]

    def _wake(self, key: ObjectKey) -> None:
        if self._listener is not None:
            self._listener(key)

    async def _wish(self, cluster: LocalCluster, order: Order[LocalConfig]) -> tuple[Wish, Refused | None]:
        """How to run it. What runs is kept running, also if it cannot become what is ordered; then with the reason."""
        memory, at_hand = cluster.memory, await self._versions()
        version, refusal = next_version(memory.version if memory is not None else "", order.version)
        try:
            return wish(order.config, version, at_hand), refusal
        except Refused as error:
            before = as_before(memory, at_hand)
            if before is None:
                raise
            return before, error

    async def _versions(self) -> Mapping[str, Executables]:
        if self._at_hand is None:
            try:
                chosen = await asyncio.to_thread(versions_at_hand, self._landscape.binaries)
                self._left = await asyncio.to_thread(cached_versions, known=chosen)
                self._at_hand = {**self._left, **chosen}
            except BinariesError as error:
                raise Refused(str(error), reason=Reason.BINARIES) from error
        return self._at_hand

    def _state(self, cluster: LocalCluster) -> State:
        reason, message = ("", "") if cluster.ready else cluster.told()
        look_again = _LOOK_AGAIN if self._listener is None else None  # who listens is woken
        return _state(
            cluster.plane,
            ready=cluster.ready,
            reason=reason,
            message=message,
            version=cluster.version,
            look_again=look_again,
        )

    async def _platform_state(self, wanted: str) -> State:
        plane = self._landscape.platform
        if not await plane.is_ready():
            message = "The platform does not answer that it is ready; 'mooring status' tells more."
            return _state(
                plane, ready=False, reason=Reason.NOT_ANSWERING, message=message, version="", look_again=_LOOK_AGAIN
            )
        version = (await plane.version()).removeprefix("v")
        reason, message = ("", "") if satisfies(wanted, version) else (Reason.UPGRADE, _bound(wanted, version))
        return _state(plane, ready=not reason, reason=reason, message=message, version=version, look_again=LOOK)


def _bound(wanted: str, version: str) -> str:
    return (
        f"The platform runs {version}, and spec.kubernetes.version is {wanted}. Its version is that of Mooring's own "
        f"programs, and changes with them: leave the field empty."
    )


def _state(
    plane: ControlPlane, *, ready: bool, reason: str, message: str, version: str, look_again: float | None
) -> State:
    server = plane.server if plane.was_prepared else ""
    return State(
        ready=ready,
        reason=reason,
        message=message,
        version=version,
        api_server=server,
        endpoints=(Endpoint(name=EXTERNAL_ENDPOINT, url=server),) if server else (),
        info=plane.identity,
        note={"id": plane.identity},
        look_again=look_again,
    )
