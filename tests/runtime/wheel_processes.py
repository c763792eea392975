"""Controllers in processes of their own, which a test can talk to, freeze and end."""

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from runtime_kit import LONG, eventually


class Process:
    """A process that says words, on lines that begin with @, and hears some."""

    def __init__(self, identity, child):
        self.identity = identity
        self.said = []
        self._child = child
        self._reading = asyncio.create_task(self._read())

    async def _read(self):
        async for line in self._child.stdout:
            self.said.append(line.decode().rstrip())

    async def until_said(self, word, times=1):
        await eventually(lambda: self.said.count(f"@{word}") >= times)

    def signal(self, number):
        self._child.send_signal(number)

    def tell(self, word):
        self._child.stdin.write(f"{word}\n".encode())

    def is_stopped(self):
        """Whether the system has stopped it (SIGSTOP)."""
        return Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    async def end(self):
        if self._child.returncode is None and "@ended" not in self.said:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(LONG):
                code = await self._child.wait()
        finally:
            if self._child.returncode is None:
                self._child.kill()
                await self._child.wait()
            await self._reading
        return code


@asynccontextmanager
async def process(program, plane, identity, namespace, directory):
    """The program as ``identity``, with the plane's administrator's rights; ended in good order afterwards."""
    kubeconfig = directory / f"{identity}.kubeconfig"
    kubeconfig.write_text(json.dumps(plane.kubeconfig(name=identity, user=identity, groups=("system:masters",))))
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(program),
        str(kubeconfig),
        identity,
        namespace,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(program.parent)},
    )
    ours = Process(identity, child)
    try:
        yield ours
    finally:
        code = await ours.end()
        assert code == 0, ours.said
        assert not any("Traceback" in line for line in ours.said), ours.said
