"""Graphs of chance: whatever owns whatever, both clusterctls would create and delete the same."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import clusters as capi
import pytest
from clusters import put
from moving_kit import HIERARCHY, MOVE, READY, Pair, a_namespace, config_map, fresh, of, secret, told

from mooring.kube import Client, MergePatch, Object

OBJECTS = 28
SEEDS = range(4)


def cluster(random: Random, name: str, namespace: str, **parts: Any) -> Object:
    topology = {"classRef": {"name": random.choice(["class-0", "class-1", "class-2"])}, "version": "v1"}
    return capi.cluster(name, namespace, status=READY, topology=random.choice([None, topology]), **parts)


def cluster_class(random: Random, _: str, namespace: str, **parts: Any) -> Object:
    return capi.cluster_class(f"class-{random.randrange(3)}", namespace, **parts)


def binding(random: Random, _: str, namespace: str, **parts: Any) -> Object:
    made = capi.resource_set_binding(f"name-{random.randrange(OBJECTS)}", namespace, sets=[], **parts)
    made["metadata"]["name"] = f"binding-{random.random()}"
    return made


def a_secret(random: Random, name: str, namespace: str, owners: Any = (), labels: Any = None) -> Object:
    """Some are named as Secrets of a cluster are."""
    suffix = random.choice(["", "-ca", "-etcd", "-kubeconfig", "-proxy", "-apiserver-etcd-client", "-client"])
    named = f"name-{random.randrange(OBJECTS)}{suffix}" if suffix else name
    return secret(named, namespace, *owners, **({"labels": labels} if labels else {}))


def a_config_map(_: Random, name: str, namespace: str, owners: Any = (), labels: Any = None) -> Object:
    return config_map(name, namespace, *owners, **({"labels": labels} if labels else {}))


def account(_: Random, name: str, namespace: str, owners: Any = (), labels: Any = None) -> Object:
    """Of a kind that nobody looks at: whatever it owns has a stranger for an owner."""
    metadata = {"name": name, "namespace": namespace, "ownerReferences": list(owners), "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def crane(_: Random, name: str, namespace: str, **parts: Any) -> Object:
    return capi.an_object("yard.example.com/v1beta2", "Crane", name, namespace, **parts)


def resource_set(_: Random, name: str, namespace: str, **parts: Any) -> Object:
    return capi.resource_set(name, namespace, selector={}, **parts)


def identity(_: Random, name: str, namespace: str, **parts: Any) -> Object:
    """In no namespace: what is in one cannot own it."""
    return capi.harbor_cluster_identity(f"{namespace}-{name}", **{**parts, "owners": ()})


def machine(_: Random, name: str, namespace: str, **parts: Any) -> Object:
    return capi.harbor_machine(name, namespace, **parts)


MAKERS = (cluster, cluster_class, binding, a_secret, a_config_map, account, crane, resource_set, identity, machine)


async def grown(source: Client, namespace: str, random: Random) -> None:
    """Each is owned by some that were there before; a few rings are closed afterwards."""
    await a_namespace(source, namespace)
    made: list[Object] = []
    for number in range(OBJECTS):
        owners = random.sample(made, k=min(len(made), random.choice([0, 0, 1, 1, 1, 1, 2])))
        labels = random.choice([None, None, None, None, {MOVE: ""}, {HIERARCHY: "anything"}])
        maker = random.choice(MAKERS)
        body = maker(
            random,
            f"name-{number}",
            namespace,
            owners=[capi.owner(one, controller=False) for one in owners],
            labels=labels,
        )
        places = {(one["kind"], one["metadata"]["name"]) for one in made}
        if (body["kind"], body["metadata"]["name"]) not in places:
            made.append(await put(source, body))
    for one in random.sample(made, k=3):
        await own_back(source, one, random.choice(made))


async def own_back(source: Client, one: Object, other: Object) -> None:
    if "namespace" not in one["metadata"]:
        return
    kind = await source.resource(one["apiVersion"], one["kind"])
    known = [owner for owner in one["metadata"].get("ownerReferences", ()) if owner["uid"] != other["metadata"]["uid"]]
    patch = {"metadata": {"ownerReferences": [*known, capi.owner(other, controller=False)]}}
    namespace = one["metadata"]["namespace"]
    await source.patch(kind, one["metadata"]["name"], MergePatch(patch), namespace=namespace)


@pytest.mark.parametrize("seed", SEEDS)
async def test_both_would_do_the_same(pair: Pair, source: Client, judge, ours, seed: int):
    namespace = fresh()
    await grown(source, namespace, Random(seed))
    words = (*of(pair), "-n", namespace, "--dry-run", "-v", "5")
    judged, done = await asyncio.gather(judge.beside(*words), ours.beside(*words))
    assert (judged.code, done.code) == (0, 0), judged.err + done.err
    assert told(done.err) == told(judged.err)
    assert [one for one in told(done.err) if namespace in one]
