"""The controllers on the platform of a landscape, in the process that keeps it: ``mooring up``.

They are installed and started as soon as the platform's API server answers. There is no lease: the landscape's own
lock says that there is one such process. When the API server comes back on another port, they start anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable

from mooring.api.crds import KINDS
from mooring.app.installing import install_everything
from mooring.app.logs import log_to_stderr
from mooring.app.purposes import install_first_purposes
from mooring.app.wiring import platform_connection, wired
from mooring.controlplane.plane import ControlPlane
from mooring.kube import Client, Connection, KubeError, typed
from mooring.kube.credentials import certificate_only
from mooring.kube.errors import Forbidden, NotFound, ServerError, UnknownKind
from mooring.runtime import Manager

log = logging.getLogger(__name__)

_LOOK_AGAIN, _RIGHTS_PATIENCE = 0.05, 30.0
_PAUSE = 1.0  # seconds before controllers that ended by themselves are started again


class EmbeddedControllers:
    """All controllers, for one platform."""

    def __init__(self, platform: ControlPlane) -> None:
        self._platform = platform
        self._running: asyncio.Task[None] | None = None
        self._manager: Manager | None = None
        self._server = ""
        # Beside a landscape only trouble is worth a line; the rest is in conditions, events and metrics.
        log_to_stderr(as_json=False, level=logging.WARNING)

    async def begin(self) -> None:
        """Install what they need, and start them; returns when their stores are filled."""
        await self.stop()
        await self._install_once_possible()
        connection = platform_connection(self._platform)
        await self._until_rights_are_known(connection)
        working: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._server = self._platform.server
        self._running = asyncio.create_task(self._run(connection, working))
        await asyncio.wait({working, self._running}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            self._running.result()  # raises what ended them

    async def keep(self) -> None:
        """Furnish the landscape, and start them again when they end by themselves. Runs until cancelled."""
        await self._furnish()
        while True:
            if self._running is not None:
                await asyncio.wait({self._running})
                _tell(self._running)
            await asyncio.sleep(_PAUSE)
            with contextlib.suppress(KubeError):  # the platform is away: the watch that failed has said so
                await self.begin()

    async def _furnish(self) -> None:
        """What a landscape begins with, once it is up: nobody waits for it, and every request can."""
        while True:
            try:
                return await self._as_admin(install_first_purposes)
            except KubeError as error:
                log.warning("the first purposes cannot be installed yet (%s)", error)
            await asyncio.sleep(_PAUSE)

    def moved(self) -> None:
        """The platform's API server was started again, perhaps on another port."""
        if self._manager is not None and self._platform.server != self._server:
            self._manager.stop()

    async def stop(self) -> None:
        """Finish what runs, and end."""
        if self._manager is not None:
            self._manager.stop()
        if self._running is not None:
            await asyncio.wait({self._running})
        self._running = None

    async def _install_once_possible(self) -> None:
        """An API server that has just begun to answer turns away what its admission cannot judge yet."""
        deadline = time.monotonic() + _RIGHTS_PATIENCE
        while True:
            try:
                return await self._as_admin(install_everything)
            except (Forbidden, NotFound, ServerError, UnknownKind):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_LOOK_AGAIN)

    async def _as_admin(self, deed: Callable[[Client], Awaitable[None]]) -> None:
        platform = self._platform
        known = certificate_only(platform.admin_certificate())
        async with Client(Connection(server=platform.server, ca=platform.ca, credentials=known)) as client:
            await deed(client)

    async def _until_rights_are_known(self, connection: Connection) -> None:
        """Wait for the API server's authorizer: it learns from a watch, and a little later, what was bound."""
        deadline = time.monotonic() + _RIGHTS_PATIENCE
        async with Client(connection) as client:
            while True:
                try:
                    await client.list(typed(KINDS[0]), page=1, whole=False)
                except Forbidden:
                    if time.monotonic() > deadline:
                        raise
                    await asyncio.sleep(_LOOK_AGAIN)
                else:
                    return

    async def _run(self, connection: Connection, working: asyncio.Future[None]) -> None:
        async with wired(connection, election=False) as manager:
            self._manager = manager
            telling = asyncio.create_task(manager.until_working())
            telling.add_done_callback(lambda _: None if working.done() else working.set_result(None))
            try:
                await manager.run()
            finally:
                self._manager = None
                telling.cancel()


def _tell(ended: asyncio.Task[None]) -> None:
    error = None if ended.cancelled() else ended.exception()
    if error is not None:
        log.error("the controllers ended (%s: %s); starting them again", type(error).__name__, error)
