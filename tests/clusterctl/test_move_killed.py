"""A move that dies after any of its writes, on either side. The same words, said again, bring it to an end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
from clusters import cluster_class, put
from moving_kit import Pair, a_namespace, a_pair, a_small_cluster, difference, is_untouched, seen

from mooring.clusterctl.move import Choice, Options, move
from mooring.kube import Client

MOST = 60  # writes; no move of what is moved here needs so many


class Killed(BaseException):
    """Not an error that anybody could handle."""


class Life:
    """So many writes, and not one more."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    def __call__(self) -> None:
        if self.left <= 0:
            raise Killed
        self.left -= 1


@pytest.fixture(scope="module")
def pair(landscape, tmp_path_factory) -> Iterator[Pair]:
    with a_pair(landscape, tmp_path_factory.mktemp("planes")) as pair:
        yield pair


@pytest.fixture
async def source(pair: Pair) -> AsyncIterator[Client]:
    async with Client(pair.source.connection) as client:
        yield client


@pytest.fixture
async def target(pair: Pair) -> AsyncIterator[Client]:
    async with Client(pair.target.connection) as client:
        yield client


async def lived(pair: Pair, namespace: str, writes: int) -> bool:
    """Whether a move ended before its writes were used up."""
    life = Life(writes)
    async with (
        Client(pair.source.connection, guard=life) as source,
        Client(pair.target.connection, guard=life) as target,
    ):
        try:
            await move(source, target, Options(Choice(namespace)))
        except Killed:
            return False
        except BaseExceptionGroup as group:
            assert group.subgroup(Killed) is not None
            return False
    return True


async def furnished(source: Client, namespace: str) -> None:
    """A cluster of a class that a cluster elsewhere needs, too: something moves, and something stays."""
    for name in (namespace, f"{namespace}-beside"):
        await a_namespace(source, name)
    await put(source, cluster_class("wanted", namespace))
    topology = {"classRef": {"name": "wanted", "namespace": namespace}, "version": "v1.36.0"}
    await a_small_cluster(source, "one", namespace, topology=topology)
    await a_small_cluster(source, "two", f"{namespace}-beside", topology=topology)


async def assert_moved(source: Client, target: Client, namespace: str, before: dict) -> None:
    here, there = await seen(source, only=namespace), await seen(target, only=namespace)
    assert is_untouched({**here, **there}) == []
    gone = {name for name in before if " HERE/" in name and "ClusterClass" not in name}
    assert difference({name: one for name, one in before.items() if name not in gone}, here) == []
    expected = {name: one for name, one in before.items() if "-beside" not in name}
    assert difference(_without_status(expected), _without_status(there)) == []


def _without_status(found: dict) -> dict:
    """Copies have none."""
    return {name: {key: value for key, value in one.items() if key != "status"} for name, one in found.items()}


async def test_killed_after_every_single_write(pair: Pair, source: Client, target: Client):
    namespace = f"n{uuid4().hex[:8]}"
    await furnished(source, namespace)
    before = await seen(source, only=namespace)
    runs = 1
    while not await lived(pair, namespace, 1):
        runs += 1
        assert runs < MOST
    assert runs > 20
    await assert_moved(source, target, namespace, before)


async def test_killed_after_each_write(pair: Pair, source: Client, target: Client):
    seats = asyncio.Semaphore(4)
    done = asyncio.Event()

    async def killed_after(writes: int) -> None:
        async with seats:
            if done.is_set():
                return
            namespace = f"n{uuid4().hex[:8]}"
            await furnished(source, namespace)
            before = await seen(source, only=namespace)
            if await lived(pair, namespace, writes):
                done.set()
            assert await lived(pair, namespace, MOST)
            await assert_moved(source, target, namespace, before)

    async with contextlib.AsyncExitStack():
        await asyncio.gather(*(killed_after(writes) for writes in range(1, MOST)))
    assert done.is_set()
