"""One instance of a provider as a process: started, killed, started again, and stopped in good order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_GRACE = 30.0  # seconds between SIGTERM and SIGKILL, as a pod has them
_LAST_LINES = 3
_LONGEST = 400
_REFUSED = re.compile(r"(?i)\bforbidden\b|\b403\b")
# A pod's environment comes from its spec alone; these would lead a program to another cluster than ours.
_MISLEADING = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


class Instance:
    """A provider under a name of its own. ``ended`` is called whenever its process ends."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._environment = environment
        self._told = ended
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None
        self._wanted = False

    @property
    def died(self) -> bool:
        """Whether it ended by itself."""
        return self._wanted and self._process is not None and self._process.returncode is not None

    @property
    def code(self) -> int | None:
        return None if self._process is None else self._process.returncode

    async def start(self) -> None:
        environment = {name: text for name, text in os.environ.items() if name not in _MISLEADING}
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**environment, **self._environment},
                start_new_session=True,  # Ctrl-C is for us: we stop it, when the clusters are gone
            )
        self._wanted = True
        self._watching = asyncio.create_task(self._watch(self._process))

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        self._told()

    async def finish(self, patience: float) -> int | None:
        """Wait for its end; None if that does not come, and then it is killed."""
        self._wanted = False
        try:
            async with asyncio.timeout(patience):
                await self._over()
        except TimeoutError:
            await self.kill()
            return None
        return self.code

    async def ask_to_stop(self, patience: float = _GRACE) -> int | None:
        """SIGTERM, as a pod gets it; gives the exit code, or None if it had to be killed."""
        self._wanted = False
        self._send(signal.SIGTERM)
        return await self.finish(patience)

    async def kill(self) -> None:
        """SIGKILL, for it and for what it started."""
        self._wanted = False
        self._send(signal.SIGKILL)
        await self._over()

    async def _over(self) -> None:
        if self._watching is not None:
            await asyncio.shield(self._watching)

    def _send(self, number: signal.Signals) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            if number is signal.SIGKILL:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)

    # -- what it said -------------------------------------------------------------------------------------------

    def last_words(self) -> str:
        """The end of its log, on one line."""
        lines = [line.strip() for line in self._lines() if any(map(str.isalnum, line))]
        said = " / ".join(line[:_LONGEST] for line in lines[-_LAST_LINES:])
        return said or "nothing"

    def refusal(self) -> str:
        """The last line of its log that tells of a right that it does not have; empty if there is none."""
        refused = [line.strip() for line in self._lines() if _REFUSED.search(line)]
        return refused[-1][:_LONGEST] if refused else ""

    def _lines(self) -> list[str]:
        try:
            return self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
