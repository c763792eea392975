"""What is tried again and what is not, through a faulty wire to a real API server."""

import asyncio

import pytest
from wire_kit import CONFIG_MAPS, OURS, answer, config_map, misbehaving

from mooring.kube import Client, Connection, MergePatch, Timeouts
from mooring.kube.errors import BadAnswer, ServerError, Timeout, TooManyRequests, Unreachable
from mooring.testing.fault_rules import where


@pytest.fixture
async def faulty(fault_proxy):
    async with Client(fault_proxy.connection) as client:
        yield client


async def names(kube, namespace):
    listing = await kube.list(CONFIG_MAPS, namespace=namespace, label_selector=OURS)
    return {item["metadata"]["name"] for item in listing.items}


async def test_a_write_whose_answer_was_lost_is_not_repeated(fault_proxy, faulty, kube, namespace):
    fault_proxy.cut_after_write()
    with pytest.raises(Unreachable) as caught:
        await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    assert caught.value.outcome_unknown
    assert "unknown" in str(caught.value)
    assert await names(kube, namespace) == {"a"}  # it was done, and once


@pytest.mark.parametrize("verb", ["replace", "delete", "patch"])
async def test_no_verb_is_sent_twice(fault_proxy, faulty, kube, namespace, verb):
    made = await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    sent = len(fault_proxy.requests)
    fault_proxy.cut_before_write()
    patch = MergePatch({"data": {"k": "v"}})
    deeds = {
        "replace": lambda: faulty.replace(CONFIG_MAPS, made),
        "delete": lambda: faulty.delete(CONFIG_MAPS, "a", namespace=namespace),
        "patch": lambda: faulty.patch(CONFIG_MAPS, "a", patch, namespace=namespace),
    }
    with pytest.raises(Unreachable) as caught:
        await deeds[verb]()
    assert caught.value.outcome_unknown
    assert len(fault_proxy.requests) == sent + 1
    assert await kube.get(CONFIG_MAPS, "a", namespace=namespace) == made


async def test_a_write_that_could_not_leave_is_sent_when_it_can(fault_proxy, faulty, kube, namespace):
    await fault_proxy.down()
    writing = asyncio.create_task(faulty.create(CONFIG_MAPS, config_map("a", namespace)))
    await asyncio.sleep(0.05)
    await fault_proxy.up()
    await writing
    assert await names(kube, namespace) == {"a"}


async def test_a_server_that_stays_away_is_unreachable_and_nothing_was_done(fault_proxy, faulty, namespace):
    await fault_proxy.down()
    with pytest.raises(Unreachable) as caught:
        await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    assert not caught.value.outcome_unknown
    await fault_proxy.up()


async def test_a_read_is_asked_again(fault_proxy, faulty, namespace):
    await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    fault_proxy.answer(503, matching=where(verb="get"))
    fault_proxy.cut_within_answer(matching=where(verb="get"))
    assert (await faulty.get(CONFIG_MAPS, "a", namespace=namespace))["metadata"]["name"] == "a"


async def test_a_server_error_on_a_write_is_told_as_unknown(fault_proxy, faulty, namespace):
    rule = fault_proxy.answer(500, times=None, matching=where(verb="create"))
    with pytest.raises(ServerError) as caught:
        await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    assert caught.value.outcome_unknown
    assert rule.hits == 1


async def test_too_many_requests_waits_as_long_as_it_is_asked(fault_proxy, faulty, kube, namespace):
    fault_proxy.answer(429, headers={"Retry-After": "1"}, matching=where(verb="create"))
    started = asyncio.get_running_loop().time()
    await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    assert asyncio.get_running_loop().time() - started >= 1
    assert await names(kube, namespace) == {"a"}


async def test_too_many_requests_without_a_wait_is_the_callers_business(fault_proxy, faulty, namespace):
    rule = fault_proxy.answer(429, times=None, matching=where(verb="create"))
    with pytest.raises(TooManyRequests):
        await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    assert rule.hits == 1
    rule.lift()
    fault_proxy.answer(429, headers={"Retry-After": "3600"}, matching=where(verb="create"))
    with pytest.raises(TooManyRequests) as caught:
        await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    assert caught.value.retry_after == 3600


async def test_no_answer_in_time_is_a_timeout(fault_proxy, namespace):
    fault_proxy.delay(120, matching=where(verb="create"))
    async with Client(fault_proxy.connection, timeouts=Timeouts(request=3)) as hasty:
        with pytest.raises(Timeout) as caught:
            await hasty.create(CONFIG_MAPS, config_map("a", namespace))
    assert caught.value.outcome_unknown


@pytest.mark.parametrize("times", [1, 3])
async def test_a_list_whose_page_expired_starts_over(fault_proxy, faulty, namespace, times):
    for index in range(5):
        await faulty.create(CONFIG_MAPS, config_map(f"n{index}", namespace))
    rule = fault_proxy.answer(410, times=times, matching=lambda request: request.continues)
    listing = await faulty.list(CONFIG_MAPS, namespace=namespace, label_selector=OURS, page=2)
    assert [item["metadata"]["name"] for item in listing.items] == [f"n{index}" for index in range(5)]
    assert rule.hits == times


async def test_text_of_a_middleman_becomes_a_short_message(fault_proxy, faulty, namespace):
    fault_proxy.answer(502, body="<html>\x00 bad\ngateway " + "x" * 5000, matching=where(verb="create"))
    with pytest.raises(ServerError) as caught:
        await faulty.create(CONFIG_MAPS, config_map("a", namespace))
    assert caught.value.message.startswith("<html> bad gateway")
    assert len(str(caught.value)) < 1000


async def test_an_answer_that_is_no_object_is_told(fault_proxy, faulty, namespace):
    fault_proxy.answer(200, body="hello", matching=where(verb="get"))
    with pytest.raises(BadAnswer, match="ConfigMap"):
        await faulty.get(CONFIG_MAPS, "a", namespace=namespace)


async def test_more_calls_than_connections_all_come_through(kube, namespace):
    calls = [kube.create(CONFIG_MAPS, config_map(f"n{index}", namespace)) for index in range(150)]
    await asyncio.gather(*calls)
    assert len(await names(kube, namespace)) == 150


async def test_a_redirect_is_not_followed_with_our_identity():
    elsewhere = answer(b"", status="302 Found", headers="Location: http://127.0.0.1:1/\r\n")
    async with misbehaving(lambda count, head: elsewhere) as peer, Client(Connection(server=peer.url)) as kube:
        with pytest.raises(Exception, match="302"):
            await kube.version()
        assert len(peer.requests) == 1


@pytest.mark.parametrize("verb", ["PUT", "DELETE"])
async def test_a_kept_connection_that_died_does_not_repeat_a_write(verb):
    def dies_at_the_second(count, head):
        return answer(b'{"gitVersion": "v1.0.0"}') if count == 1 else None

    async with misbehaving(dies_at_the_second) as peer, Client(Connection(server=peer.url)) as kube:
        await kube.version()
        with pytest.raises(Unreachable) as caught:
            await kube.raw(verb, "/x", body=b"{}")
        assert caught.value.outcome_unknown
        assert len(peer.requests) == 2
