"""The ground as a process that a test can kill: ``processes_process.py LANDSCAPE KUBECONFIG NAMESPACE PROVIDER``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from processes_kit import PROVIDERS

from mooring.controlplane.binaries import find_binaries
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.toolsets import KUBERNETES
from mooring.kube import load_connection
from mooring.providers.deployment.grounds import Home
from mooring.providers.deployment.processes import Processes
from mooring.runtime import Manager
from mooring.testing.managers import at_work


async def main(directory: Path, kubeconfig: Path, namespace: str, name: str) -> None:
    landscape = Landscape("test", directory, find_binaries(KUBERNETES))
    async with Manager(load_connection(kubeconfig), identity="doomed") as manager:
        ground = Processes(manager, Home(environment="test", namespace=namespace), landscape)
        manager.background(lambda: ground.watch(lambda _: None))
        async with at_work(manager):
            provider = await manager.client.get(PROVIDERS, name)
            while True:
                if (await ground.initialised(provider)).done:
                    await ground.running(provider)
                await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
