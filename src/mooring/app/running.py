"""Running the controllers as a process of their own: ``mooring run``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Collection

from mooring.app.configurations import ConfigurationSource
from mooring.app.installing import Part
from mooring.app.settings import SettingError
from mooring.app.wiring import know_kinds, wired
from mooring.kube import Connection
from mooring.runtime.endpoints import endpoints, host_and_port


async def run_controllers(
    connection: Connection,
    *,
    election: bool,
    listen: str,
    configuration: ConfigurationSource,
    parts: Collection[Part],
    environment: str,
) -> None:
    """Work until SIGINT or SIGTERM, then end in good order."""
    await configuration.first()  # a bad one is told at once, also by those who would only wait for the lease
    async with (
        wired(
            connection, election=election, configuration=configuration, parts=parts, environment=environment
        ) as manager,
        contextlib.AsyncExitStack() as serving,
    ):
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, manager.stop)
        await know_kinds(manager, parts)
        if listen:
            address = host_and_port(listen)
            if address is None:
                raise SettingError(f"--listen {listen!r} is not HOST:PORT, such as 127.0.0.1:8081 or :8081.")
            host, port = address
            try:
                await serving.enter_async_context(endpoints(manager, host=host, port=port))
            except OSError as error:
                raise SettingError(
                    f"Cannot listen on {listen} ({error.strerror}); choose another with --listen."
                ) from error
        await manager.run()


def parts_named(text: str) -> frozenset[Part]:
    """The parts in a list with commas; none is all."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in list(Part)]
    if unknown:
        raise SettingError(f"--controllers: there is no {unknown[0]!r}; choose from {', '.join(Part)}.")
    return frozenset(map(Part, words)) or frozenset(Part)
