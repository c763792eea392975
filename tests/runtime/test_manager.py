"""The manager on the real server: its life, its lease, its end."""

import asyncio
import signal
from pathlib import Path

import aiohttp
import pytest
from runtime_kit import LONG, PLAIN_THINGS, THINGS, Counting, eventually, running, thing
from structlog.testing import capture_logs
from wheel_processes import process

from mooring.kube import key_of
from mooring.kube.errors import BadRequest
from mooring.runtime import Controller, LeaseSettings, Manager, Outcome, Source, Writer
from mooring.runtime.endpoints import endpoints
from mooring.runtime.leader import LEASES
from mooring.runtime.recorder import EVENTS
from mooring.testing.builders import CONFIG_MAPS, config_map
from mooring.testing.clock import SimulatedClock
from mooring.testing.fault_rules import where

STOPPING = Path(__file__).with_name("stopping_process.py")


def quick_lease(namespace, **times):
    return LeaseSettings(name="wheel", namespace=namespace, **{"duration": 30, "deadline": 20, "retry": 0.2, **times})


def counting(manager, namespace, deed=None, name="counting"):
    """A controller of the namespace's ConfigMaps that are labelled for it."""
    reconciler = Counting(deed)
    store = manager.store(CONFIG_MAPS, namespace=namespace, label_selector="ours")
    manager.add(Controller(name, reconciler, [Source(store=store)]))
    return reconciler


def ours(name, namespace):
    return config_map(name, namespace, labels={"ours": "yes"})


# Its life


async def test_stores_are_shared_by_those_who_ask_for_the_same(connection):
    by_size, manager = lambda one: (one.spec.size,), Manager(connection, identity="one")
    store = manager.store(THINGS, indexes={"size": by_size})
    assert manager.store(THINGS) is store
    assert manager.store(THINGS, indexes={"size": by_size, "owner": lambda one: (one.spec.owner,)}) is store
    others = [
        manager.store(PLAIN_THINGS),
        manager.store(THINGS, namespace="n"),
        manager.store(THINGS, label_selector="a"),
        manager.store(THINGS, field_selector="metadata.name=a"),
    ]
    assert len({id(one) for one in [store, *others]}) == 5
    with pytest.raises(ValueError, match="size"):
        manager.store(THINGS, indexes={"size": lambda one: ()})


async def test_it_works_until_it_is_stopped(connection, kube, namespace):
    await kube.create(CONFIG_MAPS, ours("before", namespace))
    async with Manager(connection, identity="one") as manager:
        reconciler = counting(manager, namespace)
        assert not manager.ready
        async with running(manager):
            assert manager.ready
            await kube.create(CONFIG_MAPS, ours("later", namespace))
            await eventually(lambda: reconciler.runs == {"before": 1, "later": 1})
        assert not manager.ready


async def test_what_waiting_cannot_mend_ends_it(connection, namespace):
    async with Manager(connection, identity="one", lease=quick_lease(namespace)) as manager:
        manager.store(CONFIG_MAPS, field_selector="there.is.no.such.field=x")
        async with asyncio.timeout(LONG):
            with pytest.raises(BadRequest):
                await manager.run()


async def test_a_store_does_not_take_in_what_its_watch_would_never_take_out(connection, kube, namespace):
    async with Manager(connection, identity="one") as manager:
        store = manager.store(CONFIG_MAPS, namespace=namespace, label_selector="ours")
        writer = Writer(manager.client, CONFIG_MAPS, store)
        async with running(manager):
            made = await writer.create(ours("a", namespace))
            await writer.create(config_map("stranger", namespace))
            assert [key_of(one).name for one in store] == ["a"]
            # Taking the label away takes it out, at once and for good.
            await writer.save(made, {**made, "metadata": {**made["metadata"], "labels": {"other": "x"}}})
            assert len(store) == 0
            back = await kube.create(CONFIG_MAPS, ours("b", namespace))
            await eventually(lambda: key_of(back) in store)
            assert len(store) == 1


