"""Leader election on the real server's Leases, with a clock that is moved by hand."""

import asyncio
import re

import pytest
from runtime_kit import LONG, eventually
from structlog.testing import capture_logs

from mooring.kube import Client, MergePatch
from mooring.kube.errors import NotFound
from mooring.runtime.leader import LEASES, Leader, LeadershipLost, LeaseSettings, NotLeader
from mooring.testing.clock import SimulatedClock
from mooring.testing.fault_rules import where

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
def clock():
    return SimulatedClock()


@pytest.fixture
def settings(namespace):
    return LeaseSettings(name="wheel", namespace=namespace)


@pytest.fixture
def lease(kube, settings):
    async def read():
        return (await kube.get(LEASES, settings.name, namespace=settings.namespace))["spec"]

    return read


def candidate(client, settings, clock, identity="one"):
    return Leader(client, settings, clock, identity=identity)


async def wait_for_turn(clock, task, seconds):
    """Let so much time pass in small steps, with real answers in between; whether the task has ended by then."""
    for _ in range(round(seconds / 0.5)):
        if task.done():
            break
        await clock.advance(0.5)
        await asyncio.sleep(0.02)
    return task.done()


async def takes_its_turn(clock, task):
    """Let time pass until the task has ended. How much is not said: answers may be slow, and time goes on meanwhile."""
    async with asyncio.timeout(LONG):
        while not await wait_for_turn(clock, task, 1):
            pass
    await task


class Keeping:
    """A leader that renews, step by step."""

    def __init__(self, leader, clock):
        self.task = asyncio.create_task(leader.keep())
        self._leader = leader
        self._clock = clock

    async def __aenter__(self):
        await self._clock.settle()
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.wait([self.task])

    async def renewal(self, seconds=2.0):
        """Let the next renewal happen, and its answer come: only then does the leader wait for the one after it."""
        before = self._leader._deadline
        await self._clock.advance(seconds)
        await eventually(lambda: self._leader._deadline != before)


@pytest.mark.parametrize(("retry", "deadline", "duration"), [(2, 2, 15), (2, 15, 15), (11, 10, 15), (2, 20, 15)])
def test_times_that_are_not_safe_are_refused(retry, deadline, duration):
    with pytest.raises(ValueError, match="retry < deadline < duration"):
        LeaseSettings(retry=retry, deadline=deadline, duration=duration)


async def test_the_first_who_comes_leads(kube, settings, clock, lease):
    leader = candidate(kube, settings, clock)
    assert not leader.leading
    with pytest.raises(NotLeader):
        leader.guard()
    await leader.acquire()
    leader.guard()
    spec = await lease()
    # As Kubernetes' own components write it, so that their tools can read it.
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("one", 15, 0)
    assert MICRO_TIME.fullmatch(spec["renewTime"])
    assert MICRO_TIME.fullmatch(spec["acquireTime"])


async def test_the_guard_closes_at_the_deadline(kube, settings, clock):
    leader = candidate(kube, settings, clock)
    await leader.acquire()
    await clock.advance(9.999)
    leader.guard()
    await clock.advance(0.001)
    with pytest.raises(NotLeader, match="one"):
        leader.guard()


async def test_the_deadline_counts_from_before_the_request(fault_proxy, settings, clock):
    """Time that passes while the lease is being written is not ours."""
    held = fault_proxy.delay(0.2, matching=where(verb="create"))
    async with Client(fault_proxy.connection) as client:
        leader = candidate(client, settings, clock)
        acquiring = asyncio.create_task(leader.acquire())
        await fault_proxy.wait_for(where(verb="create"))
        await clock.advance(6)
        await acquiring
    assert held.hits == 1
    await clock.advance(3.9)
    leader.guard()
    await clock.advance(0.2)
    assert not leader.leading


async def test_a_leader_that_renews_stays(kube, settings, clock, lease):
    leader = candidate(kube, settings, clock)
    await leader.acquire()
    acquired = (await lease())["acquireTime"]
    async with Keeping(leader, clock) as keeping:
        for _ in range(12):
            await keeping.renewal()
            leader.guard()
        assert not keeping.task.done()
    spec = await lease()
    assert (spec["acquireTime"], spec["leaseTransitions"]) == (acquired, 0)


