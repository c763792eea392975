"""A move that dies after any of its writes, on either side. The same words, said again, bring it to an end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import clusters as capi
from clusters import put
from moving_kit import (
    READY,
    Killed,
    Life,
    Mortal,
    Pair,
    a_namespace,
    difference,
    fresh,
    is_untouched,
    lived,
    secret,
    seen,
)

from mooring.clusterctl.move import Choice, Options, from_directory, to_directory
from mooring.kube import Client

MOST = 70  # writes; no move of what is moved here needs so many


async def furnished(source: Client, namespace: str, **parts: Any) -> None:
    """A cluster, infrastructure that is held by a finalizer, and a Secret that belongs to it by its name."""
    made = await put(source, capi.cluster("one", namespace, status=READY, **parts))
    held = ["harbor.example.com/cluster"]
    await put(source, capi.harbor_cluster("one", namespace, owners=[capi.owner(made)], finalizers=held))
    await put(source, secret("one-ca", namespace))


async def furnished_for_two(source: Client, target: Client, namespace: str) -> None:
    """Of a class elsewhere, which others need, too: something moves, and something stays. The Secret is at the target
    already, with other contents."""
    beside = f"{namespace}-beside"
    for client, name in ((source, namespace), (source, beside), (target, namespace)):
        await a_namespace(client, name)
    template = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "HarborClusterTemplate", "name": "far"}
    made = await put(source, capi.cluster_class("far", beside, spec={"infrastructure": {"templateRef": template}}))
    owners = [capi.owner(made, controller=False)]
    await put(source, capi.an_object(template["apiVersion"], template["kind"], "far", beside, owners=owners))
    await furnished(source, namespace, topology={"classRef": {"name": "far", "namespace": beside}})
    await put(target, secret("one-ca", namespace, labels={"from": "target"}))


async def assert_moved(source: Client, target: Client, namespace: str, before: dict) -> None:
    here, there = await asyncio.gather(seen(source, only=namespace), seen(target, only=namespace))
    assert is_untouched({**here, **there}) == []
    assert difference({name: one for name, one in before.items() if " HERE/" not in name}, here) == []
    assert difference(without_status(before), without_status(there)) == []


def without_status(found: dict) -> dict:
    """Copies have none."""
    return {name: {key: value for key, value in one.items() if key != "status"} for name, one in found.items()}


async def test_killed_after_every_single_write(pair: Pair, source: Client, target: Client):
    """The worst: no run gets further than one write, and each has to find out where it is."""
    namespace = fresh()
    await furnished_for_two(source, target, namespace)
    before = await seen(source, only=namespace)
    runs = 1
    while not await lived(pair, namespace, 1):
        runs += 1
        assert runs < MOST
    assert runs > 25
    await assert_moved(source, target, namespace, before)


async def in_turn(killed_after: Callable[[int], Awaitable[bool]], lives: Iterable[int]) -> int:
    """Lives of so many writes, some at a time, until one is long enough; how long that was."""
    enough: list[int] = []
    left = iter(lives)

    async def work() -> None:
        for writes in left:
            if enough:
                return
            if await killed_after(writes):
                enough.append(writes)

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(work())
    return min(enough)


async def test_killed_once(pair: Pair, source: Client, target: Client):
    """After some writes; the next run goes through."""
    first = fresh()
    await furnished_for_two(source, target, first)
    before = await seen(source, only=first)

    async def killed_after(writes: int) -> bool:
        namespace = first if writes == 1 else fresh()
        if namespace != first:
            await furnished_for_two(source, target, namespace)
        enough = await lived(pair, namespace, writes)
        assert await lived(pair, namespace, MOST)
        await assert_moved(source, target, namespace, before)
        return enough

    assert await in_turn(killed_after, range(1, MOST, 4)) > 20


async def test_out_of_a_directory_killed_once(pair: Pair, source: Client, target: Client, tmp_path: Path):
    async def restored(namespace: str, writes: int) -> bool:
        life = Life(writes)
        async with Mortal(pair.target.connection, life) as mortal:
            try:
                await from_directory(mortal, tmp_path / namespace, Options(Choice(namespace)))
            except Killed:
                return False
        return True

    async def killed_after(writes: int) -> bool:
        namespace = fresh()
        await a_namespace(source, namespace)
        await put(source, capi.cluster_class("class", namespace))
        await furnished(source, namespace, topology={"classRef": {"name": "class"}})
        (tmp_path / namespace).mkdir()
        before = await seen(source, only=namespace)
        await to_directory(source, tmp_path / namespace, Options(Choice(namespace)))
        assert difference(before, await seen(source, only=namespace)) == []
        enough = await restored(namespace, writes)
        assert await restored(namespace, MOST)
        there = await seen(target, only=namespace)
        assert is_untouched(there) == []
        assert difference(without_status(before), without_status(there)) == []
        return enough

    assert await in_turn(killed_after, range(1, MOST, 2)) > 10


async def test_into_a_directory_killed_after_each_write(pair: Pair, source: Client, tmp_path: Path):
    namespace = fresh()
    await a_namespace(source, namespace)
    await put(source, capi.cluster_class("class", namespace))
    await furnished(source, namespace, topology={"classRef": {"name": "class"}})
    before = await seen(source, only=namespace)
    for writes in range(1, MOST):
        life = Life(writes)
        async with Mortal(pair.source.connection, life) as mortal:
            try:
                await to_directory(mortal, tmp_path, Options(Choice(namespace)))
                break
            except Killed:
                continue
    assert writes == 3  # two to pause, of which one was done in a former life, and two to resume
    assert difference(before, await seen(source, only=namespace)) == []
    assert len([one for one in tmp_path.iterdir() if one.suffix == ".yaml"]) >= 4
