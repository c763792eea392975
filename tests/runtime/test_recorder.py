"""Events for people, on the real server."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from runtime_kit import eventually
from structlog.testing import capture_logs

from mooring.kube import Client, uid_of
from mooring.runtime import NotLeader, Recorder
from mooring.runtime.recorder import EVENTS
from mooring.testing.builders import CONFIG_MAPS, config_map
from mooring.testing.clock import SimulatedClock
from mooring.testing.fault_rules import where


@pytest.fixture
def clock():
    return SimulatedClock()


@pytest.fixture
async def about(kube, namespace):
    return await kube.create(CONFIG_MAPS, config_map("subject", namespace))


@asynccontextmanager
async def recording(client, clock):
    recorder = Recorder(client, clock, controller="mooring.dev/test", instance="here")
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
        assert not task.done(), "it never ends by itself"
    finally:
        task.cancel()
        await asyncio.wait([task])


def tell(recorder, about, note="All is well.", **more):
    words = {"reason": "Granted", "action": "Granting", "note": note, **more}
    recorder.tell(about, "v1", "ConfigMap", **words)


@pytest.fixture
def events(kube, namespace):
    async def told():
        listing = await kube.list(EVENTS, namespace=namespace)
        return [one for one in listing.items if one["reportingController"] == "mooring.dev/test"]

    return told


async def test_an_event_is_where_people_look(kube, clock, about, events, namespace):
    async with recording(kube, clock) as recorder:
        tell(recorder, about)
        tell(recorder, about, "It broke.", reason="Broken", warning=True)
        await recorder.flush()
    good, bad = sorted(await events(), key=lambda one: one["type"])
    assert good["regarding"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "subject",
        "namespace": namespace,
        "uid": uid_of(about),
    }
    assert (good["type"], good["reason"], good["action"], good["note"]) == (
        "Normal",
        "Granted",
        "Granting",
        "All is well.",
    )
    assert (bad["type"], bad["reason"], bad["reportingInstance"]) == ("Warning", "Broken", "here")
    assert good["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert "series" not in good


async def test_repetitions_become_a_series(kube, clock, about, events):
    async with recording(kube, clock) as recorder:
        for _ in range(5):
            tell(recorder, about)
        await recorder.flush()
        [event] = await events()
        assert event["series"]["count"] == 2
        for _ in range(2):
            await clock.advance(60)
            tell(recorder, about)
            await recorder.flush()
        [event] = await events()
        assert event["series"]["count"] == 7
        assert event["series"]["lastObservedTime"] == "2026-01-01T00:02:00.000000Z"
        # After a while it is news again; what differs is another story.
        await clock.advance(400)
        tell(recorder, about)
        tell(recorder, about, "Something else.")
        await recorder.flush()
        assert len(await events()) == 3


async def test_a_series_whose_event_the_server_forgot_begins_anew(kube, clock, about, events):
    async with recording(kube, clock) as recorder:
        tell(recorder, about)
        await recorder.flush()
        [event] = await events()
        await kube.delete(EVENTS, event["metadata"]["name"], namespace=event["metadata"]["namespace"])
        tell(recorder, about)
        await recorder.flush()
        assert len(await events()) == 1


async def test_it_never_waits_and_drops_what_is_too_much(kube, clock, about):
    recorder = Recorder(kube, clock, controller="mooring.dev/test", instance="here")
    for number in range(1_000):  # nobody writes them
        tell(recorder, about, f"Note {number}.")
    assert recorder.dropped == 0, "a burst is remembered"
    for number in range(200):
        tell(recorder, about, f"More {number}.")
    assert recorder.dropped == 200


async def test_failures_are_survived(fault_proxy, clock, about, events):
    async with Client(fault_proxy.connection) as client, recording(client, clock) as recorder:
        with capture_logs() as logs:
            fault_proxy.answer(500, times=1, matching=where(resource="events"))
            fault_proxy.cut_before_write(2, matching=where(resource="events"))
            for number in range(4):
                tell(recorder, about, f"Note {number}.")
            await recorder.flush()
            # What cannot be encoded is a fault of ours, and no reason to fall silent.
            recorder.tell(about, "v1", object(), reason="Granted", action="Granting", note="Never.")
            tell(recorder, about, "Last.")
            await recorder.flush()
    assert sorted(one["note"] for one in await events()) == ["Last.", "Note 1.", "Note 3."]
    assert len(logs) == 3


async def test_one_who_may_not_write_any_more_goes_on_when_it_may_again(connection, clock, about, events):
    leading = False

    def guard():
        if not leading:
            raise NotLeader("not now")

    async with Client(connection, guard=guard) as client, recording(client, clock) as recorder:
        with capture_logs() as logs:
            tell(recorder, about, "Lost.")
            await recorder.flush()
        leading = True
        tell(recorder, about, "Told.")
        await recorder.flush()
    assert [one["note"] for one in await events()] == ["Told."]
    assert len(logs) == 1


async def test_what_is_too_long_for_the_server_is_cut(kube, clock, about, events):
    names = ["a" * 253, "role:with:colons", "Ends.-"]
    async with recording(kube, clock) as recorder:
        for name in names:
            odd = {**about, "metadata": {**about["metadata"], "name": name}}
            tell(recorder, odd, "ü" * 2_000, reason="R" * 300, action="A" * 300)
            await clock.advance(400)
            await recorder.flush()
    told = await eventually(events)
    assert len(told) == 3
    assert {one["note"] for one in told} == {"ü" * 512}


async def test_things_without_a_namespace_are_told_of_in_the_default_one(kube, clock):
    whole = {"metadata": {"name": "whole", "uid": "0-recorder"}}
    async with recording(kube, clock) as recorder:
        tell(recorder, whole)
        await recorder.flush()
    listing = await kube.list(EVENTS, namespace="default", field_selector="regarding.name=whole")
    assert [one["regarding"]["uid"] for one in listing.items] == ["0-recorder"]
