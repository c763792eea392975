"""The controllers on the platform of a landscape, in the process that keeps it: ``mooring up``.

They are installed and started as soon as the platform's API server answers. There is no lease: the landscape's own
lock says that there is one such process. When the API server comes back on another port, they start anew.

The local provider, the deployment of other providers and Kyma's face come a moment later, when the landscape is up and
furnished: each with rights of its own, and apart from the others, so that none can hold up another.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from mooring.api.crds import KINDS
from mooring.app.installing import EMBEDDED, GROUP, NAMESPACE, install_essentials
from mooring.app.wiring import own_identity, platform_connection, wired
from mooring.controlplane.landscape import Landscape
from mooring.kube import Client, Connection, KubeError, typed
from mooring.kube.credentials import certificate_only
from mooring.kube.errors import Forbidden, NotFound, ServerError, UnknownKind
from mooring.runtime import Manager
from mooring.runtime.logs import log_to_stderr

log = logging.getLogger(__name__)

_LOOK_AGAIN, _RIGHTS_PATIENCE = 0.05, 30.0
_PAUSE = 1.0  # seconds before controllers that ended by themselves are started again


class Running:
    """A manager at work, on one address of the platform."""

    def __init__(self, landscape: Landscape, opened: Callable[[], AbstractAsyncContextManager[Manager]]) -> None:
        self._platform = landscape.platform
        self._opened = opened
        self._task: asyncio.Task[None] | None = None
        self._manager: Manager | None = None
        self._server = ""

    async def begin(self) -> None:
        """Start; returns when its stores are filled, or raises what ended it before."""
        working: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._server = self._platform.server
        self._task = asyncio.create_task(self._run(working))
        await asyncio.wait({working, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            self._task.result()

    async def ended(self) -> None:
        """Wait until it has ended by itself, and tell why."""
        if self._task is not None:
            await asyncio.wait({self._task})
            error = None if self._task.cancelled() else self._task.exception()
            if error is not None:
                log.error("the controllers ended (%s: %s); starting them again", type(error).__name__, error)

    def moved(self) -> None:
        """The platform's API server was started again, perhaps on another port."""
        if self._manager is not None and self._platform.server != self._server:
            self._manager.stop()

    async def stop(self) -> None:
        """Finish what runs, and end."""
        if self._manager is not None:
            self._manager.stop()
        if self._task is not None:
            await asyncio.wait({self._task})
        self._task = None

    async def _run(self, working: asyncio.Future[None]) -> None:
        async with self._opened() as manager:
            self._manager = manager
            telling = asyncio.create_task(manager.until_working())
            telling.add_done_callback(lambda _: None if working.done() else working.set_result(None))
            try:
                await manager.run()
            finally:
                self._manager = None
                telling.cancel()


class EmbeddedControllers:
    """All controllers, for one landscape."""

    def __init__(self, landscape: Landscape) -> None:
        self._landscape = landscape
        self._controllers = Running(landscape, self._wired)
        # What comes when the landscape is up: each apart from the others, so that none can hold up another.
        later = (local_provider, provider_deployment, kyma_face)
        self._later = [Running(landscape, partial(one, landscape)) for one in later]
        # Beside a landscape only trouble is worth a line; the rest is in conditions, events and metrics.
        log_to_stderr(as_json=False, level=logging.WARNING)

    async def begin(self) -> None:
        """Install what they need, and start them; returns when their stores are filled."""
        await self._controllers.stop()
        await self._install_once_possible()
        await self._until_rights_are_known(platform_connection(self._landscape.platform))
        await self._controllers.begin()

    async def keep(self) -> None:
        """Start them again when they end by themselves, and what comes later with them. Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_controllers())
            await self._furnished()
            for one in self._later:
                group.create_task(self._keep_later(one))

    async def _keep_controllers(self) -> None:
        while True:
            await self._controllers.ended()
            await asyncio.sleep(_PAUSE)
            with contextlib.suppress(KubeError):  # the platform is away: the watch that failed has said so
                await self.begin()

    async def _furnished(self) -> None:
        while True:
            try:
                return await self._as_admin(self._furnish)
            except KubeError as error:
                log.warning("the landscape cannot be furnished yet (%s)", error)
            await asyncio.sleep(_PAUSE)

    async def _keep_later(self, one: Running) -> None:
        while True:
            try:
                await one.begin()
            except KubeError as error:
                log.warning("something of the landscape cannot be started yet (%s)", error)
            else:
                await one.ended()
            await asyncio.sleep(_PAUSE)

    def moved(self) -> None:
        """The platform's API server was started again, perhaps on another port."""
        for one in (self._controllers, *self._later):
            one.moved()

    async def stop(self) -> None:
        """Finish what runs, and end."""
        await asyncio.gather(*(one.stop() for one in (self._controllers, *self._later)))

    def _wired(self) -> AbstractAsyncContextManager[Manager]:
        return wired(platform_connection(self._landscape.platform), election=False, parts=EMBEDDED)

    async def _furnish(self, client: Client) -> None:
        from mooring.app.furnishing import furnish  # after the start, which has no time to lose

        await furnish(client, environment=self._landscape.name)

    async def _install_once_possible(self) -> None:
        """An API server that has just begun to answer turns away what its admission cannot judge yet."""
        deadline = time.monotonic() + _RIGHTS_PATIENCE
        while True:
            try:
                return await self._as_admin(install_essentials)
            except (Forbidden, NotFound, ServerError, UnknownKind):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(_LOOK_AGAIN)

    async def _as_admin(self, deed: Callable[[Client], Awaitable[None]]) -> None:
        platform = self._landscape.platform
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


@contextlib.asynccontextmanager
async def local_provider(landscape: Landscape) -> AsyncIterator[Manager]:
    """The local provider on a manager of its own. It comes through the door that all providers come through."""
    from mooring.app.furnishing import LOCAL, LOCAL_GROUP
    from mooring.providers.registry import provider_class
    from mooring.providers.sdk import add_provider

    made: Any = provider_class(LOCAL)  # of a landscape, which nobody else can give it
    connection = platform_connection(landscape.platform, LOCAL_GROUP)
    async with Manager(connection, identity=own_identity()) as manager:
        add_provider(manager, made(landscape), name=LOCAL, environment=landscape.name)
        yield manager


@contextlib.asynccontextmanager
async def provider_deployment(landscape: Landscape) -> AsyncIterator[Manager]:
    """The programs of other providers as processes of the landscape, on a manager of its own."""
    from mooring.app.furnishing import DEPLOYMENT_GROUP, LOCAL
    from mooring.providers.deployment.controllers import add_deployment
    from mooring.providers.deployment.grounds import Home
    from mooring.providers.deployment.processes import Processes

    def ground(manager: Manager, home: Home) -> Processes:
        return Processes(manager, home, landscape, built_in={LOCAL})

    connection = platform_connection(landscape.platform, DEPLOYMENT_GROUP)
    async with Manager(connection, identity=own_identity()) as manager:
        add_deployment(manager, ground, home=Home(environment=landscape.name, namespace=NAMESPACE))
        yield manager


@contextlib.asynccontextmanager
async def kyma_face(landscape: Landscape) -> AsyncIterator[Manager]:
    """Kyma's face: also as one of our controllers, who alone may pass on whom a request is from."""
    from mooring.app.furnishing import KYMA_GROUP
    from mooring.kyma.controllers import add_kyma

    async with Manager(platform_connection(landscape.platform, GROUP, KYMA_GROUP), identity=own_identity()) as manager:
        add_kyma(manager)
        yield manager
