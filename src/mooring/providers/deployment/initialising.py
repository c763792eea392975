"""The init command of one provider on this machine: run once for each generation of its object, and remembered.

Guarantees:
    It is done when it has ended well, and a file says for which generation and which program. Whoever is killed
    before that file is written runs it again.
    It does not run twice at a time: one that somebody before us started is waited for, and run again, because only a
    parent hears how a process has ended. One for another generation is stopped.

Nobody waits here: a task does the work, and ``changed`` is called when there is something new to tell.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from mooring.controlplane.errors import ControlPlaneError
from mooring.controlplane.files import read_state, write_state
from mooring.controlplane.processes import Child, Program
from mooring.kube import KubeError
from mooring.kube.errors import NotFound
from mooring.providers.deployment.credentials import Credentials
from mooring.providers.deployment.grounds import Progress
from mooring.providers.deployment.launches import Launch, last_words
from mooring.providers.deployment.reasons import INIT_COMPLETED, INIT_FAILED, INIT_RUNNING, PENDING

log = logging.getLogger(__name__)

LONGEST = 300.0  # seconds that it may take
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries
_WELL = "exited with code 0"

DONE = Progress(done=True, reason=INIT_COMPLETED)
WAITING = Progress(done=False, reason=PENDING, message="Its ServiceAccount is not there yet.")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """For what it was done."""

    generation: int  # for people
    mark: str


class Failed(Exception):
    """It has ended, and not well."""


class Initialising:
    """The init command by its directory. Making the object touches nothing."""

    def __init__(self, directory: Path, credentials: Credentials, changed: Callable[[], None]) -> None:
        self._directory, self._credentials, self._changed = directory, credentials, changed
        self._launch: Launch | None = None
        self._task: asyncio.Task[None] | None = None
        self._failure: Progress | None = None
        self._pause = _FIRST_PAUSE

    def progress(self, launch: Launch) -> Progress:
        """How far it has come with this; what has not begun begins."""
        if self._was_done(launch):
            return DONE
        if self._launch is None or launch.mark != self._launch.mark:
            self._pause, self._failure = _FIRST_PAUSE, None
            self._begin(launch)
        elif self._task is None or self._task.done():
            self._begin(launch)
        under_way = Progress(done=False, reason=INIT_RUNNING, message=f"'{launch.found.name} init' is running.")
        return self._failure or under_way

    async def release(self) -> None:
        """Let go of it. What runs, runs on."""
        task, self._task, self._launch = self._task, None, None
        await over(task)

    def _begin(self, launch: Launch) -> None:
        self._launch = launch
        self._task = asyncio.create_task(self._work(launch, self._task))

    async def _work(self, launch: Launch, before: asyncio.Task[None] | None) -> None:
        """One try. If it fails, that is told; and after a pause whoever listens is called to have it tried again."""
        await over(before)
        try:
            await self._try(launch)
        except NotFound:
            self._failure = WAITING
        except (Failed, KubeError, ControlPlaneError) as error:
            self._failure = Progress(done=False, failed=True, reason=INIT_FAILED, message=str(error))
        except Exception as error:  # a task that ends in silence would leave the provider to itself
            log.exception("an init command could not be run")
            self._failure = Progress(done=False, failed=True, reason=INIT_FAILED, message=repr(error))
        else:
            self._failure = None
        self._changed()
        if self._failure is None:
            return
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        # Not before this task has ended: the answer to the call is another one.
        asyncio.get_running_loop().call_soon(self._changed)

    async def _try(self, launch: Launch) -> None:
        program = launch.program(
            self._directory,
            kubeconfig_file=self._credentials.kubeconfig_file,
            kubeconfig=await self._credentials.refresh(launch.account),
        )
        await _after_others(program)
        with contextlib.suppress(OSError):
            program.log.unlink(missing_ok=True)  # what it says in the end shall be from this try
        how = await _ended(program.start())
        self._credentials.drop()
        if how != _WELL:
            raise Failed(f"'{launch.found.name} init' {how}; it is tried again.{last_words(program)}")
        write_state(self._memory_file, Memory(generation=launch.generation, mark=launch.mark))

    def _was_done(self, launch: Launch) -> bool:
        try:
            return self._memory_file.exists() and read_state(self._memory_file, Memory).mark == launch.mark
        except ControlPlaneError:
            return False  # damaged: as if it had never been done

    @property
    def _memory_file(self) -> Path:
        return self._directory / "initialised.json"


async def _after_others(program: Program) -> None:
    """Wait until no process of the command is left from before us; what is not as it should be is stopped."""
    while (child := program.running()) is not None:
        try:
            if child.record.fingerprint == program.fingerprint:
                await _ended(child, release=False)
            else:
                await child.stop()
        finally:
            child.release()


async def _ended(child: Child, *, release: bool = True) -> str:
    """How it has ended, by itself or because it took too long."""
    try:
        async with asyncio.timeout(LONGEST):
            return await child.exited()
    except TimeoutError:
        await child.stop()
        return f"did not end within {LONGEST:.0f} s, and was stopped"
    finally:
        if release:
            child.release()


async def over(task: asyncio.Task[None] | None) -> None:
    """Cancel the task and wait for its end."""
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