async def test_a_reconcile_that_does_not_end_is_cut_off(connection, kube, namespace):
    async def hang(key):
        await asyncio.Event().wait()

    await kube.create(CONFIG_MAPS, ours("a", namespace))
    async with Manager(connection, identity="one", grace=0.1) as manager:
        reconciler = counting(manager, namespace, hang)
        with capture_logs() as logs:
            async with running(manager):
                await eventually(lambda: reconciler.runs)
    assert "some reconciles did not end in time and are cut off" in [entry["event"] for entry in logs]


async def test_sigterm_finishes_what_runs_and_begins_nothing(landscape, kube, namespace, tmp_path):
    platform = landscape.platform

    def slow(name):
        return config_map(name, namespace, labels={"slow": "yes"})

    for name in ("a", "b"):
        await kube.create(CONFIG_MAPS, slow(name))
    async with process(STOPPING, platform, "stopping", namespace, tmp_path) as child:
        for name in ("a", "b"):
            await child.until_said(f"begun.{name}")
        child.signal(signal.SIGTERM)
        await child.until_said("stopping")
        await kube.create(CONFIG_MAPS, slow("late"))
        await child.until_said("heard.late")
        child.tell("go")
        await child.until_said("ended")
    for name in ("a", "b"):
        found = await kube.get(CONFIG_MAPS, name, namespace=namespace)
        assert found["data"] == {"first": "done", "second": "done"}
    late = await kube.get(CONFIG_MAPS, "late", namespace=namespace)
    assert "data" not in late
    assert sorted(word for word in child.said if word.startswith("@begun")) == ["@begun.a", "@begun.b"]
    lease = await kube.get(LEASES, "mooring", namespace=namespace)
    assert not lease["spec"].get("holderIdentity"), "it was given back"


# Its background jobs


async def test_a_background_job_runs_while_controllers_do(connection, kube, namespace):
    told = []

    async def job():
        told.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            told.append("cancelled")

    async def ends():
        told.append("ended")

    async with Manager(connection, identity="one") as manager:
        reconciler = counting(manager, namespace)
        manager.background(job)
        manager.background(ends)
        assert told == []
        async with running(manager):
            await kube.create(CONFIG_MAPS, ours("a", namespace))
            await eventually(lambda: reconciler.runs and len(told) == 2)
            assert told == ["begun", "ended"]
            assert manager.working, "a job that ends, ends nothing else"
    assert told == ["begun", "ended", "cancelled"]


async def test_a_background_job_that_fails_begins_again_after_a_pause(connection, namespace):
    clock, begun = SimulatedClock(), []

    async def job():
        begun.append(clock.elapsed())
        if len(begun) < 3:
            raise RuntimeError("not yet")
        await asyncio.Event().wait()

    async with Manager(connection, identity="one", clock=clock) as manager:
        manager.background(job)
        with capture_logs() as logs:
            async with running(manager):
                await clock.settle()
                assert begun == [0.0]
                await clock.advance(0.9)
                assert begun == [0.0]
                await clock.advance(10)
                assert begun == [0.0, 1.0, 2.0]
                assert manager.working
    failures = [entry for entry in logs if entry["event"] == "a background job failed; it begins again"]
    assert [str(entry["exc_info"]) for entry in failures] == ["not yet"] * 2


async def test_background_jobs_belong_to_a_term(connection, kube, namespace):
    begun, ended = [], []

    async def job():
        begun.append(manager.leader.leading)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(manager.working)

    async with Manager(connection, identity="one", lease=quick_lease(namespace)) as manager:
        counting(manager, namespace)
        manager.background(job)
        async with running(manager):
            await eventually(lambda: begun)
            lease = await kube.get(LEASES, "wheel", namespace=namespace)
            await _steal(kube, lease, {**lease["spec"], "holderIdentity": "thief", "leaseDurationSeconds": 1})
            await eventually(lambda: len(begun) == 2)
            assert begun == [True, True]
            assert ended == [False]
    assert ended == [False, False]


async def test_its_recorder_tells_events_in_its_name(connection, kube, namespace):
    about = await kube.create(CONFIG_MAPS, ours("a", namespace))
    async with Manager(connection, identity="one") as manager:
        manager.recorder.tell(about, "v1", "ConfigMap", reason="Seen", action="Looking", note="It is there.")
        async with running(manager), asyncio.timeout(LONG):
            await manager.recorder.flush()
    [event] = (await kube.list(EVENTS, namespace=namespace, field_selector="reason=Seen")).items
    assert (event["reportingController"], event["reportingInstance"]) == ("mooring", "one")


