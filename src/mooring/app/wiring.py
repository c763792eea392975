"""All controllers on one manager: what ``mooring up`` and ``mooring run`` both run."""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import uuid
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field

from mooring.access.controllers import add_access
from mooring.app.configurations import ConfigurationSource, FixedConfiguration
from mooring.app.installing import GROUP, NAMESPACE, Part, kinds_of
from mooring.controlplane.plane import ControlPlane
from mooring.kube import Connection, typed
from mooring.kube.credentials import Identity
from mooring.kube.errors import KubeError, UnknownKind
from mooring.runtime import Clock, LeaseSettings, Manager, SystemClock
from mooring.scheduling.controllers import add_scheduling

# The controllers' own certificate on an embedded platform: made in memory, and made anew well before it ends.
_LIFETIME, _RENEWAL = datetime.timedelta(hours=2), 3_600.0


class NotInstalled(KubeError):
    """The cluster does not know our kinds."""


@contextlib.asynccontextmanager
async def wired(
    connection: Connection,
    *,
    election: bool = True,
    configuration: ConfigurationSource | None = None,
    parts: Collection[Part] = frozenset(Part),
    environment: str = "default",
) -> AsyncIterator[Manager]:
    """A manager with all our kinds in its stores, and the controllers of these parts."""
    source = configuration or FixedConfiguration()
    lease = LeaseSettings(namespace=NAMESPACE) if election else None
    async with Manager(connection, identity=own_identity(), lease=lease) as manager:
        for kind in kinds_of(parts):
            manager.store(typed(kind))
        if Part.SCHEDULING in parts:
            configure = add_scheduling(manager, await source.first(), home=NAMESPACE)
            manager.background(lambda: source.watch(configure))
        if Part.ACCESS in parts:
            add_access(manager)
        if Part.KYMA in parts:
            _add_kyma(manager)
        if Part.DEPLOYMENT in parts:
            _add_deployment(manager, environment)
        yield manager


def _add_kyma(manager: Manager) -> None:
    from mooring.kyma.controllers import add_kyma  # embedded landscapes have it come later

    add_kyma(manager)


def _add_deployment(manager: Manager, environment: str) -> None:
    from mooring.providers.deployment.controllers import add_deployment  # embedded landscapes have their own
    from mooring.providers.deployment.grounds import Home
    from mooring.providers.deployment.pods import Pods

    add_deployment(manager, Pods, home=Home(environment=environment, namespace=NAMESPACE))


def own_identity() -> str:
    """Who we are among those who want the lease: never the same twice, and a person can find the process by it."""
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"


def platform_connection(platform: ControlPlane, *groups: str) -> Connection:
    """How controllers reach an embedded platform: as themselves, with the rights that were installed for them."""
    return Connection(server=platform.server, ca=platform.ca, credentials=Minted(platform, groups or (GROUP,)))


@dataclass(slots=True)
class Minted:
    """A client certificate that is made when needed and never written down."""

    platform: ControlPlane
    groups: tuple[str, ...] = (GROUP,)
    clock: Clock = field(default_factory=SystemClock)
    _known: Identity | None = field(default=None, repr=False)
    _made: float = 0.0

    async def identity(self) -> Identity:
        now = self.clock.elapsed()
        if self._known is None or now - self._made > _RENEWAL:
            issued = self.platform.client_certificate("mooring", *self.groups, lifetime=_LIFETIME)
            self._known, self._made = Identity(certificate=issued), now
        return self._known

    def forget(self) -> bool:
        self._known = None
        return True


async def know_kinds(manager: Manager, parts: Collection[Part]) -> None:
    """Make sure that the cluster knows our kinds, or say what to do."""
    for kind in kinds_of(parts):
        try:
            await manager.client.resource(kind.API.api_version, kind.API.kind)
        except UnknownKind as error:
            raise NotInstalled(
                f"The cluster at {manager.client.connection.server} does not know {kind.API.definition_name}. "
                f"Install Mooring's definitions and rights there with 'mooring install'."
            ) from error
