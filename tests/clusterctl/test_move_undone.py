"""A move that fails: before the first deletion at the source all is as it was, after it there is only forward."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import clusters as capi
import pytest
from clusters import put
from moving_kit import (
    Mortal,
    Pair,
    a_namespace,
    a_small_cluster,
    between,
    config_map,
    difference,
    fresh,
    is_untouched,
    killed_before_the_point,
    killed_past_the_point,
    of,
    secret,
    seen,
    who_may_not_delete,
)

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.move import Choice, Options, move
from mooring.clusterctl.move.progress import PAUSED_BY
from mooring.kube import Client, MergePatch


async def furnished(source: Client, target: Client, namespace: str) -> Any:
    """A cluster, and something of it that is at the target already."""
    await a_namespace(source, namespace)
    made = await a_small_cluster(source, "one", namespace)
    await put(source, config_map("known", namespace, capi.owner(made, controller=False)))
    await a_namespace(target, namespace)
    await put(target, {**config_map("known", namespace, labels={"from": "target"}), "data": {"other": "contents"}})
    return made


async def too_heavy(source: Client, target: Client, namespace: str) -> None:
    """For the target, which says so when almost everything else is there."""
    made = await put(source, config_map("deep", namespace, labels={"clusterctl.cluster.x-k8s.io/move-hierarchy": ""}))
    for number in range(6):
        made = await put(source, config_map(f"deep-{number}", namespace, capi.owner(made, controller=False)))
    owners = [capi.owner(made, controller=False)]
    crane = capi.an_object("yard.example.com/v1beta2", "Crane", "heavy", namespace, owners=owners, spec={"load": 50})
    await put(source, crane)


async def immutable(source: Client, target: Client, namespace: str) -> None:
    """What is there cannot be replaced."""
    await put(target, {**secret("one-ca", namespace), "data": {"other": "b3RoZXI="}, "immutable": True})


async def test_of_a_move_that_fails_nothing_is_left(pair: Pair, source: Client, target: Client, ours):
    for trouble, named in ((too_heavy, "Crane"), (immutable, "Secret")):
        namespace = fresh()
        await furnished(source, target, namespace)
        await trouble(source, target, namespace)
        before = await seen(source, only=namespace), await seen(target, only=namespace)
        done = await ours.beside(*between(pair), "-n", namespace)
        assert done.code == 1, done.out
        assert f"{named} {namespace}/" in done.err
        assert "Nothing has moved" in done.err
        after = await seen(source, only=namespace), await seen(target, only=namespace)
        assert [difference(*two) for two in zip(before, after, strict=True)] == [[], []]


async def test_a_namespace_that_was_made_goes_again(pair: Pair, source: Client, target: Client, ours):
    namespace = fresh()
    await a_namespace(source, namespace)
    await a_small_cluster(source, "one", namespace)
    await too_heavy(source, target, namespace)
    done = await ours.beside(*between(pair), "-n", namespace)
    assert done.code == 1, done.err
    namespaces = await target.resource("v1", "Namespace")
    for found in (await target.list(namespaces, field_selector=f"metadata.name={namespace}")).items:
        assert found["status"]["phase"] == "Terminating"
    left = [name for name in await seen(target, only=namespace) if " Namespace " not in name]
    assert left == []


@pytest.mark.parametrize("writes", [1, 2, 6, 8])
async def test_who_interrupts_gets_everything_back(pair: Pair, source: Client, target: Client, writes: int):
    namespace = fresh()
    await furnished(source, target, namespace)
    before = await seen(source, only=namespace), await seen(target, only=namespace)
    told: list[str] = []

    def interrupt(*, writing: bool) -> None:
        nonlocal writes
        writes -= writing
        if writing and writes == 0:
            running.cancel()

    async with Mortal(pair.source.connection, interrupt) as here, Mortal(pair.target.connection, interrupt) as there:
        running = asyncio.create_task(move(here, there, Options(Choice(namespace)), lambda _, text: told.append(text)))
        with pytest.raises(asyncio.CancelledError):
            await running
    assert "Nothing has moved" in told[-1]
    after = await seen(source, only=namespace), await seen(target, only=namespace)
    assert [difference(*two) for two in zip(before, after, strict=True)] == [[], []]


async def test_killed_and_then_hopeless(pair: Pair, source: Client, target: Client, ours):
    """Also what a run before has done is taken back."""
    namespace = fresh()
    made = await furnished(source, target, namespace)
    before = await seen(source, only=namespace), await seen(target, only=namespace)
    await killed_before_the_point(pair, namespace)
    machine = await put(source, capi.machine("young", namespace, cluster="one", owners=[capi.owner(made)]))
    done = await ours.beside(*between(pair), "-n", namespace)
    assert done.code == 1
    assert f"Machine {namespace}/young is still being made" in done.err
    await source.delete(await source.resource(machine["apiVersion"], "Machine"), "young", namespace=namespace)
    after = await seen(source, only=namespace), await seen(target, only=namespace)
    assert [difference(*two) for two in zip(before, after, strict=True)] == [[], []]


async def test_a_move_that_has_not_ended_keeps_others_away(
    pair: Pair, source: Client, target: Client, ours, tmp_path: Path
):
    """Another choice, files, or another target would tear a cluster apart."""
    namespace = fresh()
    made = await furnished(source, target, namespace)
    await killed_before_the_point(pair, namespace)
    before = await seen(source, only=namespace), await seen(target, only=namespace)
    (tmp_path / "files").mkdir()
    for words in (
        (*between(pair), "--cluster", "one"),
        (*of(pair), "--to-directory", str(tmp_path / "files")),
    ):
        done = await ours.beside(*words, "-n", namespace)
        assert done.code == 1
        assert f"Cluster {namespace}/one is part of another move that has not ended" in done.err
    after = await seen(source, only=namespace), await seen(target, only=namespace)
    assert [difference(*two) for two in zip(before, after, strict=True)] == [[], []]

    # As if it had been on its way to another cluster.
    kind = await source.resource(made["apiVersion"], "Cluster")
    note = (await source.get(kind, "one", namespace=namespace))["metadata"]["annotations"][PAUSED_BY]
    elsewhere = re.sub(r"target=[^ \"]+", f"target={uuid4()}", note)
    assert elsewhere != note
    patch = MergePatch({"metadata": {"annotations": {PAUSED_BY: elsewhere}}})
    await source.patch(kind, "one", patch, namespace=namespace)
    done = await ours.beside(*between(pair), "-n", namespace)
    assert done.code == 1
    assert "another move that has not ended" in done.err


async def test_copies_outlive_originals_that_others_delete(pair: Pair, source: Client, target: Client, ours):
    namespace = fresh()
    await furnished(source, target, namespace)
    await killed_before_the_point(pair, namespace)
    # Nobody but the one who deletes it knows why: the only copy that is left is not ours to remove.
    secrets = await source.resource("v1", "Secret")
    await source.delete(secrets, "one-ca", namespace=namespace)
    copies = await seen(target, only=namespace)
    assert "v1 Secret HERE/one-ca" in copies
    done = await ours.beside(*between(pair), "-n", namespace)
    assert done.code == 1
    assert f"Secret {namespace}/one-ca" in done.err
    assert difference(copies, await seen(target, only=namespace)) == []
    # Kept, as it was proposed.
    keep = MergePatch({"metadata": {"annotations": {"move.mooring.dev/from": None}}})
    await target.patch(secrets, "one-ca", keep, namespace=namespace)
    done = await ours.beside(*between(pair), "-n", namespace)
    assert done.code == 0, done.err
    there = await seen(target, only=namespace)
    assert "v1 Secret HERE/one-ca" in there
    assert is_untouched({name: one for name, one in there.items() if "one-ca" not in name}) == []


async def test_the_first_deletion_is_the_point_of_no_return(pair: Pair, source: Client, target: Client, ours):
    namespace = fresh()
    await furnished(source, target, namespace)
    before = await seen(source, only=namespace), await seen(target, only=namespace)
    async with who_may_not_delete(pair.source) as limited, Client(limited) as here:
        # Refused at the first: back.
        with pytest.raises(ClusterctlError, match="cannot be deleted from the source cluster"):
            await move(here, target, Options(Choice(namespace)))
        after = await seen(source, only=namespace), await seen(target, only=namespace)
        assert [difference(*two) for two in zip(before, after, strict=True)] == [[], []]
        # Refused later: forward only.
        await killed_past_the_point(pair, namespace)
        copies = await seen(target, only=namespace)
        with pytest.raises(ClusterctlError, match="there is no way back"):
            await move(here, target, Options(Choice(namespace)))
        assert (await seen(target, only=namespace)).keys() == copies.keys()
    done = await ours.beside(*between(pair), "-n", namespace)
    assert done.code == 0, done.err
    assert [name for name in await seen(source, only=namespace) if " Namespace " not in name] == []
    there = await seen(target, only=namespace)
    assert is_untouched(there) == []
    assert there["v1 ConfigMap HERE/known"]["data"] == {"value": "value"}


async def test_files_that_cannot_be_restored_leave_nothing(
    pair: Pair, source: Client, target: Client, ours, tmp_path: Path
):
    namespace = fresh()
    await furnished(source, target, namespace)
    await too_heavy(source, target, namespace)
    files = tmp_path / "files"
    files.mkdir()
    done = await ours.beside(*of(pair), "-n", namespace, "--to-directory", str(files))
    assert done.code == 0, done.err
    before = await seen(target, only=namespace)
    to = ("--to-kubeconfig", str(pair.target.kubeconfig))
    done = await ours.beside("move", *to, "--from-directory", str(files))
    assert done.code == 1
    assert f"Crane {namespace}/heavy" in done.err
    assert difference(before, await seen(target, only=namespace)) == []