# Its lease


async def test_a_new_leader_lists_after_it_got_the_lease(fault_proxy, kube, namespace):
    await kube.create(CONFIG_MAPS, ours("a", namespace))
    async with Manager(fault_proxy.connection, identity="one", lease=quick_lease(namespace)) as manager:
        reconciler = counting(manager, namespace)
        async with running(manager):
            await eventually(lambda: reconciler.runs)
    seen = list(fault_proxy.requests)
    taken = next(index for index, request in enumerate(seen) if request.resource == "leases" and request.is_write)
    reads = [index for index, request in enumerate(seen) if request.resource == "configmaps"]
    assert reads
    assert min(reads) > taken
    # Consistent: the server was not told that an old state would do.
    assert "resourceVersion" not in seen[min(reads)].query


async def test_a_second_term_begins_with_a_fresh_look(fault_proxy, kube, namespace):
    await kube.create(CONFIG_MAPS, ours("a", namespace))
    await kube.create(CONFIG_MAPS, ours("b", namespace))
    settings = quick_lease(namespace)
    with capture_logs() as logs:
        async with Manager(fault_proxy.connection, identity="one", lease=settings) as manager:
            reconciler = counting(manager, namespace)
            async with running(manager):
                await eventually(lambda: reconciler.runs == {"a": 1, "b": 1})
                lease = await kube.get(LEASES, "wheel", namespace=namespace)
                stolen = {**lease["spec"], "holderIdentity": "thief", "leaseDurationSeconds": 1}
                await _steal(kube, lease, stolen)
                await eventually(lambda: not manager.working)
                assert manager.ready, "it waits for its turn"
                await kube.delete(CONFIG_MAPS, "b", namespace=namespace)
                await eventually(lambda: reconciler.runs["a"] == 2)
                assert reconciler.runs["b"] == 1
                assert len(manager.store(CONFIG_MAPS, namespace=namespace, label_selector="ours")) == 1
    assert "no longer leading; a candidate again" in [entry["event"] for entry in logs]


async def _steal(kube, lease, spec):
    async def stolen():
        current = await kube.get(LEASES, lease["metadata"]["name"], namespace=lease["metadata"]["namespace"])
        try:
            return await kube.replace(LEASES, {**current, "spec": spec})
        except Exception:
            return None  # it was renewed in between

    await eventually(stolen)


async def test_the_next_one_takes_over_at_once_when_the_first_is_stopped(connection, kube, namespace):
    settings = LeaseSettings(name="wheel", namespace=namespace, retry=0.1)
    async with (
        Manager(connection, identity="one", lease=settings) as first,
        Manager(connection, identity="two", lease=settings) as second,
    ):
        ran = [counting(first, namespace), counting(second, namespace)]
        async with running(first):
            waiting = asyncio.create_task(second.run())
            await kube.create(CONFIG_MAPS, ours("a", namespace))
            await eventually(lambda: ran[0].runs["a"])
            assert second.ready
            assert not second.working
        await eventually(lambda: ran[1].runs["a"])
        second.stop()
        await waiting
    assert ran[0].runs["a"] == 1


async def test_a_flood_of_slow_calls_does_not_keep_the_lease_from_being_renewed(fault_proxy, namespace):
    slow = where(resource="secrets")
    fault_proxy.delay(120, matching=slow)
    async with Manager(fault_proxy.connection, identity="one", lease=quick_lease(namespace)) as manager:
        counting(manager, namespace)
        async with running(manager):
            path = f"/api/v1/namespaces/{namespace}/secrets"
            flood = [asyncio.create_task(manager.client.raw("GET", path)) for _ in range(100)]
            await fault_proxy.wait_for(slow, count=64)
            renewals = where(resource="leases", verb="update")
            before = len([request for request in fault_proxy.requests if renewals(request)])
            await fault_proxy.wait_for(renewals, count=before + 25)
            assert manager.working
            for call in flood:
                call.cancel()
            await asyncio.wait(flood)


