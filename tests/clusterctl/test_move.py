"""Moves between two real control planes, by the other clusterctl and by ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
from moving_kit import Pair, a_fleet, a_pair, difference, is_untouched, seen, told

from mooring.kube import Client


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


def fresh() -> str:
    return f"n{uuid4().hex[:8]}"


async def test_the_judge_and_ours_do_the_same(pair: Pair, source: Client, target: Client, judge, ours):
    theirs, mine = fresh(), fresh()
    for name in (theirs, mine):
        await a_fleet(source, name)
    words = ("move", "--kubeconfig", str(pair.source.kubeconfig))
    to = ("--to-kubeconfig", str(pair.target.kubeconfig))

    # What they would do, both of one namespace.
    judged = await judge.beside(*words, "-n", theirs, "--dry-run", "-v", "5")
    said = await ours.beside(*words, "-n", theirs, "--dry-run", "-v", "5")
    assert (judged.code, said.code) == (0, 0), judged.err + said.err
    assert told(said.err) == told(judged.err) != set()

    judged = await judge.beside(*words, *to, "-n", theirs)
    done = await ours.beside(*words, *to, "-n", mine)
    assert (judged.code, done.code) == (0, 0), judged.err + done.err
    assert "two-owners" in done.out
    here, there = await seen(source, only=mine), await seen(target, only=mine)
    print(difference(await seen(source, only=theirs), here))
    print(difference(await seen(target, only=theirs), there))
    assert difference(await seen(source, only=theirs), here) == []
    assert difference(await seen(target, only=theirs), there) == []
    assert is_untouched({**here, **there}) == []