async def test_another_takes_over_only_what_was_not_renewed_for_its_whole_duration(kube, settings, clock, lease):
    old, new = candidate(kube, settings, clock), candidate(kube, settings, clock, "two")
    await old.acquire()
    await clock.advance(9)  # how long nobody renewed before we looked does not count
    waiting = asyncio.create_task(new.acquire())
    await eventually(lambda: new._seen)
    assert not await wait_for_turn(clock, waiting, 14)
    assert not new.leading
    assert not old.leading, "the old one must have stopped before"
    await takes_its_turn(clock, waiting)
    new.guard()
    spec = await lease()
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 1)
    assert spec["acquireTime"] == spec["renewTime"]
    # The old one learns of it as soon as it tries.
    old._deadline = clock.elapsed() + 5
    with pytest.raises(LeadershipLost, match="two"):
        await old._renew()
    assert not old.leading


async def test_each_renewal_makes_the_others_wait_anew(kube, settings, clock, lease):
    old, new = candidate(kube, settings, clock), candidate(kube, settings, clock, "two")
    await old.acquire()
    waiting = asyncio.create_task(new.acquire())
    async with Keeping(old, clock) as keeping:
        for _ in range(15):
            await keeping.renewal()
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])


async def test_a_lease_given_back_is_taken_at_once(kube, settings, clock, lease):
    old, new = candidate(kube, settings, clock), candidate(kube, settings, clock, "two")
    await old.acquire()
    await old.release()
    with pytest.raises(NotLeader):
        old.guard()
    assert not (await lease()).get("holderIdentity")
    await new.acquire()
    assert (await lease())["leaseTransitions"] == 1
    await old.release()  # once more changes nothing
    assert (await lease())["holderIdentity"] == "two"


async def test_a_lease_that_is_lost_is_not_given_back(kube, settings, clock, lease):
    old, new = candidate(kube, settings, clock), candidate(kube, settings, clock, "two")
    await old.acquire()
    await clock.advance(10)
    await old.release()
    assert (await lease())["holderIdentity"] == "one"
    await takes_its_turn(clock, asyncio.create_task(new.acquire()))


async def test_who_cannot_renew_loses(fault_proxy, settings, clock):
    async with Client(fault_proxy.connection) as client:
        leader = candidate(client, settings, clock)
        await leader.acquire()
        keeping = asyncio.create_task(leader.keep())
        await fault_proxy.down()
        with capture_logs():
            async with asyncio.timeout(LONG):
                while not keeping.done():
                    await clock.advance(0.5)
                    assert leader.leading == (clock.elapsed() < 10)
                    await asyncio.sleep(0.01)
        with pytest.raises(LeadershipLost, match="in time"):
            await keeping
        await fault_proxy.up()


async def test_a_renewal_whose_answer_was_lost_is_found_out(fault_proxy, settings, clock, lease):
    async with Client(fault_proxy.connection) as client:
        leader = candidate(client, settings, clock)
        await leader.acquire()
        async with Keeping(leader, clock) as keeping:
            fault_proxy.cut_after_write(matching=where(resource="leases"))
            before, known = await lease(), leader._lease
            with capture_logs() as logs:
                await clock.advance(2)
                await eventually(lambda: logs)
                assert (await lease())["renewTime"] != before["renewTime"], "it was done, but we do not know"
                await clock.advance(2)  # refused: the lease has moved on
                await eventually(lambda: leader._lease is not known)
                await keeping.renewal()
            leader.guard()
            assert not keeping.task.done()


async def test_a_lease_that_somebody_deletes_is_lost_and_not_taken_early(kube, settings, clock):
    old, new = candidate(kube, settings, clock), candidate(kube, settings, clock, "two")
    await old.acquire()
    waiting = asyncio.create_task(new.acquire())
    await eventually(lambda: new._seen)
    await kube.delete(LEASES, settings.name, namespace=settings.namespace)
    assert not await wait_for_turn(clock, waiting, 8)
    assert old.leading
    with pytest.raises(LeadershipLost):
        await old._renew()
    assert not old.leading
    await takes_its_turn(clock, waiting)


