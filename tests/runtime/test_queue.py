"""The queue, on a clock that is moved by hand."""

import asyncio
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mooring.runtime.queue import FIRST_PAUSE, LONGEST_PAUSE, Queue, QueueClosed
from mooring.testing.clock import SimulatedClock


@pytest.fixture
def clock():
    return SimulatedClock()


@pytest.fixture
def queue(clock):
    return Queue(clock, spread=lambda: 1.0)


async def take(queue):
    key, _ = await queue.get()
    return key


async def test_a_key_is_in_the_queue_once(queue):
    for key in ("a", "b", "a", "a"):
        queue.add(key)
    assert len(queue) == 2
    assert [await take(queue), await take(queue)] == ["a", "b"]
    assert (len(queue), queue.running) == (0, 2)


async def test_a_key_is_never_handed_out_twice_at_once(queue, clock):
    queue.add("a")
    await take(queue)
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await take(queue) == "a"
    queue.done("a")
    assert (len(queue), queue.running, queue.waiting) == (0, 0, 0)


async def test_the_wait_is_told(queue, clock):
    queue.add("a")
    await clock.advance(3)
    assert await queue.get() == ("a", 3.0)


async def test_a_delayed_key_comes_when_it_is_due(queue, clock):
    queue.add("a")
    queue.done(await take(queue), after=10)
    await clock.advance(9.9)
    assert (len(queue), queue.waiting) == (0, 1)
    await clock.advance(0.1)
    assert (len(queue), queue.waiting) == (1, 0)


async def test_a_change_brings_a_delayed_key_forward_and_calls_its_timer_off(queue, clock):
    queue.add("a")
    queue.done(await take(queue), after=10)
    queue.add("a")
    queue.done(await take(queue))
    await clock.advance(100)
    assert (len(queue), queue.waiting) == (0, 0)


async def test_a_timer_does_not_outlive_a_later_look(queue, clock):
    queue.add("a")
    queue.done(await take(queue), after=10)
    queue.add("a")
    queue.done(await take(queue), after=50)
    await clock.advance(49)
    assert len(queue) == 0
    await clock.advance(1)
    assert len(queue) == 1


async def test_pauses_grow_up_to_a_limit_and_begin_anew_after_success(queue, clock):
    queue.add("a")
    pauses = []
    for _ in range(16):
        pauses.append(queue.failed(await take(queue)))
        await clock.advance(pauses[-1])
    assert pauses[:4] == [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4, FIRST_PAUSE * 8]
    assert pauses[-1] == LONGEST_PAUSE
    queue.done(await take(queue))
    queue.add("a")
    assert queue.failed(await take(queue)) == FIRST_PAUSE


async def test_a_key_may_fail_for_ever(queue, clock):
    queue.add("a")
    for _ in range(1_100):  # more often than a float has powers of two
        await clock.advance(queue.failed(await take(queue)))
    assert len(queue) == 1


@pytest.mark.parametrize("draw", [0.0, 0.5, 1.0])
async def test_pauses_are_spread_over_their_upper_half(clock, draw):
    queue = Queue(clock, spread=lambda: draw)
    queue.add("a")
    assert queue.failed(await take(queue)) == FIRST_PAUSE * (0.5 + draw / 2)


async def test_a_change_after_a_failure_waits_a_second(queue, clock):
    queue.add("a")
    for _ in range(8):
        pause = queue.failed(await take(queue))
        await clock.advance(pause)
    assert queue.failed(await take(queue)) > 10
    queue.add("a")
    await clock.advance(0.9)
    assert len(queue) == 0
    await clock.advance(0.1)
    assert len(queue) == 1


async def test_one_that_wakes_itself_and_fails_runs_about_once_a_second(queue, clock):
    runs = 0

    async def work():
        nonlocal runs
        while True:
            key = await take(queue)
            runs += 1
            queue.add(key)  # as by its own write
            queue.failed(key)

    worker = asyncio.create_task(work())
    queue.add("a")
    await clock.advance(60)
    worker.cancel()
    await asyncio.wait([worker])
    assert 55 <= runs <= 70


async def test_one_that_always_fails_delays_nobody(queue, clock):
    seen = []

    async def work():
        while True:
            key = await take(queue)
            seen.append((key, clock.elapsed()))
            if key == "bad":
                queue.failed(key)
            else:
                queue.done(key)

    worker = asyncio.create_task(work())
    queue.add("bad")
    for number in range(100):
        queue.add("bad")
        queue.add(number)
        await clock.advance(0.5)
    worker.cancel()
    await asyncio.wait([worker])
    assert [(key, when) for key, when in seen if key != "bad"] == [(number, number * 0.5) for number in range(100)]
    assert sum(key == "bad" for key, _ in seen) < 60


