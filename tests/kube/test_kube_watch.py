"""A watch through faults: afterwards the picture equals the server's state, and every deletion was told."""

import asyncio
import json
import re
from contextlib import AsyncExitStack, aclosing

import pytest
from watch_kit import reading
from wire_kit import CONFIG_MAPS, Cut, answer, config_map, misbehaving, stream

from mooring.kube import (
    Changed,
    Client,
    Connection,
    Deleted,
    Interrupted,
    MergePatch,
    Relisted,
    Timeouts,
    Undecodable,
    watching,
)
from mooring.kube.errors import BadRequest, Forbidden, Gone, Timeout, Unreachable
from mooring.testing.fault_rules import where

WATCH = where(verb="watch")


@pytest.fixture
async def faulty(fault_proxy):
    async with Client(fault_proxy.connection, timeouts=Timeouts(watch_silence=30)) as client:
        yield client


async def test_the_picture_follows(kube, namespace):
    await kube.create(CONFIG_MAPS, config_map("before", namespace))
    async with reading(kube, namespace) as reader:
        assert set(reader.known()) == {"before"}
        await kube.create(CONFIG_MAPS, config_map("a", namespace))
        await kube.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "v"}}), namespace=namespace)
        await kube.delete(CONFIG_MAPS, "before", namespace=namespace)
        await reader.equals(kube)
        assert reader.deleted() == ["before"]
        # What leaves the selector is gone for this reader.
        unlabel = MergePatch({"metadata": {"labels": None}})
        await kube.patch(CONFIG_MAPS, "a", unlabel, namespace=namespace)
        await reader.until(lambda: reader.deleted() == ["before", "a"])
        assert reader.count(Relisted) == 1


async def test_an_object_from_the_list_and_from_the_watch_look_the_same(kube, namespace):
    made = await kube.create(CONFIG_MAPS, config_map("a", namespace))
    async with reading(kube, namespace) as reader:
        assert list(reader.picture.objects.values()) == [made]
        other = await kube.create(CONFIG_MAPS, config_map("b", namespace))
        await reader.until(lambda: len(reader.picture) == 2)
        assert list(reader.picture.objects.values()) == [made, other]


async def test_an_object_of_a_megabyte_arrives(kube, namespace):
    async with reading(kube, namespace) as reader:
        await kube.create(CONFIG_MAPS, config_map("large", namespace, k="x" * 1_000_000))
        await reader.equals(kube)
        assert not reader.faults()


async def test_a_cut_goes_on_from_where_it_was(fault_proxy, faulty, kube, namespace):
    async with reading(faulty, namespace) as reader:
        await fault_proxy.wait_until(lambda: bool(fault_proxy.open_watches))
        await kube.create(CONFIG_MAPS, config_map("a", namespace))
        await reader.equals(kube)
        fault_proxy.cut_watches()
        await kube.create(CONFIG_MAPS, config_map("b", namespace))
        await kube.delete(CONFIG_MAPS, "a", namespace=namespace)
        await reader.equals(kube)
        assert reader.deleted() == ["a"]
        assert reader.count(Relisted) == 1  # nothing was read twice


async def test_a_deletion_while_nobody_could_listen_is_told(fault_proxy, faulty, kube, namespace):
    await kube.create(CONFIG_MAPS, config_map("a", namespace))
    await kube.create(CONFIG_MAPS, config_map("again", namespace))
    async with reading(faulty, namespace) as reader:
        await fault_proxy.down()
        await reader.until(lambda: bool(reader.faults()))
        await kube.delete(CONFIG_MAPS, "a", namespace=namespace)
        await kube.delete(CONFIG_MAPS, "again", namespace=namespace)
        await kube.create(CONFIG_MAPS, config_map("again", namespace))
        await fault_proxy.up()
        await reader.equals(kube)
        assert sorted(reader.deleted()) == ["a", "again"]


async def test_a_line_that_was_cut_is_not_an_event(fault_proxy, faulty, kube, namespace):
    async with reading(faulty, namespace) as reader:
        fault_proxy.cut_watch_in_line(after_events=1, matching=WATCH)
        for index in range(4):
            await kube.create(CONFIG_MAPS, config_map(f"n{index}", namespace, k="x" * 2_000))
        await reader.equals(kube)
        assert reader.count(Changed) == 4
        assert reader.count(Undecodable) == 0
        assert reader.faults()


