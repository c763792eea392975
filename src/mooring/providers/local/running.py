"""One local cluster: brought up, kept up and taken away in the background, and always ready to tell how it is.

Guarantees:
    Nobody waits here: :meth:`LocalCluster.want` and :meth:`LocalCluster.end` say what shall be, a task of the cluster's
    own makes it so, and ``changed`` is called whenever there is something new to tell.
    What is said to be ready has answered with the cluster's own credentials since its processes last ended.

Assumptions:
    One object per cluster and landscape. All state is in the control plane's directory, so that another object of
    another process goes on where this one stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from mooring.controlplane.errors import ControlPlaneError
from mooring.controlplane.files import read_state, write_state
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane
from mooring.providers.local.plans import Memory, Wish
from mooring.providers.local.reasons import Reason
from mooring.providers.local.troubles import Troubles, cause_of

log = logging.getLogger(__name__)

LOOK = 20.0  # seconds between two questions to a server that was ready: one that hangs does not end, and tells nobody
_ASK_AGAIN = 0.1  # seconds between two questions to one that was not
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class LocalCluster:
    """A cluster by its control plane. Making the object touches nothing."""

    def __init__(self, landscape: Landscape, plane: ControlPlane, changed: Callable[[], None]) -> None:
        self.plane = plane
        self.ready = False
        self.version = ""  # that it was seen to run
        self.gone = False
        self.failure: Exception | None = None  # of its end
        self._landscape = landscape
        self._changed = changed
        self._wish: Wish | None = None
        self._living: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._troubles = Troubles()
        self._alarm = asyncio.Event()

    # -- what shall be ------------------------------------------------------------------------------------------

    def want(self, wish: Wish) -> None:
        """Have it run so, from now on."""
        if self._ending is not None or (wish == self._wish and self._living is not None and not self._living.done()):
            return
        before, self._wish, self.ready = self._living, wish, False
        if before is not None:
            before.cancel()
        self._living = asyncio.create_task(self._live(wish, before))

    def end(self) -> None:
        """Have it end, with everything that is its own."""
        if self._ending is None or self._ending.done():
            self.failure = None
            self._ending = asyncio.create_task(self._end())

    async def release(self) -> None:
        """Let go of it. Its processes live on."""
        for task in (self._living, self._ending):
            await _over(task)
        self.plane.release()

    # -- what is ------------------------------------------------------------------------------------------------

    @property
    def is_wanted(self) -> bool:
        """Whether anybody has said yet how it is to run."""
        return self._wish is not None

    @property
    def memory(self) -> Memory | None:
        """How it was last run; None before the first start."""
        return read_state(self._memory_file, Memory) if self._memory_file.exists() else None

    @property
    def seems_alive(self) -> bool:
        """Whether its processes are there: then a look takes a moment, and no start."""
        children = [program.running() for program in self.plane.traces()]
        for child in children:
            if child is not None:
                child.release()
        return self.plane.was_prepared and all(children)

    async def settled(self, patience: float) -> None:
        """Wait until it is ready or in trouble, but not for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while not self.ready and not self._troubles.reason:
                    await asyncio.sleep(_ASK_AGAIN / 4)

    def told(self) -> tuple[str, str]:
        """Why it is not ready: a word, and a message."""
        if self._troubles.reason:
            return self._troubles.reason, self._troubles.message
        wanted = self._wish.version if self._wish is not None else ""
        if self.version not in ("", wanted):
            return Reason.UPGRADING, f"Kubernetes {wanted} is started in place of {self.version}."
        return Reason.STARTING, f"Kubernetes {wanted} is starting."

    # -- its life -----------------------------------------------------------------------------------------------

    async def _live(self, wish: Wish, before: asyncio.Task[None] | None) -> None:
        await _over(before)
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._start(wish)
                pause = _FIRST_PAUSE
                await self._keep()
            except Exception as error:  # a task that ends in silence would leave the cluster to itself
                cause = cause_of(error)
                if not isinstance(cause, ControlPlaneError | OSError):
                    log.exception("a local cluster could not be kept")
                self._troubles.failed(cause)
                self._say(ready=False)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _start(self, wish: Wish) -> None:
        plane = self.plane
        plane.executables, plane.api_server_flags, plane.environment = wish.executables, wish.flags, wish.environment
        await _in_a_thread(plane.prepare)
        # Before the first start of a newer version, because from then on the data are that one's.
        write_state(self._memory_file, wish.memory)
        self._changed()  # its address is known
        await plane.start()
        self.version = await self._told_version()
        self._troubles = Troubles()
        self._say(ready=True)

    async def _keep(self) -> None:
        self._landscape.kept.add(self.plane)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.plane.keep(on_exit=self._ended))
                group.create_task(self._look())
        finally:
            self._landscape.kept.discard(self.plane)

    def _ended(self, program: str, how: str) -> None:
        """One of the processes has ended, and will be started again."""
        self._troubles.ended(self.plane, program, how)
        self._alarm.set()
        self._say(ready=False)

    async def _look(self) -> None:
        """Notice when it is well again after an end, and when it is not although nothing ended."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self._alarm.wait()
            self._alarm.clear()
            version = await self._until_well()
            if not self.ready:
                self.version = version
                self._say(ready=True)

    async def _until_well(self) -> str:
        """Ask until everything answers that it is well, and nothing has ended while it was asked; its version."""
        while True:
            ends = self._troubles.ends
            if await self._is_well():
                version = await self._told_version()
                if ends == self._troubles.ends:
                    return version
            elif self.ready:
                self._troubles.hangs()
                self._say(ready=False)
            await asyncio.sleep(_ASK_AGAIN)

    async def _is_well(self) -> bool:
        return self._troubles.calm() and await self.plane.is_ready() and await self.plane.is_managed()

    async def _told_version(self) -> str:
        return (await self.plane.version()).removeprefix("v") or self.version

    def _say(self, *, ready: bool) -> None:
        self.ready = ready
        if ready:
            self._troubles.over()
        self._changed()

    async def _end(self) -> None:
        try:
            self.ready = False
            await _over(self._living)
            await self.plane.delete()
            self.gone = True
        except (ControlPlaneError, OSError) as error:
            self.failure = error
        finally:
            self._changed()

    @property
    def _memory_file(self) -> Path:
        return self.plane.directory / "kubernetes.json"


async def _over(task: asyncio.Task[None] | None) -> None:
    """Cancel the task and wait for its end."""
    if task is not None:
        task.cancel()
        await asyncio.wait({task})


async def _in_a_thread(deed: Callable[[], None]) -> None:
    """Do it beside the event loop. Whoever is cancelled waits for its end: nothing is written after we have left."""
    work = asyncio.ensure_future(asyncio.to_thread(deed))
    try:
        await asyncio.shield(work)
    finally:
        await asyncio.wait({work})
