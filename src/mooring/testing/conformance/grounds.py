"""An API server for one run: started in a temporary directory, knowing our kinds and nothing else, and gone afterwards.

A run that was killed leaves nothing for long: the next one, of tests or of the suite, clears up after it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from mooring.api.crds import definitions
from mooring.controlplane.binaries import fetch_binaries
from mooring.controlplane.progress import Progress
from mooring.controlplane.toolsets import KUBERNETES
from mooring.kube import Client, Connection, connection_from_document
from mooring.kube.definitions import install
from mooring.testing.runs import begin_run, end_run, running_landscape


@contextlib.contextmanager
def throwaway_platform(progress: Progress) -> Iterator[Connection]:
    """A platform as an administrator sees it. Not to be used inside of an event loop."""
    fetch_binaries(KUBERNETES, progress=progress)
    progress.step("Starting an API server")
    run = begin_run()
    try:
        connection = connection_from_document(running_landscape(run).admin_kubeconfig())
        asyncio.run(_taught(connection))
        yield connection
    finally:
        end_run(run)


async def _taught(connection: Connection) -> None:
    async with Client(connection) as client:
        await install(client, definitions())