@pytest.mark.parametrize("how", ["in the stream", "as an answer"])
async def test_gone_lists_again(fault_proxy, faulty, kube, namespace, how):
    await kube.create(CONFIG_MAPS, config_map("a", namespace))
    async with reading(faulty, namespace) as reader:
        await fault_proxy.wait_until(lambda: bool(fault_proxy.open_watches))
        if how == "in the stream":
            fault_proxy.inject_gone()
        else:
            fault_proxy.expire_next_watch()
            fault_proxy.cut_watches()
        await kube.delete(CONFIG_MAPS, "a", namespace=namespace)
        await reader.until(lambda: reader.count(Relisted) == 2)
        await reader.equals(kube)
        assert reader.deleted() == ["a"]
        assert any(isinstance(error, Gone) for error in reader.faults())


async def test_silence_lists_again(fault_proxy, kube, namespace):
    await kube.create(CONFIG_MAPS, config_map("a", namespace))
    async with (
        Client(fault_proxy.connection, timeouts=Timeouts(watch_silence=0.5)) as impatient,
        reading(impatient, namespace) as reader,
    ):
        await fault_proxy.wait_until(lambda: bool(fault_proxy.open_watches))
        fault_proxy.freeze_watches(new=False)
        await kube.delete(CONFIG_MAPS, "a", namespace=namespace)
        await reader.equals(kube)
        assert reader.deleted() == ["a"]
        assert isinstance(reader.faults()[0], Timeout)


async def test_a_server_that_was_set_back_is_believed(fault_proxy, faulty, kube, namespace):
    await kube.create(CONFIG_MAPS, config_map("a", namespace))
    async with reading(faulty, namespace) as reader:
        await fault_proxy.wait_until(lambda: bool(fault_proxy.open_watches))
        older = {"kind": "ConfigMapList", "metadata": {"resourceVersion": "1"}, "items": []}
        asks = lambda request: request.verb == "list" and request.params.get("limit") == "1"  # noqa: E731
        rule = fault_proxy.answer(200, body=older, matching=asks)
        fault_proxy.cut_watches()
        await reader.until(lambda: reader.count(Relisted) == 2)
        assert rule.hits == 1


async def test_a_real_server_is_silent_about_a_revision_that_it_does_not_have(kube, namespace):
    """Why the watch asks for the server's revision after a break: this is what it would run into."""
    listing = await kube.list(CONFIG_MAPS, namespace=namespace)
    ahead = str(int(listing.resource_version) + 1_000_000)
    async with kube.watch_stream(CONFIG_MAPS, namespace=namespace, resource_version=ahead) as blocks:
        await kube.create(CONFIG_MAPS, config_map("a", namespace))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await anext(blocks)


async def test_cancelling_closes_the_connection_at_once(fault_proxy, faulty, namespace):
    async with reading(faulty, namespace):
        await fault_proxy.wait_until(lambda: bool(fault_proxy.open_watches))
    await fault_proxy.wait_until(lambda: not fault_proxy.open_watches)


async def test_what_waiting_cannot_mend_is_raised(kube, namespace):
    async with aclosing(watching(kube, CONFIG_MAPS, namespace=namespace, label_selector="a b c")) as events:
        with pytest.raises(BadRequest):
            await anext(events)


async def test_what_waiting_may_mend_is_told(fault_proxy, faulty, kube, namespace):
    fault_proxy.answer(403, times=2, matching=where(verb="list"))
    async with reading(faulty, namespace) as reader:
        assert [type(error) for error in reader.faults()] == [Forbidden, Forbidden]


