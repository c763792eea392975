"""The two clocks: one that is moved by hand, and the machine's."""

import asyncio
import datetime

import pytest

from mooring.runtime import clock as clocks
from mooring.runtime.clock import SystemClock
from mooring.testing.clock import SimulatedClock


async def test_time_stands_still_until_it_is_moved():
    clock = SimulatedClock()
    before = clock.now()
    await clock.settle()
    assert (clock.elapsed(), clock.now()) == (0.0, before)
    await clock.advance(90)
    assert clock.elapsed() == 90
    assert clock.now() - before == datetime.timedelta(seconds=90)
    assert clock.now().tzinfo is datetime.UTC


async def test_timers_ring_in_their_order_and_at_their_own_moment():
    clock, rung = SimulatedClock(), []
    clock.call_at(3, lambda: rung.append(("later", clock.elapsed())))
    clock.call_at(1, lambda: rung.append(("first", clock.elapsed())))
    clock.call_at(1, lambda: rung.append(("second", clock.elapsed())))
    clock.call_at(2, lambda: rung.append(("never", clock.elapsed()))).cancel()
    # What a timer sets rings in the same stretch of time, if it falls into it.
    clock.call_at(1.5, lambda: clock.call_at(2.5, lambda: rung.append(("nested", clock.elapsed()))))
    await clock.advance(2.75)
    assert rung == [("first", 1), ("second", 1), ("nested", 2.5)]
    await clock.advance(1)
    assert rung[-1] == ("later", 3)


async def test_a_timer_for_the_past_rings_with_the_next_move():
    clock, rung = SimulatedClock(), []
    await clock.advance(5)
    clock.call_at(1, lambda: rung.append(clock.elapsed()))
    await clock.advance(0)
    assert rung == [5]


async def test_sleepers_wake_in_turn_and_may_sleep_again():
    clock, woken = SimulatedClock(), []

    async def nap(name, *seconds):
        for one in seconds:
            await clock.sleep(one)
            woken.append((name, clock.elapsed()))

    async with asyncio.TaskGroup() as group:
        group.create_task(nap("a", 1, 1, 1))
        group.create_task(nap("b", 1.5, 1))
        await clock.advance(10)
    assert woken == [("a", 1), ("b", 1.5), ("a", 2), ("b", 2.5), ("a", 3)]


async def test_a_sleeper_that_is_cancelled_is_forgotten():
    clock = SimulatedClock()
    sleeper = asyncio.create_task(clock.sleep(1))
    await clock.settle()
    sleeper.cancel()
    await asyncio.wait([sleeper])
    await clock.advance(2)
    assert sleeper.cancelled()


async def test_time_does_not_go_back():
    with pytest.raises(ValueError, match="back"):
        await SimulatedClock().advance(-1)


async def test_the_machines_clock_rings():
    clock, rung = SystemClock(), asyncio.Event()
    due = clock.elapsed() + 0.01
    clock.call_at(due, rung.set)
    clock.call_at(due, lambda: pytest.fail("was called off")).cancel()
    async with asyncio.timeout(120):
        await rung.wait()
    assert clock.elapsed() >= due
    assert clock.now().tzinfo is datetime.UTC


async def test_the_machines_timers_count_the_time_that_it_slept(monkeypatch):
    class Laptop(SystemClock):
        slept = 0.0

        def elapsed(self):
            return super().elapsed() + self.slept

    monkeypatch.setattr(clocks, "_LONGEST_NAP", 0.01)
    clock, rung = Laptop(), asyncio.Event()
    clock.call_at(clock.elapsed() + 8 * 3600, rung.set)
    await asyncio.sleep(0.03)
    assert not rung.is_set()
    clock.slept = 8 * 3600
    async with asyncio.timeout(120):
        await rung.wait()


async def test_the_machines_timers_ring_when_the_calendar_is_set_forward(monkeypatch):
    """Whoever waits for the end of a token would otherwise wait for as long as it once seemed to be."""

    class Corrected(SystemClock):
        by = datetime.timedelta()

        def now(self):
            return super().now() + self.by

    monkeypatch.setattr(clocks, "_LONGEST_NAP", 0.01)
    clock, rung, later = Corrected(), asyncio.Event(), asyncio.Event()
    timers = [clock.call_at(clock.elapsed() + hours * 3600, call) for hours, call in ((8, rung.set), (9, later.set))]
    await asyncio.sleep(0.03)
    assert not rung.is_set()
    clock.by = datetime.timedelta(hours=8)
    async with asyncio.timeout(120):
        await rung.wait()
    await asyncio.sleep(0.03)
    assert not later.is_set()
    for timer in timers:
        timer.cancel()
