"""A coroutine gets its event loop where it needs one, and what it has begun before goes on in it."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from mooring.clusterctl.looping import loop_needed, run


def test_what_never_waits_has_no_loop():
    async def reading() -> str:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return "read"

    assert run(reading()) == "read"


def test_what_was_begun_before_the_loop_goes_on_in_it():
    told = []

    @contextlib.asynccontextmanager
    async def opened():
        told.append("opened")
        try:
            yield
        finally:
            await asyncio.sleep(0)
            told.append("closed")

    async def asking() -> int:
        async with opened():
            await loop_needed()
            await loop_needed()  # which it has by now
            first, second = await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))
            told.append("asked")
        return first + second

    assert run(asking()) == 3
    assert told == ["opened", "asked", "closed"]


@pytest.mark.parametrize("waits", [False, True])
def test_errors_come_out(waits):
    async def failing() -> None:
        if waits:
            await loop_needed()
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        run(failing())


def test_who_waits_without_having_asked_is_told():
    async def careless() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="did not ask for a loop"):
        run(careless())


async def test_within_a_loop_nothing_has_to_be_asked_for():
    await loop_needed()