async def test_the_picture_converges_under_load_and_cuts(fault_proxy, faulty, kube, namespace):
    async def churn(worker):
        for index in range(12):
            name = f"w{worker}-{index % 3}"
            await kube.apply(CONFIG_MAPS, config_map(name, namespace, n=str(index)), field_manager="t")
            if index % 4 == 3:
                await kube.delete(CONFIG_MAPS, name, namespace=namespace)

    async def cuts():
        for index in range(6):
            await asyncio.sleep(0.1)
            fault_proxy.inject_gone() if index % 3 == 2 else fault_proxy.cut_watches()

    async with reading(faulty, namespace) as reader:
        await asyncio.gather(cuts(), *(churn(worker) for worker in range(4)))
        await reader.equals(kube)


# Lines that no API server would send, from a peer that does.


def talker(*scripts):
    """A peer whose first list is at revision 10 and that says one script per watch, then the last again."""
    watches = 0

    def script(count, head):
        nonlocal watches
        if "watch=true" not in head:
            return answer(b'{"metadata": {"resourceVersion": "10"}, "items": []}')
        watches += 1
        return scripts[min(watches, len(scripts)) - 1]

    return script


def said(kind, name, revision):
    thing = {"metadata": {"name": name, "namespace": "n", "resourceVersion": str(revision)}}
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


async def test_a_watch_cut_at_any_byte_loses_nothing_and_repeats_nothing():
    words = [said("ADDED", "a", 11), said("MODIFIED", "a", 12), said("DELETED", "a", 13), said("ADDED", "b", 14)]
    whole, cut = stream(*words), set()

    def script(count, head):
        place = int(re.search(r"/namespaces/n(\d+)/", head)[1])
        if "watch=true" not in head:
            revision = 14 if re.search(r"limit=1[ &]", head) else 10
            return answer(json.dumps({"metadata": {"resourceVersion": str(revision)}, "items": []}).encode())
        if place not in cut:
            cut.add(place)
            return Cut(whole[:place])
        known = int(re.search(r"resourceVersion=(\d+)", head)[1])
        return stream(*words[known - 10 :])

    async with misbehaving(script) as peer, Client(Connection(server=peer.url)) as kube, AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(reading(kube, f"n{place}")) for place in range(len(whole))]
        for reader in readers:
            await reader.until(lambda reader=reader: set(reader.known()) == {"b"})
            assert reader.revisions() == {"a": [11, 12], "b": [14]}
            assert reader.deleted() == ["a"]
            assert reader.count((Changed, Deleted)) == len(words)


async def test_a_line_without_sense_is_told_and_a_list_follows():
    script = talker(stream(said("ADDED", "a", 11) + b"{nonsense\n"), stream())
    async with misbehaving(script) as peer, Client(Connection(server=peer.url)) as kube, reading(kube, "n") as reader:
        await reader.until(lambda: reader.count(Relisted) == 2)
        kinds = [type(event).__name__ for event in reader.events]
        assert kinds == ["Relisted", "Added", "Undecodable", "Interrupted", "Relisted"]


async def test_a_bookmark_from_the_past_means_a_store_that_was_set_back():
    script = talker(stream(said("ADDED", "a", 20), said("BOOKMARK", "", 5)), stream())
    async with misbehaving(script) as peer, Client(Connection(server=peer.url)) as kube, reading(kube, "n") as reader:
        await reader.until(lambda: reader.count(Relisted) == 2)
        assert "went back" in str(reader.faults()[0])


async def test_a_watch_that_ends_at_once_is_not_asked_for_in_a_hurry():
    async with misbehaving(talker(stream() + b"0\r\n\r\n")) as peer, Client(Connection(server=peer.url)) as kube:
        async with reading(kube, "n") as reader:
            await reader.until(lambda: len(reader.faults()) >= 3)
        pauses = [event.pause for event in reader.events if isinstance(event, Interrupted)]
        assert all(isinstance(error, Unreachable) for error in reader.faults())
        assert pauses[2] > pauses[0]


async def test_a_bookmark_moves_the_place_to_go_on():
    script = talker(stream(said("BOOKMARK", "", 50)) + b"0\r\n\r\n", stream())
    async with misbehaving(script) as peer, Client(Connection(server=peer.url)) as kube, reading(kube, "n") as reader:
        await peer.until(lambda: any("resourceVersion=50" in request for request in peer.requests))
        assert reader.count(Relisted) == 1