async def test_keys_come_out_in_the_order_they_went_in(queue):
    for number in range(10):
        queue.add(number)
    first = await take(queue)
    queue.add(first)
    queue.done(first)
    assert [await take(queue) for _ in range(10)] == [*range(1, 10), 0]


async def test_closing_hands_out_nothing_more_but_lets_work_end(queue, clock):
    queue.add("running")
    await take(queue)
    queue.add("waiting")
    await take(queue)
    queue.done("waiting", after=5)
    queue.add("due")
    queue.close()
    with pytest.raises(QueueClosed):
        await queue.get()
    queue.add("late")
    queue.add("running")
    queue.done("running", after=1)
    await clock.advance(10)
    assert (len(queue), queue.running, queue.waiting) == (0, 0, 0)
    with pytest.raises(QueueClosed):
        await queue.get()


async def test_closing_wakes_those_who_wait(queue):
    takers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()
    ends = await asyncio.gather(*takers, return_exceptions=True)
    assert [type(end) for end in ends] == [QueueClosed] * 3


async def test_a_taker_that_is_cancelled_passes_the_call_on(queue):
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await asyncio.sleep(0)
    queue.add("a")  # wakes the first ...
    first.cancel()  # ... which is cancelled before it runs
    async with asyncio.timeout(120):
        assert (await second)[0] == "a"
    await asyncio.wait([first])
    assert first.cancelled()


async def test_takers_that_gave_up_are_forgotten(queue):
    for _ in range(10):
        taker = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        taker.cancel()
        await asyncio.wait([taker])
    assert not queue._takers
    queue.add("a")
    assert await take(queue) == "a"


async def test_many_workers_never_share_a_key(queue, clock):
    running, most, runs = Counter(), Counter(), Counter()

    async def work():
        while True:
            try:
                key = await take(queue)
            except QueueClosed:
                return
            running[key] += 1
            most[key] = max(most[key], running[key])
            runs[key] += 1
            await clock.sleep(0.1)
            running[key] -= 1
            queue.done(key)

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(work())
        for _ in range(50):
            for key in range(5):
                queue.add(key)
            await clock.advance(0.05)
        await clock.advance(1)
        queue.close()
    assert set(most.values()) == {1}
    assert all(count > 10 for count in runs.values())


class QueueMachine(RuleBasedStateMachine):
    """Against a model that knows for each key when it must come out."""

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = SimulatedClock()
        self.queue = Queue(self.clock, spread=lambda: 1.0)
        self.due = {}  # key to when it is, or was, to come
        self.running = {}  # key to whether it is due again
        self.failed = {}  # key to when it last failed

    keys = st.sampled_from("abc")

    def _change(self, key):
        earliest = max(self.clock.elapsed(), self.failed.get(key, -1.0) + 1.0)
        self.due[key] = min(self.due.get(key, earliest), earliest)

    @rule(key=keys)
    def add(self, key):
        self.queue.add(key)
        if key in self.running:
            self.running[key] = True
        else:
            self._change(key)

    @rule(seconds=st.sampled_from([0.01, 0.3, 1.0, 7.0]))
    def pass_time(self, seconds):
        self.runner.run(self.clock.advance(seconds))

    @precondition(lambda self: any(when <= self.clock.elapsed() for when in self.due.values()))
    @rule()
    def take(self):
        key, _ = self.runner.run(asyncio.wait_for(self.queue.get(), 10))
        assert key not in self.running
        assert self.due.pop(key) <= self.clock.elapsed()
        self.running[key] = False

    def _leave(self, key):
        if self.running.pop(key):
            self._change(key)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), after=st.none() | st.sampled_from([0.5, 5.0]))
    def end(self, data, after):
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.queue.done(key, after=after)
        self.failed.pop(key, None)
        if after is not None:
            self.due[key] = self.clock.elapsed() + after
        self._leave(key)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def fail(self, data):
        key = data.draw(st.sampled_from(sorted(self.running)))
        pause = self.queue.failed(key)
        self.failed[key] = self.clock.elapsed()
        self.due[key] = self.clock.elapsed() + pause
        self._leave(key)

    @invariant()
    def what_is_due_is_there(self):
        self.runner.run(self.clock.advance(0))
        due = sum(when <= self.clock.elapsed() for when in self.due.values())
        assert (len(self.queue), self.queue.waiting) == (due, len(self.due) - due)
        assert self.queue.running == len(self.running)

    def teardown(self):
        self.queue.close()
        self.runner.close()


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
