"""Managers in tests: at work for the time of a block, killed at its end if that is the point, and waited for."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from mooring.kube import key_of, revision_of, typed
from mooring.runtime import Manager, Store

PATIENCE = 120.0  # seconds; only ever used up by a test that fails
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.3


async def until(ask: Callable[[], Any], what: str | Callable[[], Any], *, patience: float = PATIENCE) -> Any:
    """Ask until the answer is something true, and return it. ``what`` may be a function that tells what is seen."""
    deadline, pause = time.monotonic() + patience, _FIRST_PAUSE
    while True:
        answer = await _answer(ask)
        if answer:
            return answer
        if time.monotonic() > deadline:
            seen = what if isinstance(what, str) else await _answer(what)
            raise AssertionError(f"waited {patience:.0f} s in vain until {seen}")
        await asyncio.sleep(pause)
        # Who waits long asks less often: questions keep the machine from what is waited for.
        pause = min(pause * 1.3, _LONGEST_PAUSE)


@contextlib.asynccontextmanager
async def at_work(manager: Manager) -> AsyncIterator[Manager]:
    """An open manager at work, and stopped in good order afterwards."""
    task = asyncio.create_task(manager.run())
    try:
        await until(lambda: manager.working or task.done(), "the controllers work")
        yield manager
    finally:
        manager.stop()
        async with asyncio.timeout(PATIENCE):
            await task


@contextlib.asynccontextmanager
async def doomed(manager: Manager) -> AsyncIterator[Manager]:
    """A manager that is not open yet, at work; dropped at the end in the middle of what it does, as by SIGKILL."""
    await manager.__aenter__()
    task = asyncio.create_task(manager.run())
    try:
        await until(lambda: manager.working or task.done(), "the controllers work")
        yield manager
    finally:
        task.cancel()
        await asyncio.wait([task])
        await manager.__aexit__()


async def quiet(manager: Manager) -> None:
    """Wait until no controller has anything to do. What the server has still to tell may wake them again."""
    await until(lambda: not any(one.busy for one in manager.controllers), "all controllers are quiet")


async def heard(manager: Manager, *things: Any) -> None:
    """Wait until the controllers know these objects as they are here, or later, and have done what they will do."""
    for thing in things:
        known = partial(_knows, manager.store(typed(type(thing))), thing)
        await until(known, f"the controllers have heard of {key_of(thing)}")
    await quiet(manager)


def _knows(store: Store[Any], thing: Any) -> bool:
    known = store.get(key_of(thing))
    return known is not None and int(revision_of(known)) >= int(revision_of(thing))


async def _answer(ask: Callable[[], Any]) -> Any:
    answer = ask()
    return await answer if inspect.isawaitable(answer) else answer
