"""The fault proxy in front of a real API server: each fault is seen from both ends.

The client here is a bare HTTP session, so that nothing of ours stands between the test and the wire. What the
world looks like is asked through the same proxy, with a read that no fault is set for.
"""

import asyncio
import io
import json
import ssl
from contextlib import asynccontextmanager

import aiohttp
import pytest
from yarl import URL

from mooring.testing.fault_rules import Request, where
from mooring.testing.faults import FaultProxy

OURS = {"labelSelector": "for=test"}  # a controller manager puts ConfigMaps of its own into new namespaces
LOST = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError)
PATIENCE = 120  # seconds: only ever used up by a test that fails


class Cupboard:
    """The ConfigMaps of one namespace, through the proxy."""

    def __init__(self, session, namespace):
        self.session = session
        self.namespace = namespace
        self.path = f"/api/v1/namespaces/{namespace}/configmaps"

    async def create(self, name, **data):
        metadata = {"name": name, "labels": {"for": "test"}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        async with self.session.post(self.path, json=body) as answer:
            await answer.read()
            return answer.status

    async def patch(self, name, **data):
        headers = {"Content-Type": "application/merge-patch+json"}
        body = json.dumps({"data": data})
        async with self.session.patch(f"{self.path}/{name}", data=body, headers=headers) as answer:
            return answer.status

    async def list(self, **params):
        async with self.session.get(self.path, params=OURS | params) as answer:
            return answer.status, await answer.json()

    async def names(self):
        _, listed = await self.list()
        return {item["metadata"]["name"] for item in listed["items"]}

    @asynccontextmanager
    async def watch(self):
        """An open watch, from now on."""
        _, listed = await self.list()
        params = OURS | {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
        async with self.session.get(self.path, params=params) as answer:
            assert answer.status == 200
            yield answer


async def event(watch):
    """Type and name of the next event."""
    async with asyncio.timeout(PATIENCE):
        told = json.loads(await watch.content.readline())
    return told["type"], told["object"]["metadata"].get("name")


async def on_the_wire(fault_proxy, target):
    """All bytes of an answer until its connection ends; an HTTP client may drop what it has not handed out by then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", fault_proxy.port)
    try:
        writer.write(f"GET {target} HTTP/1.1\r\nHost: proxy\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            return await reader.read()
    finally:
        writer.close()


async def is_silent(watch, seconds=0.3):
    """A silence can only be waited for."""
    try:
        async with asyncio.timeout(seconds):
            await watch.content.readany()
    except TimeoutError:
        return True
    return False


@pytest.fixture
async def session(fault_proxy):
    async with aiohttp.ClientSession(fault_proxy.url) as session:
        yield session


@pytest.fixture
def cupboard(session, namespace):
    return Cupboard(session, namespace)


@pytest.fixture(autouse=True)
def quiet_server(caplog):
    """No fault may show up as an accident of the proxy itself."""
    yield
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


class TestTransparency:
    async def test_writes_and_reads_arrive(self, cupboard):
        assert await cupboard.create("a", key="value") == 201
        assert await cupboard.create("a") == 409
        assert await cupboard.patch("a", key="other") == 200
        _, listed = await cupboard.list()
        stored = {item["metadata"]["name"]: item.get("data") for item in listed["items"]}
        assert stored["a"] == {"key": "other"}

    async def test_query_strings_keep_their_encoding(self, cupboard):
        await cupboard.create("a")
        await cupboard.create("b")
        encoded = "fieldSelector=metadata.name%3Da&labelSelector=%21x%2Fy&limit=5"
        async with cupboard.session.get(URL(f"{cupboard.path}?{encoded}", encoded=True)) as answer:
            listed = await answer.json()
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]

    async def test_a_large_compressed_list_comes_through_whole(self, cupboard):
        for name in ("a", "b", "c", "d"):
            await cupboard.create(name, text=name * 700_000)
        headers = {"Accept-Encoding": "gzip"}
        async with cupboard.session.get(cupboard.path, params=OURS, headers=headers) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            listed = await answer.json()
        sizes = {item["metadata"]["name"]: len(item["data"]["text"]) for item in listed["items"]}
        assert sizes == dict.fromkeys("abcd", 700_000)

    async def test_a_watch_is_told_event_by_event(self, cupboard):
        async with cupboard.watch() as watch:
            for name in ("a", "b"):
                await cupboard.create(name)
                assert await event(watch) == ("ADDED", name)

    async def test_bodies_larger_than_a_megabyte_and_long_lines(self, cupboard):
        body = {"metadata": {"name": "big"}, "data": {"text": "x" * 1_000_000}, "apiVersion": "v1"}
        padded = io.BytesIO(json.dumps(body | {"kind": "ConfigMap"}).ljust(1_200_000).encode())
        headers = {"Content-Type": "application/json"}
        async with cupboard.session.post(cupboard.path, data=padded, headers=headers) as answer:
            assert answer.status == 201
        selector = f"name notin ({','.join(f'n{number}' for number in range(3000))})"
        status, _ = await cupboard.list(labelSelector=selector)
        assert status == 200

    async def test_an_authorization_header_counts_instead_of_the_certificate(self, cupboard):
        async with cupboard.session.get(cupboard.path) as answer:
            assert answer.status == 200
        headers = {"Authorization": "Bearer not-a-token"}
        async with cupboard.session.get(cupboard.path, headers=headers) as answer:
            assert answer.status == 401

    async def test_a_watch_that_its_client_leaves_is_left_upstream_too(self, fault_proxy, cupboard):
        async with cupboard.watch() as watch:
            watch.close()
        await fault_proxy.wait_until(lambda: not fault_proxy.open_watches)


class TestCutWrites:
    async def test_cut_before_is_never_executed(self, fault_proxy, cupboard):
        rule = fault_proxy.cut_before_write(2)
        assert await cupboard.create("first") == 201
        with pytest.raises(LOST):
            await cupboard.create("second")
        assert await cupboard.create("third") == 201
        assert await cupboard.names() == {"first", "third"}
        assert rule.spent
        assert fault_proxy.writes == 2

    async def test_cut_after_is_executed_and_not_heard_of(self, fault_proxy, cupboard):
        fault_proxy.cut_after_write(1)
        with pytest.raises(LOST):
            await cupboard.create("a")
        assert await cupboard.names() == {"a"}
        assert fault_proxy.writes == 1
        [lost] = await fault_proxy.wait_for(where(verb="create", ended=True))
        assert (lost.server_status, lost.status, lost.ended) == (201, None, True)

    async def test_only_matching_writes_count(self, fault_proxy, cupboard):
        fault_proxy.cut_before_write(1, matching=where(verb="patch", name="b"))
        for name in ("a", "b"):
            assert await cupboard.create(name) == 201
        assert await cupboard.patch("a", x="1") == 200
        with pytest.raises(LOST):
            await cupboard.patch("b", x="1")

    async def test_stop_after_lets_the_answer_out_and_nothing_else(self, fault_proxy, cupboard):
        fault_proxy.stop_after_write(2)
        assert await cupboard.create("first") == 201
        assert await cupboard.create("second") == 201
        with pytest.raises(LOST):
            await cupboard.create("third")
        await fault_proxy.wait_until(lambda: fault_proxy.is_down)
        with pytest.raises(aiohttp.ClientConnectorError):
            await cupboard.names()
        await fault_proxy.up()
        assert await cupboard.names() == {"first", "second"}

    async def test_stop_after_counts_exactly_under_concurrency(self, fault_proxy, cupboard):
        fault_proxy.stop_after_write(7)
        wanted = [f"n{number}" for number in range(20)]
        answers = await asyncio.gather(*map(cupboard.create, wanted), return_exceptions=True)
        await fault_proxy.wait_until(lambda: fault_proxy.is_down)
        await fault_proxy.up()
        made = await cupboard.names()
        assert len(made) == fault_proxy.writes == 7
        assert made == {name for name, answer in zip(wanted, answers, strict=True) if answer == 201}

    async def test_writes_are_counted_from_one(self, fault_proxy):
        with pytest.raises(ValueError, match="from 1"):
            fault_proxy.cut_after_write(0)


class TestAnswers:
    async def test_a_status_object_as_the_api_server_says_it(self, fault_proxy, cupboard):
        fault_proxy.answer(429, headers={"Retry-After": "1"})
        async with cupboard.session.get(cupboard.path) as answer:
            told = await answer.json()
        assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
        assert (told["kind"], told["reason"], told["code"]) == ("Status", "TooManyRequests", 429)
        assert told["details"] == {"retryAfterSeconds": 1}
        assert (await cupboard.list())[0] == 200

    async def test_answers_queue_up_and_hide_the_request(self, fault_proxy, cupboard):
        fault_proxy.answer(500, times=2, matching=where(verb="create"))
        fault_proxy.answer(503, matching=where(verb="create"), body="not now")
        assert [await cupboard.create("a") for _ in range(4)] == [500, 500, 503, 201]
        assert fault_proxy.writes == 1

    async def test_a_standing_answer_ends_when_lifted(self, fault_proxy, cupboard):
        rule = fault_proxy.answer(503, times=None)
        assert [(await cupboard.list())[0] for _ in range(3)] == [503] * 3
        rule.lift()
        assert (await cupboard.list())[0] == 200
        assert rule.hits == 3

    async def test_410_in_mid_list(self, fault_proxy, cupboard):
        for name in ("a", "b", "c"):
            await cupboard.create(name)
        fault_proxy.answer(410, matching=lambda request: request.continues)
        status, page = await cupboard.list(limit=1)
        assert status == 200
        onward = {"limit": 1, "continue": page["metadata"]["continue"]}
        status, told = await cupboard.list(**onward)
        assert (status, told["reason"]) == (410, "Expired")
        assert (await cupboard.list(**onward))[0] == 200

    async def test_an_answer_cut_off_in_its_body(self, fault_proxy, cupboard):
        fault_proxy.cut_within_answer(matching=where(verb="create"))
        with pytest.raises(LOST):
            await cupboard.create("a")
        [begun] = await fault_proxy.wait_for(where(verb="create", ended=True))
        assert begun.status == 201
        assert await cupboard.names() == {"a"}

    async def test_delays_and_slow_links_add_up(self, fault_proxy, cupboard):
        await cupboard.create("a", text="x" * 4000)
        fault_proxy.delay(0.2, matching=where(verb="get"))
        fault_proxy.slow(20_000, matching=where(verb="get"))
        started = asyncio.get_running_loop().time()
        async with cupboard.session.get(f"{cupboard.path}/a") as answer:
            told = await answer.json()
        assert len(told["data"]["text"]) == 4000
        assert asyncio.get_running_loop().time() - started >= 0.4


class TestWatches:
    async def test_cut_now(self, fault_proxy, cupboard):
        async with cupboard.watch() as one, cupboard.watch() as other:
            assert fault_proxy.cut_watches() == 2
            for watch in (one, other):
                with pytest.raises(LOST):
                    await watch.content.readline()
        assert (await cupboard.list())[0] == 200

    async def test_cut_in_the_middle_of_a_line(self, fault_proxy, cupboard):
        fault_proxy.cut_watch_in_line(after_events=1)
        for name in ("a", "b"):
            await cupboard.create(name)
        # Without a version the watch begins with what is there.
        answer = await on_the_wire(fault_proxy, f"{cupboard.path}?watch=true&labelSelector=for%3Dtest")
        _, chunks = answer.split(b"\r\n\r\n")
        _, whole, _, half, nothing = chunks.split(b"\r\n")
        assert json.loads(whole)["object"]["metadata"]["name"] == "a"
        assert half.startswith(b'{"type":"ADDED"')
        assert not half.endswith(b"\n")
        assert nothing == b"", "the message is not ended"
        [request] = await fault_proxy.wait_for(lambda request: request.is_watch and request.ended)
        assert request.events == 1

    async def test_frozen_watches_are_silent_and_lose_nothing(self, fault_proxy, cupboard):
        async with cupboard.watch() as open_before:
            assert fault_proxy.freeze_watches() == 1
            async with cupboard.watch() as opened_after:
                await cupboard.create("a")
                assert await is_silent(open_before)
                assert await is_silent(opened_after)
                fault_proxy.thaw_watches()
                assert await event(open_before) == ("ADDED", "a")
                assert await event(opened_after) == ("ADDED", "a")

    async def test_a_half_open_connection_is_frozen_while_new_watches_live(self, fault_proxy, cupboard):
        async with cupboard.watch() as dead:
            fault_proxy.freeze_watches(new=False)
            async with cupboard.watch() as alive:
                await cupboard.create("a")
                assert await event(alive) == ("ADDED", "a")
                assert await is_silent(dead)

    async def test_gone_is_told_in_the_stream_and_ends_it(self, fault_proxy, cupboard):
        async with cupboard.watch() as watch:
            await cupboard.create("a")
            assert await event(watch) == ("ADDED", "a")
            assert fault_proxy.inject_gone() == 1
            told = json.loads(await watch.content.readline())
            assert (told["type"], told["object"]["code"], told["object"]["reason"]) == (
                "ERROR",
                410,
                "Expired",
            )
            assert await watch.content.read() == b""

    async def test_the_next_watch_is_refused(self, fault_proxy, cupboard):
        fault_proxy.expire_next_watch()
        assert (await cupboard.list())[0] == 200
        status, told = await cupboard.list(watch="1")
        assert (status, told["code"]) == (410, 410)
        async with cupboard.watch():
            pass

    async def test_events_come_late_and_in_order(self, fault_proxy, cupboard):
        async with cupboard.watch() as watch:
            fault_proxy.delay_events(0.5)
            started = asyncio.get_running_loop().time()
            for name in ("a", "b", "c"):
                await cupboard.create(name)
            told = [await event(watch) for _ in range(3)]
            took = asyncio.get_running_loop().time() - started
        assert told == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
        assert took >= 0.5

    async def test_only_matching_watches_are_struck(self, fault_proxy, cupboard):
        async with cupboard.watch() as watch:
            assert fault_proxy.cut_watches(matching=where(resource="secrets")) == 0
            await cupboard.create("a")
            assert await event(watch) == ("ADDED", "a")


class TestOutages:
    async def test_connections_are_refused_until_it_comes_back_on_the_same_port(self, fault_proxy, cupboard):
        url = fault_proxy.url
        async with cupboard.watch() as watch:
            await fault_proxy.down()
            with pytest.raises(LOST):
                await watch.content.readline()
        with pytest.raises(aiohttp.ClientConnectorError):
            await cupboard.list()
        await fault_proxy.up()
        assert fault_proxy.url == url
        assert await cupboard.create("a") == 201

    async def test_down_and_up_may_be_said_twice(self, fault_proxy, cupboard):
        for _ in range(2):
            await fault_proxy.down()
        for _ in range(2):
            await fault_proxy.up()
        assert (await cupboard.list())[0] == 200

    async def test_an_api_server_that_is_away_looks_like_a_lost_connection(self):
        nobody_there = FaultProxy("https://127.0.0.1:1", ssl=ssl.create_default_context())
        async with nobody_there as proxy, aiohttp.ClientSession(proxy.url) as session:
            with pytest.raises(LOST):
                await session.get("/readyz")

    async def test_healing_ends_every_fault(self, fault_proxy, cupboard):
        fault_proxy.answer(500, times=None)
        fault_proxy.delay_events(3600)
        fault_proxy.freeze_watches()
        await fault_proxy.down()
        await fault_proxy.heal()
        async with cupboard.watch() as watch:
            await cupboard.create("a")
            assert await event(watch) == ("ADDED", "a")


class TestRecord:
    async def test_waiting_for_a_request_that_is_yet_to_come(self, fault_proxy, cupboard):
        waiting = asyncio.create_task(fault_proxy.wait_for(where(verb="create"), count=2))
        await cupboard.create("a")
        assert not waiting.done()
        await cupboard.create("b")
        first, second = await waiting
        assert first.sent_at < second.sent_at
        assert first.status == 201

    async def test_waiting_in_vain_says_what_came_instead(self, fault_proxy, cupboard):
        await cupboard.list()
        with pytest.raises(TimeoutError, match=r"verb='list'"):
            await fault_proxy.wait_for(where(verb="delete"), timeout=0.1)

    @pytest.mark.parametrize(
        ("method", "target", "meaning"),
        [
            ("GET", "/api/v1/namespaces/n/pods", "list /pods n - -"),
            ("GET", "/api/v1/namespaces/n/pods?watch=1", "watch /pods n - -"),
            ("GET", "/api/v1/pods?watch=false", "list /pods - - -"),
            ("GET", "/api/v1/namespaces/n/pods/p?watch=true", "get /pods n p -"),
            ("GET", "/apis/apps/v1/namespaces/n/deployments/d/scale", "get apps/deployments n d scale"),
            ("GET", "/api/v1/namespaces", "list /namespaces - - -"),
            ("GET", "/api/v1/namespaces/n", "get /namespaces n n -"),
            ("PUT", "/api/v1/namespaces/n/finalize", "update /namespaces n n finalize"),
            ("POST", "/api/v1/namespaces/n/serviceaccounts/s/token", "create /serviceaccounts n s token"),
            ("PATCH", "/apis/g.io/v1/things/t%3A1/status", "patch g.io/things - t:1 status"),
            ("DELETE", "/api/v1/namespaces/n/pods", "deletecollection /pods n - -"),
            ("DELETE", "/api/v1/namespaces/n/pods/p", "delete /pods n p -"),
            ("GET", "/readyz", "get / - - -"),
            ("GET", "/apis/apps/v1", "get / - - -"),
            ("POST", "/elsewhere", "post / - - -"),
        ],
    )
    def test_requests_in_kubernetes_words(self, method, target, meaning):
        read = Request.read(method, target, sent_at=0.0)
        where_and_what = (read.namespace, read.name, read.subresource)
        told = f"{read.verb} {read.group}/{read.resource} " + " ".join(word or "-" for word in where_and_what)
        assert told == meaning
