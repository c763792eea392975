"""One cluster, or some: by name or by label. The judge cannot; what is left behind must still be whole."""

from __future__ import annotations

import json

import clusters as capi
import pytest
from clusters import put
from moving_kit import READY, Pair, a_fleet, a_namespace, a_small_cluster, difference, fresh, is_untouched, secret, seen

from mooring.kube import Client


def words(pair: Pair, namespace: str, *more: str) -> tuple[str, ...]:
    sides = ("--kubeconfig", str(pair.source.kubeconfig), "--to-kubeconfig", str(pair.target.kubeconfig))
    return ("move", *sides, "-n", namespace, "-o", "json", *more)


def names(found: dict, kind: str) -> list[str]:
    return sorted(name.rpartition("/")[2] for name in found if f" {kind} " in name)


@pytest.mark.parametrize("by", ["name", "selector"])
async def test_some_go_and_the_others_stay(pair: Pair, source: Client, target: Client, ours, by: str):
    namespace = fresh()
    await a_fleet(source, namespace)
    before = await seen(source, only=namespace)
    chosen = ("--cluster", "first", "--cluster", "third") if by == "name" else ("--selector", "tier=gold")
    done = await ours.beside(*words(pair, namespace, *chosen))
    assert done.code == 0, done.err
    here, there = await seen(source, only=namespace), await seen(target, only=namespace)
    assert is_untouched({**here, **there}) == []
    assert (names(here, "Cluster"), names(there, "Cluster")) == (["beside", "second"], ["first", "third"])
    # What only they had has gone with them, from the top to the bottom.
    assert names(there, "Machine") == ["first-cp-0", "first-w"]
    assert names(here, "Machine") == []
    assert names(there, "ClusterResourceSetBinding") == ["first", "third"]
    assert "first-ca" in names(there, "Secret")
    assert "first-ca" not in names(here, "Secret")
    # What others may need is at both sides, as it was; classes and templates that only others use are not copied.
    for kind in ("ClusterResourceSet", "Crane"):
        assert names(here, kind) == names(there, kind) != []
    assert (names(there, "ClusterClass"), names(here, "ClusterClass")) == (["far"], ["far", "near", "wanted"])
    # Of an owner that has gone the server forgets the reference.
    staying = {name: one for name, one in before.items() if name in here and "two-owners" not in name}
    assert difference(staying, {name: one for name, one in here.items() if name in staying}) == []
    assert {name for name in before if "/second" in name} <= here.keys()
    report = json.loads(done.out)
    reasons = {(one["kind"], one["name"]): one for one in report["objects"]}
    assert reasons["Cluster", "second"]["reason"] == "is not among the chosen clusters"
    assert reasons["HarborCluster", "second"]["reason"] == "belongs to second, which was not chosen"
    assert reasons["ClusterResourceSet", "set"]["action"] == "copy"
    assert reasons["Cluster", "first"] == {
        "action": "move",
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "namespace": namespace,
        "name": "first",
    }

    # The rest follows; what was copied is there already.
    done = await ours.beside(*words(pair, namespace))
    assert done.code == 0, done.err
    assert names(await seen(source, only=namespace), "Cluster") == ["beside"]
    there = await seen(target, only=namespace)
    assert names(there, "Cluster") == ["first", "second", "third"]
    assert is_untouched(there) == []


async def test_only_the_chosen_have_to_be_at_rest(pair: Pair, source: Client, target: Client, ours):
    namespace = fresh()
    await a_namespace(source, namespace)
    await a_small_cluster(source, "good", namespace)
    await put(source, capi.cluster("young", namespace))
    await put(source, capi.cluster("held", namespace, paused=True, status=READY))
    done = await ours.beside(*words(pair, namespace))
    assert done.code == 1
    assert "young" in done.err
    done = await ours.beside(*words(pair, namespace, "--cluster", "good"))
    assert done.code == 0, done.err
    assert names(await seen(target, only=namespace), "Cluster") == ["good"]
    done = await ours.beside(*words(pair, namespace, "--cluster", "held"))
    assert done.code == 1
    assert f"Cluster {namespace}/held" in done.err


async def test_what_two_clusters_own_is_copied(pair: Pair, source: Client, target: Client, ours):
    namespace = fresh()
    await a_namespace(source, namespace)
    made = [await a_small_cluster(source, name, namespace) for name in ("one", "two")]
    await put(source, secret("shared", namespace, *(capi.owner(one, controller=False) for one in made)))
    done = await ours.beside(*words(pair, namespace, "--cluster", "one"))
    assert done.code == 0, done.err
    here, there = await seen(source, only=namespace), await seen(target, only=namespace)
    owners = [
        [owner["name"] for owner in side["v1 Secret HERE/shared"]["metadata"]["ownerReferences"]]
        for side in (here, there)
    ]
    # At each side those that are there: whom the server at the source has forgotten by now does not count.
    assert owners == [["two"], ["one"]]


async def test_nobody_fits(pair: Pair, source: Client, ours):
    namespace = fresh()
    await a_namespace(source, namespace)
    await a_small_cluster(source, "one", namespace)
    for more, told in (
        (("--cluster", "other"), f"there is no Cluster other in namespace {namespace}: there are one"),
        (("--selector", "a=b"), "no Cluster in namespace"),
        (("--selector", "a=b=c"), "a=b=c"),
    ):
        for dry in ((), ("--dry-run",)):
            done = await ours.beside(*words(pair, namespace, *more, *dry))
            assert (done.code, len(done.err.splitlines())) == (1, 1), done.err
            assert told in done.err