async def test_what_keeps_us_from_the_lease_is_told(kube, clock):
    settings = LeaseSettings(name="wheel", namespace="there-is-no-such-namespace")
    with capture_logs() as logs:
        waiting = asyncio.create_task(candidate(kube, settings, clock).acquire())
        await eventually(lambda: logs)
        waiting.cancel()
        await asyncio.wait([waiting])
    assert "there-is-no-such-namespace" in logs[0]["error"]


async def test_of_two_at_once_one_wins(kube, settings, clock):
    leaders = [candidate(kube, settings, clock, f"candidate-{number}") for number in range(8)]
    tries = await asyncio.gather(*(leader._try_to_take() for leader in leaders))
    assert sorted(tries) == [False] * 7 + [True]
    assert [leader.leading for leader in leaders] == tries


async def test_a_lease_of_kubernetes_own_making_is_respected(kube, settings, clock, lease):
    """Written by client-go, without the fields that may be missing."""
    metadata = {"name": settings.name, "namespace": settings.namespace}
    spec = {"holderIdentity": "pod-1_8a2c", "leaseDurationSeconds": 5, "renewTime": "2026-01-01T00:00:00.000000Z"}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    await kube.create(LEASES, {**body, "spec": spec})
    new = candidate(kube, settings, clock)
    waiting = asyncio.create_task(new.acquire())
    await eventually(lambda: new._seen)
    assert not await wait_for_turn(clock, waiting, 4.5)
    await takes_its_turn(clock, waiting)
    taken = await lease()
    assert (taken["holderIdentity"], taken["leaseTransitions"]) == ("one", 1)


async def test_a_lease_without_a_spec_is_anyones(kube, settings, clock, lease):
    metadata = {"name": settings.name, "namespace": settings.namespace}
    await kube.create(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})
    await candidate(kube, settings, clock).acquire()
    assert (await lease())["holderIdentity"] == "one"


async def test_the_guard_is_asked_when_a_write_is_sent(connection, kube, settings, clock, namespace):
    leader = candidate(kube, settings, clock)
    await leader.acquire()
    async with Client(connection, guard=leader.guard) as client:
        change = MergePatch({"metadata": {"annotations": {"by": "us"}}})
        await client.patch(LEASES, settings.name, change, namespace=namespace)
        await clock.advance(10)
        await client.get(LEASES, settings.name, namespace=namespace)  # reading is not forbidden
        deeds = [
            client.patch(LEASES, settings.name, MergePatch({"spec": {"holderIdentity": "x"}}), namespace=namespace),
            client.delete(LEASES, settings.name, namespace=namespace),
            client.create(LEASES, {"metadata": {"name": "other", "namespace": namespace}}),
            client.raw("POST", f"/api/v1/namespaces/{namespace}/configmaps"),
        ]
        for deed in deeds:
            with pytest.raises(NotLeader):
                await deed
    assert (await kube.get(LEASES, settings.name, namespace=namespace))["spec"]["holderIdentity"] == "one"
    with pytest.raises(NotFound):
        await kube.get(LEASES, "other", namespace=namespace)


async def test_the_guard_is_asked_once_more_before_the_first_byte(connection, kube, namespace):
    """A body may be sent by a task of its own: what the loop does in between must not make a write late."""
    asked = []

    def only_the_first():
        asked.append(None)
        if len(asked) > 1:
            raise NotLeader("late")

    async with Client(connection, guard=only_the_first) as client:
        with pytest.raises(NotLeader):
            await client.create(LEASES, {"metadata": {"name": "late", "namespace": namespace}})
        assert len(asked) == 2
        await client.list(LEASES, namespace=namespace)
    with pytest.raises(NotFound):
        await kube.get(LEASES, "late", namespace=namespace)
