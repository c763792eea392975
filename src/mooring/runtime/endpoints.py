"""Health, readiness and metrics over HTTP, for whoever runs this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from aiohttp import web

from mooring.runtime.manager import Manager


def host_and_port(text: str) -> tuple[str, int] | None:
    """``HOST:PORT`` in its parts, or None if it is none. An empty host is the user's word for all there are."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        return None
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104


@contextlib.asynccontextmanager
async def endpoints(manager: Manager, *, host: str, port: int) -> AsyncIterator[int]:
    """Serve ``/livez``, ``/healthz``, ``/readyz`` and ``/metrics``; gives the port, which may have been 0."""

    async def alive(_request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def ready(_request: web.Request) -> web.Response:
        return web.Response(text="ok") if manager.ready else web.Response(status=503, text="not ready")

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(body=manager.metrics.page(), headers={"Content-Type": "text/plain; version=0.0.4"})

    application = web.Application()
    application.add_routes(
        [
            web.get("/livez", alive),
            web.get("/healthz", alive),
            web.get("/readyz", ready),
            web.get("/metrics", metrics),
        ]
    )
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
