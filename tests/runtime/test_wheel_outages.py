"""Outages and crashes under load: every object ends as it should, and nothing is reconciled in a hot loop."""

import asyncio
import signal
from contextlib import asynccontextmanager, contextmanager

import pytest
from msgspec.structs import replace
from runtime_kit import LONG, PLAIN_THINGS, THINGS, Counting, Status, define_things, eventually, running, thing
from structlog.testing import capture_logs

from mooring.controlplane.binaries import fetch_binaries
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.processes import program_of
from mooring.controlplane.progress import Silent
from mooring.controlplane.toolsets import KUBERNETES
from mooring.kube import Client, MergePatch, ObjectKey, connection_from_document, key_of
from mooring.kube.tls import tls_context
from mooring.runtime import Controller, LeaseSettings, Manager, Outcome, Source, Writer, with_finalizer
from mooring.runtime.predicates import asked_for
from mooring.testing.builders import CONFIG_MAPS, NAMESPACES, config_map, namespace_object
from mooring.testing.faults import FaultProxy

COUNT = 60
# A run for each change, and one for each failure, with pauses that double: far from a loop.
MOST_RUNS = 40


class Following:
    """Says in each thing's status what it has seen of its spec."""

    def __init__(self, manager, namespace):
        self.store = manager.store(THINGS, namespace=namespace)
        self.counting = Counting(self._follow)
        self._writer = Writer(manager.client, THINGS, self.store)
        manager.add(Controller("following", self.counting, [Source(store=self.store, when=asked_for)]))

    async def _follow(self, key: ObjectKey) -> Outcome:
        seen = self.store.get(key)
        if seen is not None:
            status = Status(phase="Seen", seen=seen.spec.size)
            await self._writer.save(seen, replace(seen, status=status), guarded=True)
        return Outcome.await_change()

    async def has_caught_up(self, kube, namespace):
        """All objects are as they should be, on the server and in the store."""
        listing = await kube.list(THINGS, namespace=namespace)
        done = all(one.status is not None and one.status.seen == one.spec.size for one in listing.items)
        return done and {key_of(one): one for one in listing.items} == {key_of(one): one for one in self.store}


@asynccontextmanager
async def load(kube, namespace):
    """Things that others change, delete and create all the time."""
    changed, stopping = asyncio.Event(), asyncio.Event()

    async def change():
        for turn in range(1, 10_000):
            for number in range(0, COUNT, 7):
                name, step = f"n{(number + turn) % COUNT}", MergePatch({"spec": {"size": turn}})
                await kube.patch(PLAIN_THINGS, name, step, namespace=namespace)
            await kube.create(PLAIN_THINGS, thing(f"t{turn}", namespace))
            if turn % 2:
                await kube.delete(PLAIN_THINGS, f"t{turn}", namespace=namespace)
            changed.set()
            if stopping.is_set():
                return
            await asyncio.sleep(0.05)

    await asyncio.gather(*(kube.create(PLAIN_THINGS, thing(f"n{number}", namespace)) for number in range(COUNT)))
    changing = asyncio.create_task(change())
    try:
        await changed.wait()
        yield changed
    finally:
        stopping.set()
        await changing


async def test_the_api_server_goes_away_and_comes_back_under_load(kube, namespace, fault_proxy, things):
    settings = LeaseSettings(name="wheel", namespace=namespace)
    async with Manager(fault_proxy.connection, identity="one", lease=settings) as manager:
        following = Following(manager, namespace)
        with capture_logs():
            async with running(manager):
                async with load(kube, namespace) as changed:
                    for _ in range(3):
                        await fault_proxy.down()
                        for _ in range(5):  # the world goes on meanwhile
                            changed.clear()
                            await changed.wait()
                        await fault_proxy.up()
                        writes = fault_proxy.writes
                        await eventually(lambda writes=writes: fault_proxy.writes > writes + 20)
                await eventually(lambda: following.has_caught_up(kube, namespace))
    runs = following.counting.runs
    assert {f"n{number}" for number in range(COUNT)} <= set(runs)
    assert max(runs.values()) < MOST_RUNS, runs.most_common(5)


async def test_answers_that_are_lost_under_load(kube, namespace, fault_proxy, things):
    """Each seventh write is done and its answer lost; each eleventh never arrives."""
    async with Manager(fault_proxy.connection, identity="one") as manager:
        following = Following(manager, namespace)
        with capture_logs():
            async with running(manager):
                async with load(kube, namespace):
                    for _ in range(20):
                        after = fault_proxy.cut_after_write(7)
                        before = fault_proxy.cut_before_write(11)
                        await eventually(lambda after=after, before=before: after.spent and before.spent)
                await eventually(lambda: following.has_caught_up(kube, namespace))
    assert max(following.counting.runs.values()) < MOST_RUNS


