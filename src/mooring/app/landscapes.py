"""Bringing a landscape up, keeping it so, taking it down, and looking at it.

The words of the CLI (``up``, ``down``, ``status``) end here. Whatever interrupts them, no process stays behind that a
later ``status`` would not know: children are found by the locks in the landscape's directory, not by anyone's memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
from collections.abc import Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mooring.app.settings import Place
from mooring.controlplane.binaries import Binaries, Binary, Source, fetch_binaries, find_binaries
from mooring.controlplane.errors import BinariesError, Busy
from mooring.controlplane.landscape import Landscape, stop_keeper
from mooring.controlplane.progress import Progress
from mooring.controlplane.toolsets import KUBERNETES

if TYPE_CHECKING:
    from mooring.app.embedded import EmbeddedControllers

_LOOK_AGAIN = 0.1  # seconds between two looks at a landscape that someone else is starting


class Came(StrEnum):
    """How an ``up`` ended."""

    STOPPED = "stopped"  # it ran, and was asked to stop
    INTERRUPTED = "interrupted"  # it was asked to stop before it was ready
    ALREADY = "already running"  # someone else keeps it running


def landscape_to_start(place: Place, progress: Progress) -> Landscape:
    """The landscape with its programs fetched. May take minutes the first time."""
    return Landscape(place.name, place.directory, fetch_binaries(KUBERNETES, progress=progress))


def landscape_to_look_at(place: Place) -> Landscape:
    """The landscape for everything but starting it: works without its programs, too."""
    try:
        binaries = find_binaries(KUBERNETES)
    except BinariesError:
        missing = [tool.name for tool in KUBERNETES.tools]
        binaries = Binaries(
            KUBERNETES.name, {name: Binary(name, Path(name), version=None, source=Source.NAMED) for name in missing}
        )
    return Landscape(place.name, place.directory, binaries)


async def up(landscape: Landscape, *, told: Callable[[str], None], ready: Callable[[], None]) -> Came:
    """Start the landscape and keep it running until SIGINT or SIGTERM; then stop it.

    ``told`` hears what has come up; ``ready`` is called once, when all has.
    """
    asked_to_stop = _stop_signals()
    held = await _take_or_wait(landscape, asked_to_stop, told)
    if held is None:
        return Came.INTERRUPTED if asked_to_stop.is_set() else Came.ALREADY
    controllers = _Loading()

    def heard(what: str) -> None:
        controllers.load()
        told(what)

    try:
        if not await _unless(asked_to_stop, landscape.start(heard, served=lambda: controllers.begin(landscape))):
            return Came.INTERRUPTED
        landscape.keeper.say_ready()
        ready()
        await _unless(asked_to_stop, _both(landscape.keep(controllers.moved), controllers.keep()))
        return Came.STOPPED
    finally:
        try:
            await controllers.stop()
            await landscape.stop()
        finally:
            os.close(held)


class _Loading:
    """The controllers of an embedded platform. Their code is loaded while the API server starts, which takes longer.

    Not before its process is there, though: two threads of one Python take turns, and that would come later then.
    """

    def __init__(self) -> None:
        self._module: asyncio.Task[ModuleType] | None = None
        self._controllers: EmbeddedControllers | None = None

    def load(self) -> asyncio.Task[ModuleType]:
        """Begin to load the code, if that was not done yet."""
        if self._module is None:
            self._module = asyncio.create_task(asyncio.to_thread(importlib.import_module, "mooring.app.embedded"))
        return self._module

    async def begin(self, landscape: Landscape) -> None:
        if self._controllers is None:
            self._controllers = (await self.load()).EmbeddedControllers(landscape)
        await self._controllers.begin()

    async def keep(self) -> None:
        if self._controllers is not None:
            await self._controllers.keep()

    def moved(self) -> None:
        if self._controllers is not None:
            self._controllers.moved()

    async def stop(self) -> None:
        if self._module is not None:
            await asyncio.wait({self._module})
        if self._controllers is not None:
            await self._controllers.stop()


async def _both(one: Coroutine[Any, Any, None], other: Coroutine[Any, Any, None]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(one)
        group.create_task(other)


async def down(landscape: Landscape, *, purge: bool) -> bool:
    """Stop everything, whoever started it; tells whether there was anything. ``purge`` also deletes the data."""
    if not landscape.is_here:
        return False
    held = await _taken_from_others(landscape)
    try:
        await landscape.stop()
        if purge:
            landscape.purge()
    finally:
        os.close(held)
    return True


async def _taken_from_others(landscape: Landscape) -> int:
    """The landscape's lock, after whoever had it was stopped; and whoever waited for it, and had it next."""
    while True:
        await stop_keeper(landscape.directory)
        try:
            return landscape.take(to="down")
        except Busy:
            await asyncio.sleep(_LOOK_AGAIN)


async def _take_or_wait(landscape: Landscape, asked_to_stop: asyncio.Event, told: Callable[[str], None]) -> int | None:
    """The landscape's lock; or None once somebody else has brought it up, or we are to stop."""
    waiting = False
    while not asked_to_stop.is_set():
        try:
            return landscape.take()
        except Busy:
            if await is_ready(landscape):
                return None
        if not waiting:
            waiting = True
            told("another mooring process is at work on this landscape; waiting for it")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asked_to_stop.wait(), _LOOK_AGAIN)
    return None


async def is_ready(landscape: Landscape) -> bool:
    """Whether the platform answers that it is ready."""
    return landscape.exists and await landscape.platform.is_ready()


async def _unless(asked_to_stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do the work unless we are asked to stop before it is done; tells whether it was done."""
    task, asked = asyncio.create_task(work), asyncio.create_task(asked_to_stop.wait())
    try:
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
            return True
        return False
    finally:
        for one in (task, asked):
            one.cancel()
        await asyncio.gather(task, asked, return_exceptions=True)


def _stop_signals() -> asyncio.Event:
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    return asked
