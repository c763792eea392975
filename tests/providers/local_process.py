"""The local provider as a process that a test can kill: ``local_process.py LANDSCAPE-DIRECTORY KUBECONFIG NAME``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mooring.controlplane.binaries import find_binaries
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.toolsets import KUBERNETES
from mooring.kube import load_connection
from mooring.providers.local import LocalProvider
from mooring.testing.providing import providing


async def main(directory: Path, kubeconfig: Path, name: str) -> None:
    provider = LocalProvider(Landscape("test", directory, find_binaries(KUBERNETES)))
    async with providing(load_connection(kubeconfig), provider, name=name):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
