"""Keeping a program running: found or started, waited for, and started again when it dies.

A :class:`Keeper` is asked by whoever owns the program (etcd, a control plane). What it restarts, and why the last
one ended, is in the program's pid file, where ``mooring status`` reads it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from mooring.controlplane.errors import ControlPlaneError, NotReady, PortTaken
from mooring.controlplane.probes import POLL
from mooring.controlplane.processes import GRACE, Child, Program, is_locked, program_of

log = logging.getLogger(__name__)

PATIENCE = 120.0  # seconds that a start may take on a machine that is busy with other things

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
_PORT_TRIES = 3
_STABLE = 60.0  # after so many seconds of life a death counts as the first one again


class Keeper:
    """One program that should be running.

    ``prepare`` makes the program ready to start (certificates, a free port) and is called before every start, so that
    a port that someone took while the child was down is exchanged for another.
    """

    def __init__(self, name: str, directory: Path, prepare: Callable[[], Program]) -> None:
        self.name = name
        self._directory = directory
        self._prepare = prepare
        self._child: Child | None = None

    @property
    def child(self) -> Child:
        if self._child is None:
            raise NotReady(f"{self.name} is not running.")
        return self._child

    async def ensure(self) -> Child:
        """The running child; one that runs with other arguments than it should is replaced."""
        program = self._prepare()
        child = await _adopted(program)
        if child is not None and child.record.fingerprint != program.fingerprint:
            await child.stop()
            child.release()
            child = None
        self._replace(child or program.start())
        return self.child

    async def keep(
        self, on_restart: Callable[[], None] = lambda: None, on_exit: Callable[[str], None] = lambda how: None
    ) -> None:
        """Start it again whenever it dies, at growing intervals. Runs until cancelled.

        ``on_exit`` hears at once how it ended, ``on_restart`` that it was started again.
        """
        pause, restarts = _FIRST_PAUSE, self.child.record.restarts
        while True:
            how = await self.child.exited()
            log.warning("%s %s; starting it again", self.name, how)
            on_exit(how)
            if time.time() - self.child.record.started > _STABLE:
                pause = _FIRST_PAUSE
            restarts += 1
            for deed in (partial(self._start_again, restarts, how), on_restart):
                while not self._done(deed):
                    pause = await _paused(pause)
            pause = await _paused(pause)

    def renew(self) -> None:
        """Have :meth:`keep` exchange a child whose arguments are no longer the right ones."""
        child = self.child
        if child.record.fingerprint != self._prepare().fingerprint:
            child.signal(signal.SIGTERM)
            # An API server whose etcd is elsewhere now would wait for it to the end of its days.
            asyncio.get_running_loop().call_later(GRACE, child.signal, signal.SIGKILL)

    async def stop(self, *, grace: float = GRACE) -> None:
        """Stop the program, whoever started it."""
        child, self._child = self._child or self._found(), None
        while child is not None:
            await child.stop(grace=grace)
            child.release()
            child = self._found()

    def release(self) -> None:
        """Let go of the child, which lives on."""
        self._replace(None)

    def _found(self) -> Child | None:
        # By its lock alone: what cannot be started any more, because a file is damaged, can still be stopped.
        return program_of(self._directory, self.name).running()

    def _start_again(self, restarts: int, how: str) -> None:
        self._replace(self._prepare().start(restarts=restarts, last_exit=how))

    def _done(self, deed: Callable[[], None]) -> bool:
        """Whether it could be done; what keeps us from it may pass, as a full disk does."""
        try:
            deed()
        except (ControlPlaneError, OSError) as error:
            log.warning("%s could not be started again: %s", self.name, error)
            return False
        return True

    def _replace(self, child: Child | None) -> None:
        if self._child is not None:
            self._child.release()
        self._child = child


async def trying_ports(start: Callable[[], Awaitable[None]]) -> None:
    """Start something that chooses ports, and again if someone was quicker to listen there than what we started."""
    for _ in range(_PORT_TRIES - 1):
        try:
            return await start()
        except PortTaken as error:
            log.warning("trying another port: %s", error)
    return await start()


async def _adopted(program: Program) -> Child | None:
    """The running child, if there is one; of one that is just dying, its end is waited for."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            while (child := program.adopt()) is None and is_locked(program.lock_file):
                await asyncio.sleep(POLL)
            return child
    return None


async def _paused(pause: float) -> float:
    """Wait about so long; returns how long to wait the next time."""
    await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311
    return min(pause * 2, _LONGEST_PAUSE)


async def until_well(
    well: Callable[[], Awaitable[bool]], child: Child, program: Program, *, patience: float = PATIENCE
) -> None:
    """Wait until the question is answered with yes, the child dies, or patience ends."""
    ended, begun = asyncio.ensure_future(child.exited()), time.monotonic()
    try:
        async with asyncio.timeout(patience):
            while not await well():
                if ended.done():
                    raise program.failure(ended.result())
                # Who waits long on a busy machine asks less often, so as not to keep it busy with questions.
                await asyncio.sleep(POLL + (time.monotonic() - begun) / 100)
    except TimeoutError:
        raise NotReady(
            f"{program.name} runs but was not ready after {patience:.0f} s. The end of {program.log}:\n"
            f"{program.last_lines()}"
        ) from None
    finally:
        ended.cancel()
