"""Moves between two real control planes, by the other clusterctl and by ours: the same is moved, kept and refused."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import clusters as capi
import pytest
from clusters import put
from moving_kit import (
    HAS_NODE,
    HIERARCHY,
    HOME,
    READY,
    Pair,
    a_fleet,
    a_namespace,
    a_small_cluster,
    between,
    config_map,
    difference,
    fresh,
    is_untouched,
    of,
    secret,
    seen,
    told,
)

from mooring.kube import Client, MergePatch


async def test_the_judge_and_ours_do_the_same(pair: Pair, source: Client, target: Client, judge, ours):
    theirs, mine = fresh(), fresh()
    await asyncio.gather(a_fleet(source, theirs), a_fleet(source, mine))

    # What they would do, both of one namespace.
    judged = await judge.beside(*of(pair), "-n", theirs, "--dry-run", "-v", "5")
    said = await ours.beside(*of(pair), "-n", theirs, "--dry-run", "-v", "5")
    assert (judged.code, said.code) == (0, 0), judged.err + said.err
    assert told(said.err) == told(judged.err) != set()

    judged = await judge.beside(*between(pair), "-n", theirs)
    done = await ours.beside(*between(pair), "-n", mine)
    assert (judged.code, done.code) == (0, 0), judged.err + done.err
    here, there = await seen(source, only=mine), await seen(target, only=mine)
    left = without_pause(await seen(source, only=theirs))
    assert difference(left, here) == []
    assert difference(await seen(target, only=theirs), there) == []
    assert is_untouched({**here, **there}) == []
    # Everything that was left behind is told, with the reason.
    assert f"skip ConfigMap {mine} two-owners" in squeezed(done.out)
    assert "ServiceAccount keeper" in done.out
    assert f"skip Secret {mine} nobody-ca has no owner, and its name" in squeezed(done.out)


def without_pause(found: dict) -> dict:
    """The judge leaves ClusterClasses that it did not delete paused (DEVIATION move-classes-stay-paused)."""
    for name, one in found.items():
        if " ClusterClass " in f" {name}":
            annotations = one["metadata"].pop("annotations", {})
            assert annotations.pop(capi.PAUSED_ANNOTATION) == ""
            one["metadata"] |= {"annotations": annotations} if annotations else {}
            one["metadata"]["managers"] = [who for who in one["metadata"]["managers"] if "clusterctl" not in who]
    return found


def squeezed(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


async def test_what_is_there_already_is_replaced_or_left(pair: Pair, source: Client, target: Client, judge, ours):
    names = theirs, mine = fresh(), fresh()
    for namespace in names:
        await a_namespace(source, namespace)
        await a_namespace(target, namespace)
        made = await a_small_cluster(source, "one", namespace)
        await put(source, config_map("ours", namespace, capi.owner(made, controller=False), labels={"a": "b"}))
        identity = await put(source, capi.harbor_cluster_identity(f"{namespace}-id", labels={HIERARCHY: ""}))
        over = capi.owner(identity, controller=False)
        await put(source, secret(f"{namespace}-known", HOME, over))
        # At the target: other contents, and a Cluster that nobody has made anything for.
        await put(target, capi.cluster("one", namespace, labels={"from": "target"}, spec={"other": True}))
        await put(target, {**secret("one-ca", namespace, labels={"from": "target"}), "data": {"other": "b3RoZXI="}})
        await put(target, config_map("ours", namespace, labels={"from": "target"}))
        await put(target, capi.harbor_cluster_identity(f"{namespace}-id", labels={"from": "target"}))
        await put(target, secret(f"{namespace}-known", HOME, labels={"from": "target"}))
    judged = await judge.beside(*between(pair), "-n", theirs)
    # Only for ours: the judge gives its copy an owner of the source, and the target's server removes it as an orphan
    # (DEVIATION move-owner-is-there).
    await put(source, secret(f"{mine}-new", HOME, over))
    done = await ours.beside(*between(pair), "-n", mine)
    assert (judged.code, done.code) == (0, 0), judged.err + done.err
    assert difference(await seen(source, only=theirs), without_new(await seen(source, only=mine))) == []
    there = await seen(target, only=mine)
    assert difference(await seen(target, only=theirs), without_new(there)) == []
    assert is_untouched(there) == []
    (owner,) = there["v1 Secret harbor-system/HERE-new"]["metadata"]["ownerReferences"]
    assert owner["uid"].endswith("HarborClusterIdentity /HERE-id")
    assert there["v1 Secret harbor-system/HERE-known"]["metadata"]["labels"] == {"from": "target"}
    assert "labels" not in there["v1 Secret HERE/one-ca"]["metadata"]


def without_new(found: dict) -> dict:
    return {name: one for name, one in found.items() if not name.endswith("-new")}


async def test_paused_clusters_move_if_so_wanted_and_stay_paused(pair: Pair, source: Client, target: Client, ours):
    namespace = fresh()
    await a_namespace(source, namespace)
    note = {capi.PAUSED_ANNOTATION: "maintenance"}
    await put(source, capi.cluster_class("class", namespace, annotations=note))
    await put(source, capi.cluster("spec", namespace, status=READY, paused=True))
    await put(source, capi.cluster("note", namespace, status=READY, annotations=note))
    await put(source, capi.cluster("free", namespace, status=READY))
    done = await ours.beside(*between(pair), "-n", namespace, "--include-paused")
    assert done.code == 0, done.err
    there = await seen(target, only=namespace)
    assert is_untouched(there) == []
    specs = {
        name.rpartition("/")[2]: (one["spec"], one["metadata"].get("annotations"))
        for name, one in there.items()
        if " Namespace " not in f" {name}"
    }
    assert specs == {
        "class": ({}, note),
        "spec": ({"paused": True}, None),
        "note": ({}, note),
        "free": ({}, None),
    }
    assert [name for name in await seen(source, only=namespace) if "Namespace" not in name] == []


async def test_providers_that_ask_for_time_get_it(pair: Pair, source: Client, target: Client, ours):
    namespace = fresh()
    await a_namespace(source, namespace)
    made = await put(source, capi.cluster("one", namespace, status=READY))
    note = {"clusterctl.cluster.x-k8s.io/block-move": ""}
    blocking = capi.harbor_cluster("one", namespace, owners=[capi.owner(made)], annotations=note)
    blocking = await put(source, blocking)
    kind = await source.resource(blocking["apiVersion"], blocking["kind"])
    clusters = await source.resource(made["apiVersion"], made["kind"])
    running = asyncio.create_task(ours.beside(*between(pair), "-n", namespace))
    while not (await source.get(clusters, "one", namespace=namespace))["spec"].get("paused"):
        assert not running.done()
        await asyncio.sleep(0.05)
    assert list(await seen(target, only=namespace)) == []
    free = MergePatch({"metadata": {"annotations": dict.fromkeys(note)}, "spec": {"ended": True}})
    await source.patch(kind, "one", free, namespace=namespace)
    done = await running
    assert done.code == 0, done.err
    assert f"HarborCluster {namespace}/one blocks" in done.err
    there = await seen(target, only=namespace)
    copied = there["infrastructure.cluster.x-k8s.io/v1beta2 HarborCluster HERE/one"]
    assert copied["spec"] == {"ended": True}
    assert "annotations" not in copied["metadata"]
    assert there["cluster.x-k8s.io/v1beta2 Cluster HERE/one"]["spec"] == {}


async def test_machines_without_a_cluster_stay(pair: Pair, source: Client, ours):
    """Whoever names a Cluster that is not there: the judge cannot read that Cluster, and gives up.

    DEVIATION move-owner-is-gone.
    """
    namespace = fresh()
    await a_namespace(source, namespace)
    gone = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "gone", "uid": str(uuid4())}
    orphan = capi.an_object("yard.example.com/v1beta2", "Crane", "orphan", namespace, owners=[gone])
    await put(source, orphan)
    await put(source, capi.machine("apart", namespace, cluster="x", status=HAS_NODE))
    done = await ours.beside(*of(pair), "-n", namespace, "--dry-run", "-v", "5")
    assert done.code == 0, done.err
    assert [one for one in told(done.err) if namespace in one] == []
    assert f"skip Machine {namespace} apart has no owner" in squeezed(done.out)


@pytest.mark.parametrize("hidden", ["default", "all", "none"])
async def test_warnings_of_the_servers(pair: Pair, source: Client, judge, ours, hidden: str):
    texts = []
    for runner in (judge, ours):
        namespace = fresh()
        await a_namespace(source, namespace)
        names = ["held.example.com", "cluster.x-k8s.io"]
        await put(source, capi.cluster("one", namespace, status=READY, finalizers=names))
        done = await runner.beside(*between(pair), "-n", namespace, "--hide-api-warnings", hidden)
        assert done.code == 0, done.err
        texts.append([name for name in names if f'metadata.finalizers: "{name}"' in done.err.replace('\\"', '"')])
    assert texts[0] == texts[1] == {"default": names[:1], "all": [], "none": names}[hidden]
