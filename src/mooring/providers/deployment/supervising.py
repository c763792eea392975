"""The run command of one provider on this machine: kept running as its object says, with a token that is kept fresh.

Guarantees:
    There is one process at most. One that is found as it should be goes on; one that is not is replaced.
    It is called up when it has lived for a moment, and the longer a moment, the more often it died just before. That is
    all that can be seen of a program from outside: what it says about its clusters is in their statuses.

Nobody waits here: a task does the work, and ``changed`` is called when there is something new to tell.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

from mooring.controlplane.errors import ControlPlaneError, NotReady
from mooring.controlplane.keeping import Keeper
from mooring.controlplane.landscape import RUN
from mooring.controlplane.processes import Program, is_locked, program_of
from mooring.kube import KubeError
from mooring.kube.errors import NotFound
from mooring.providers.deployment.credentials import Credentials
from mooring.providers.deployment.grounds import Progress
from mooring.providers.deployment.initialising import WAITING, over
from mooring.providers.deployment.launches import Launch, last_words
from mooring.providers.deployment.reasons import NOT_READY, PROVIDER_READY

log = logging.getLogger(__name__)

SETTLED = 2.0  # seconds of life after which a process is believed in
_DOUBLINGS = 4  # of that, at most
_STABLE = 60.0  # after so many seconds of life a death counts as the first one again
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0  # seconds between two tries of a start

RUNNING = Progress(done=True, reason=PROVIDER_READY)


class Supervising:
    """The run command by its directory. Making the object touches nothing."""

    def __init__(self, directory: Path, credentials: Credentials, changed: Callable[[], None]) -> None:
        self._directory, self._credentials, self._changed = directory, credentials, changed
        self._launch: Launch | None = None
        self._fingerprint = ""
        self._task: asyncio.Task[None] | None = None
        self._keeper = Keeper(RUN, directory, self._prepare)
        self._started = asyncio.Event()
        self._up = False
        self._trouble: Progress | None = None
        self._ends = 0
        self._row = 0  # of them, one soon after the other

    async def progress(self, launch: Launch) -> Progress:
        """How it is; what does not run so is made to."""
        self._launch, fingerprint = launch, self._program(launch).fingerprint
        if fingerprint != self._fingerprint or self._task is None or self._task.done():
            self._fingerprint, self._up, self._trouble, self._row = fingerprint, False, None, 0
            self._task = asyncio.create_task(self._live(self._task))
        elif self._up:
            await self._credentials.refresh(launch.account)  # which may be another one by now
        starting = Progress(done=False, reason=NOT_READY, message=f"'{launch.found.name} run' is starting.")
        return RUNNING if self._up else self._trouble or starting

    async def tend(self, account: str) -> None:
        """Keep the token of a process from before us fresh, as long as its turn waits for the init command."""
        if self._task is None and is_locked(program_of(self._directory, RUN).lock_file):
            await self._credentials.refresh(account)
            self._task = asyncio.create_task(self._credentials.keep())

    async def release(self) -> None:
        """Let go of it. The process lives on."""
        task, self._task = self._task, None
        await over(task)
        self._keeper.release()
        self._up = False

    # -- its life -----------------------------------------------------------------------------------------------

    async def _live(self, before: asyncio.Task[None] | None) -> None:
        await over(before)
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._credentials.refresh(self._wanted.account)
                await self._keeper.ensure()
                pause = _FIRST_PAUSE
                await self._keep()
            except NotFound:
                self._say(WAITING)
            except (KubeError, ControlPlaneError, OSError) as error:
                self._say(Progress(done=False, failed=True, reason="StartFailed", message=str(error)))
            except Exception as error:  # a task that ends in silence would leave the provider to itself
                log.exception("a provider could not be kept running")
                self._say(Progress(done=False, failed=True, reason="StartFailed", message=repr(error)))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _keep(self) -> None:
        self._started.set()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keeper.keep(on_restart=self._started.set, on_exit=self._ended))
            group.create_task(self._credentials.keep())
            group.create_task(self._believe())

    async def _believe(self) -> None:
        """Call it up once it has lived long enough since its last start."""
        while True:
            await self._started.wait()
            self._started.clear()
            ends, lived = self._ends, time.time() - self._keeper.child.record.started
            probation = SETTLED * 2 ** min(self._row, _DOUBLINGS)
            await asyncio.sleep(min(max(0.0, probation - lived), probation))
            # Whoever keeps it pauses between starts, and may not have heard yet that it is dead.
            if ends == self._ends and is_locked(program_of(self._directory, RUN).lock_file):
                self._up = True
                self._say(None)

    def _ended(self, how: str) -> None:
        """It has died, and is started again."""
        soon = time.time() - self._keeper.child.record.started <= _STABLE
        self._ends, self._row, self._up = self._ends + 1, self._row + 1 if soon else 0, False
        again = f"that makes {self._row} ends in a row" if self._row > 1 else "it is started again"
        message = f"'{self._wanted.found.name} run' {how}; {again}.{last_words(program_of(self._directory, RUN))}"
        reason = "KeepsDying" if self._row > 1 else "Restarting"
        self._say(Progress(done=False, failed=self._row > 1, reason=reason, message=message))

    def _say(self, trouble: Progress | None) -> None:
        self._trouble = trouble
        self._changed()

    # -- its program --------------------------------------------------------------------------------------------

    @property
    def _wanted(self) -> Launch:
        if self._launch is None:
            raise NotReady("Nobody has said yet how it is to run.")
        return self._launch

    def _prepare(self) -> Program:
        return self._program(self._wanted)

    def _program(self, launch: Launch) -> Program:
        file = self._credentials.kubeconfig_file
        return launch.program(self._directory, kubeconfig_file=file, kubeconfig=self._credentials.rendered())