async def test_a_renewal_that_hangs_leaves_time_for_another(fault_proxy, namespace):
    settings = quick_lease(namespace, duration=15, deadline=12)
    async with Manager(fault_proxy.connection, identity="one", lease=settings) as manager:
        counting(manager, namespace)
        with capture_logs() as logs:
            async with running(manager):
                renewals = where(resource="leases", verb="update")
                hanging = fault_proxy.delay(120, times=1, matching=renewals)
                await eventually(lambda: hanging.hits)
                before = len([request for request in fault_proxy.requests if renewals(request)])
                await fault_proxy.wait_for(renewals, count=before + 20)
                assert manager.working
    assert "no longer leading; a candidate again" not in [entry["event"] for entry in logs]


async def test_a_write_after_the_deadline_is_refused_and_ends_the_term(fault_proxy, kube, namespace):
    """The lease cannot be renewed, the rest of the server can be reached."""
    settings = quick_lease(namespace, duration=5, deadline=1, retry=0.2)
    async with Manager(fault_proxy.connection, identity="one", lease=settings) as manager:

        async def write(key):
            await manager.client.create(CONFIG_MAPS, config_map(f"w{reconciler.runs[key.name]}", namespace))
            return Outcome.requeue(after=0.05)

        await kube.create(CONFIG_MAPS, ours("a", namespace))
        reconciler = counting(manager, namespace, write)
        with capture_logs() as logs:
            async with running(manager):
                await eventually(lambda: reconciler.runs["a"] > 3)
                fault_proxy.answer(500, times=None, matching=where(resource="leases"))
                await eventually(lambda: not manager.working)
                runs = reconciler.runs["a"]
                await fault_proxy.heal()
                await eventually(lambda: reconciler.runs["a"] > runs)
    assert "no longer leading; a candidate again" in [entry["event"] for entry in logs]
    held = [
        one.sent_at for one in fault_proxy.requests if one.resource == "leases" and one.is_write and one.server_status
    ]
    writes = [one.sent_at for one in fault_proxy.requests if one.resource == "configmaps" and one.is_write]
    for write in writes:
        under = max(moment for moment in held if moment < write)
        assert write - under < settings.duration, "also with the way to the proxy, nobody else can have it yet"


# What it shows


async def test_health_readiness_and_metrics(connection, kube, namespace):
    async with Manager(connection, identity="one") as manager:
        reconciler = counting(manager, namespace, name="showing")
        async with endpoints(manager, host="127.0.0.1", port=0) as port, aiohttp.ClientSession() as http:

            async def page(path):
                async with http.get(f"http://127.0.0.1:{port}{path}") as answer:
                    return answer.status, await answer.text()

            assert await page("/livez") == (200, "ok")
            assert await page("/healthz") == (200, "ok")
            assert await page("/readyz") == (503, "not ready")
            _, before = await page("/metrics")
            for line in (
                'mooring_queue_depth{controller="showing"} 0.0',
                'mooring_reconciles_total{controller="showing",result="ok"} 0.0',
                'mooring_reconciles_total{controller="showing",result="failed"} 0.0',
                'mooring_retries_total{controller="showing"} 0.0',
                'mooring_queue_latency_seconds_count{controller="showing"} 0.0',
                'mooring_api_calls_total{code="200",verb="PATCH"} 0.0',
                'mooring_undecodable_objects{kind="ConfigMap"} 0.0',
                "mooring_leading 0.0",
            ):
                assert line in before.splitlines()
            async with running(manager):
                await kube.create(CONFIG_MAPS, ours("a", namespace))
                await eventually(lambda: reconciler.runs)
                assert await page("/readyz") == (200, "ok")
                _, after = await page("/metrics")
                assert 'mooring_reconciles_total{controller="showing",result="ok"} 1.0' in after.splitlines()
                assert "mooring_leading 1.0" in after.splitlines()
            assert await page("/readyz") == (503, "not ready")


async def test_the_metrics_of_a_kind_add_up_its_stores(connection, kube, namespace, things):
    await kube.create(PLAIN_THINGS, thing("bad", namespace, colour="Plaid"))
    async with Manager(connection, identity="one") as manager:
        for selector in (None, "!nobody"):
            manager.store(THINGS, namespace=namespace, label_selector=selector)
        async with running(manager):
            assert 'mooring_undecodable_objects{kind="Thing"} 2.0' in manager.metrics.page().decode().splitlines()