@pytest.fixture
async def own_landscape(tmp_path):
    """A landscape to harm."""
    landscape = Landscape("outage", tmp_path / "landscape", fetch_binaries(KUBERNETES, progress=Silent()))
    try:
        await landscape.start()
        yield landscape
    finally:
        await landscape.stop()
        landscape.purge()


@contextmanager
def etcd_stopped(landscape):
    etcd = program_of(landscape.etcd.directory, "etcd").running()
    etcd.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        etcd.signal(signal.SIGCONT)
        etcd.release()


async def test_etcd_stops_and_goes_on_under_load(own_landscape):
    connection = connection_from_document(own_landscape.admin_kubeconfig())
    settings = LeaseSettings(name="wheel", namespace="outage", duration=4, deadline=3, retry=0.5)
    async with Client(connection) as kube, Manager(connection, identity="one", lease=settings) as manager:
        await kube.create(NAMESPACES, namespace_object("outage"))
        await define_things(kube)
        following = Following(manager, "outage")
        await asyncio.gather(*(kube.create(PLAIN_THINGS, thing(f"n{number}", "outage")) for number in range(COUNT)))
        with capture_logs() as logs:
            async with running(manager):
                await eventually(lambda: following.has_caught_up(kube, "outage"))
                # All that is under way when it stops hangs; the lease is lost, and taken again.
                steps = [
                    asyncio.create_task(_persistently(kube, f"n{number}", {"size": number + 1}))
                    for number in range(COUNT)
                ]
                with etcd_stopped(own_landscape):
                    await eventually(lambda: not manager.working)
                await asyncio.gather(*steps)
                await eventually(lambda: following.has_caught_up(kube, "outage"), 2 * LONG)
                assert manager.working
    assert "no longer leading; a candidate again" in [entry["event"] for entry in logs]
    runs = following.counting.runs
    assert set(runs) == {f"n{number}" for number in range(COUNT)}
    assert max(runs.values()) < MOST_RUNS, runs.most_common(5)


async def _persistently(kube, name, spec):
    """Somebody who changes an object, and tries until it is told that this is done."""

    async def done():
        try:
            return await kube.patch(PLAIN_THINGS, name, MergePatch({"spec": spec}), namespace="outage")
        except Exception:
            return None

    await eventually(done, 2 * LONG)


# Crashes


class Protocol:
    """Three writes: a finalizer, a child under a name that follows from the parent's, a status."""

    FINALIZER = "test.mooring.dev/child"

    def __init__(self, manager, namespace):
        self._things = manager.store(THINGS, namespace=namespace)
        self._children = manager.store(CONFIG_MAPS, namespace=namespace, label_selector="child")
        self._parents = Writer(manager.client, THINGS, self._things)
        self._writer = Writer(manager.client, CONFIG_MAPS, self._children)
        manager.add(Controller("protocol", self, [Source(store=self._things)]))

    async def reconcile(self, key: ObjectKey) -> Outcome:
        seen = self._things.get(key)
        if seen is None:
            return Outcome.await_change()
        finalizers = with_finalizer(seen.metadata.finalizers, self.FINALIZER)
        seen = await self._parents.save(seen, replace(seen, metadata=replace(seen.metadata, finalizers=finalizers)))
        if ObjectKey(key.namespace, f"child-{key.name}") not in self._children:
            await self._writer.create(config_map(f"child-{key.name}", key.namespace, labels={"child": "yes"}))
        await self._parents.save(seen, replace(seen, status=Status(phase="Done")))
        return Outcome.await_change()


@pytest.mark.parametrize("writes", [1, 2, 3])
async def test_a_crash_after_any_write_is_made_good(kube, landscape, namespace, things, writes):
    platform = landscape.platform
    context = tls_context(ca=platform.ca, certificate=platform.admin_certificate())
    await kube.create(PLAIN_THINGS, thing("a", namespace))
    async with FaultProxy(platform.server, ssl=context) as proxy:
        proxy.stop_after_write(writes)
        with capture_logs():
            async with Manager(proxy.connection, identity="crashing") as manager:
                Protocol(manager, namespace)
                crashing = asyncio.create_task(manager.run())
                await proxy.wait_until(lambda: proxy.is_down)
                crashing.cancel()
                await asyncio.wait([crashing])
        assert proxy.writes == writes
        await proxy.up()
        async with Manager(proxy.connection, identity="next") as manager:
            Protocol(manager, namespace)
            async with running(manager):

                async def done():
                    one = await kube.get(THINGS, "a", namespace=namespace)
                    return one.status is not None and one.status.phase == "Done"

                await eventually(done)
        assert proxy.writes == 3, "what was done is not done again"
    one = await kube.get(THINGS, "a", namespace=namespace)
    assert one.metadata.finalizers == (Protocol.FINALIZER,)
    listing = await kube.list(CONFIG_MAPS, namespace=namespace, label_selector="child")
    assert [key_of(child).name for child in listing.items] == ["child-a"]
    await kube.patch(PLAIN_THINGS, "a", MergePatch({"metadata": {"finalizers": None}}), namespace=namespace)
