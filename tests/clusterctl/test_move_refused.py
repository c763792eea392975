"""What is refused: by both clusterctls, or by ours alone where the other one does harm. Nothing has changed then."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import clusters as capi
import pytest
from clusters import put
from moving_kit import (
    HOME,
    READY,
    Pair,
    a_namespace,
    a_small_cluster,
    between,
    difference,
    fresh,
    of,
    provider,
    seen,
)

from mooring.clusterctl.inventory_definition import PROVIDERS
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.kube import Client
from mooring.kube.definitions import install


async def unprovisioned(source: Client, namespace: str) -> None:
    await put(source, capi.cluster("one", namespace, status=capi.conditions(capi.condition("ControlPlaneInitialized"))))


async def uninitialized(source: Client, namespace: str) -> None:
    status = capi.conditions(initialization={"infrastructureProvisioned": True, "controlPlaneInitialized": True})
    await put(source, capi.cluster("one", namespace, status=status))


async def without_control_plane(source: Client, namespace: str) -> None:
    """Only with a reference to one does the field count."""
    condition = capi.condition("ControlPlaneInitialized")
    status = capi.conditions(condition, initialization={"infrastructureProvisioned": True})
    control_plane = capi.kubeadm_control_plane("one", namespace)
    await put(source, capi.cluster("one", namespace, control_plane=control_plane, status=status))


async def without_node(source: Client, namespace: str) -> None:
    made = await put(source, capi.cluster("one", namespace, status=READY))
    await put(source, capi.machine("lonely", namespace, cluster="one", owners=[capi.owner(made)]))


async def paused(source: Client, namespace: str) -> None:
    await put(source, capi.cluster("one", namespace, status=READY, paused=True))


async def paused_by_annotation(source: Client, namespace: str) -> None:
    note = {capi.PAUSED_ANNOTATION: "maintenance"}
    await put(source, capi.cluster("one", namespace, status=READY, annotations=note))


async def paused_class(source: Client, namespace: str) -> None:
    await put(source, capi.cluster_class("one", namespace, annotations={capi.PAUSED_ANNOTATION: ""}))


DEFECTS = (
    unprovisioned,
    uninitialized,
    without_control_plane,
    without_node,
    paused,
    paused_by_annotation,
    paused_class,
)
SEEN_BY_DRY_RUNS = frozenset({paused, paused_by_annotation, paused_class})


async def test_both_refuse_what_is_not_at_rest(pair: Pair, source: Client, target: Client, judge, ours):
    async def refused(defect) -> None:
        namespace = fresh()
        await a_namespace(source, namespace)
        await defect(source, namespace)
        before = await seen(source, only=namespace)
        for more in ((), ("--dry-run",)):
            judged = await judge.beside(*between(pair), "-n", namespace, *more)
            done = await ours.beside(*between(pair), "-n", namespace, *more)
            expected = 1 if not more or defect in SEEN_BY_DRY_RUNS else 0
            assert (judged.code, done.code) == (expected, expected), (defect, judged.err, done.err)
            if expected:
                assert len(done.err.splitlines()) == 1
                assert f"{namespace}/" in done.err
        assert difference(before, await seen(source, only=namespace)) == []
        assert await seen(target, only=namespace) == {}

    await asyncio.gather(*map(refused, DEFECTS))


@pytest.mark.parametrize(
    ("version", "remedy"), [(None, "run init there"), ("v1.9.9", "older"), ("v2.0.0-rc.1", "older"), ("v2.0.1", "")]
)
async def test_the_target_has_what_the_source_has(
    pair: Pair, source: Client, target: Client, judge, ours, version: str | None, remedy: str
):
    name, namespace = f"p{uuid4().hex[:6]}", fresh()
    await provider(source, name, "InfrastructureProvider", "v2.0.0", HOME)
    if version is not None:
        await provider(target, name, "InfrastructureProvider", version, HOME)
    try:
        judged = await judge.beside(*between(pair), "-n", namespace)
        done = await ours.beside(*between(pair), "-n", namespace)
    finally:
        for client in (source, target) if version is not None else (source,):
            await client.delete(PROVIDERS, f"infrastructure-{name}", namespace=HOME)
    expected = 1 if remedy else 0
    assert (judged.code, done.code) == (expected, expected), judged.err + done.err
    if remedy:
        assert f"infrastructure-{name}" in done.err
        assert remedy in done.err


async def test_a_running_cluster_at_the_target_is_not_overwritten(pair: Pair, source: Client, target: Client, ours):
    """The judge would: DEVIATION move-running-cluster."""
    namespace = fresh()
    await a_namespace(source, namespace)
    await a_namespace(target, namespace)
    await a_small_cluster(source, "one", namespace)
    await put(target, capi.cluster("one", namespace, status=READY))
    before = await seen(source, only=namespace), await seen(target, only=namespace)
    done = await ours.beside(*between(pair), "-n", namespace)
    assert done.code == 1
    assert f"Cluster {namespace}/one already" in done.err
    after = await seen(source, only=namespace), await seen(target, only=namespace)
    assert [difference(*two) for two in zip(before, after, strict=True)] == [[], []]


async def test_what_is_being_deleted_does_not_rise_again(pair: Pair, source: Client, target: Client, ours):
    """With the judge it does: DEVIATION move-while-deleting."""
    namespace = fresh()
    await a_namespace(source, namespace)
    await a_small_cluster(source, "one", namespace)
    kind = await source.resource("infrastructure.cluster.x-k8s.io/v1beta2", "HarborCluster")
    await source.delete(kind, "one", namespace=namespace)  # held by its finalizer
    done = await ours.beside(*between(pair), "-n", namespace)
    assert done.code == 1
    assert f"HarborCluster {namespace}/one: being deleted" in done.err
    assert await seen(target, only=namespace) == {}


async def test_source_and_target_are_two(pair: Pair, source: Client, ours):
    """To the judge they need not be, and everything is gone then: DEVIATION move-same-cluster."""
    namespace = fresh()
    await a_namespace(source, namespace)
    await a_small_cluster(source, "one", namespace)
    before = await seen(source, only=namespace)
    done = await ours.beside(*of(pair), "--to-kubeconfig", str(pair.source.kubeconfig), "-n", namespace)
    assert done.code == 1
    assert "the same cluster" in done.err
    assert difference(before, await seen(source, only=namespace)) == []


async def test_the_target_serves_every_kind(pair: Pair, source: Client, target: Client, ours):
    namespace = fresh()
    tug = capi.definition("yard.example.com", "Tug", provider="infrastructure-harbor")
    await install(source, [tug])
    try:
        await a_namespace(source, namespace)
        made = await a_small_cluster(source, "one", namespace)
        owners = [capi.owner(made)]
        await put(source, capi.an_object("yard.example.com/v1beta2", "Tug", "one", namespace, owners=owners))
        before = await seen(source, only=namespace)
        done = await ours.beside(*between(pair), "-n", namespace)
        assert done.code == 1
        assert "does not serve Tug in yard.example.com/v1beta2" in done.err
        assert difference(before, await seen(source, only=namespace)) == []
        assert await seen(target, only=namespace) == {}
    finally:
        await source.delete(DEFINITIONS, tug["metadata"]["name"])


EXCLUSIVE = (
    ("--to-directory", "a", "--to-kubeconfig", "b"),
    ("--from-directory", "a", "--to-directory", "b"),
    ("--from-directory", "a", "--kubeconfig", "b"),
    ("--hide-api-warnings", "some", "--dry-run"),
    ("--to-directory", "nowhere"),
    ("--from-directory", "nowhere"),
    (),
    ("argument", "--dry-run"),
)


def test_words_that_do_not_go_together(pair: Pair, judge, ours):
    for words in EXCLUSIVE:
        known = {} if "--kubeconfig" in words else {"KUBECONFIG": str(pair.source.kubeconfig)}
        judged, said = judge("move", *words, **known), ours("move", *words, **known)
        assert (judged.code, said.code) == (1, 1), (words, judged.err, said.err)
        assert said.err.startswith("Error: ")
        assert len(said.err.splitlines()) == 1, said.err
