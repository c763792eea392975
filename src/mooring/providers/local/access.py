"""An administrator's way into a local cluster: a certificate that is made when needed and never written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mooring.controlplane.plane import ADMIN_LIFETIME, ControlPlane
from mooring.kube import Connection
from mooring.kube.credentials import Identity
from mooring.runtime import Clock, SystemClock

_RENEWAL: Final = ADMIN_LIFETIME.total_seconds() / 2


def admin_connection(plane: ControlPlane) -> Connection:
    """How to reach it as somebody who may do everything. Good for as long as the cluster stays on its port."""
    return Connection(server=plane.server, ca=plane.ca, credentials=AdminCertificate(plane))


@dataclass(slots=True)
class AdminCertificate:
    """A client certificate in memory, made anew well before it ends."""

    plane: ControlPlane
    clock: Clock = field(default_factory=SystemClock)
    _known: Identity | None = field(default=None, repr=False)
    _made: float = 0.0

    async def identity(self) -> Identity:
        now = self.clock.elapsed()
        if self._known is None or now - self._made > _RENEWAL:
            self._known, self._made = Identity(certificate=self.plane.admin_certificate()), now
        return self._known

    def forget(self) -> bool:
        self._known = None
        return True
