"""Bar ``clusterctl-move``: 200 clusters with 20 objects each, from one management cluster to another.

The subjects are processes of their own, ``moving.py move|raw SOURCE TARGET`` with two kubeconfigs: our move, and a raw
client that does the same writes with the same hands: it copies, gives the fields back to their owners, announces each
deletion, deletes and strips finalizers, and it looks at nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.bars import Result
    from mooring.controlplane.landscape import Landscape
    from mooring.controlplane.plane import ControlPlane
    from mooring.kube import Client, Connection, Object, Resource

CLUSTERS, EACH, AT_ONCE, RUNS = 200, 20, 32, 3
OBJECTS = CLUSTERS * (EACH + 1)
NAMESPACE, MANAGER = "fleet", "raw"
_CORE, _INFRASTRUCTURE = "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"
_KINDS = {
    "Cluster": _CORE,
    "Machine": _CORE,
    "MachineSet": _CORE,
    "MachineDeployment": _CORE,
    "KubeadmControlPlane": "controlplane.cluster.x-k8s.io",
    "KubeadmConfig": "bootstrap.cluster.x-k8s.io",
    "HarborCluster": _INFRASTRUCTURE,
    "HarborMachine": _INFRASTRUCTURE,
}
_HELD = frozenset({"Cluster", "Machine", "KubeadmControlPlane", "HarborCluster", "HarborMachine"})
_READY = {
    "initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True},
    "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}],
}


async def clusterctl_move() -> list[Result]:
    from bench.bars import Limit, compared, take_turns
    from bench.grounds import landscape

    async with landscape() as made:
        value, floor = await take_turns(
            "clusterctl-move", lambda _: _rate(made, "move"), lambda _: _rate(made, "raw"), runs=RUNS
        )
    limit = Limit("≥ 0.5 of its rate", at_least=0.5)
    return [compared("clusterctl-move", value, floor, "objects/s", limit, runs=RUNS)]


# -- what it stands on ------------------------------------------------------------------------------------------


async def _rate(made: Landscape, side: str) -> float:
    from bench.grounds import fresh_plane, number_from
    from mooring.kube import Client

    async with (
        fresh_plane(made) as source,
        fresh_plane(made) as target,
        Client(_connection_of(source)) as here,
        Client(_connection_of(target)) as there,
    ):
        await asyncio.gather(_furnish(here), _furnish(there))
        await _settle(here)
        rate = await number_from("-m", "bench.moving", side, _kubeconfig(source), _kubeconfig(target))
        left, come = len(await _everything(here)), len(await _everything(there))
    if (left, come) != (0, OBJECTS):
        raise SystemExit(f"{side}: {left} objects are left at the source, {come} have come to the target")
    return rate


def _connection_of(plane: ControlPlane) -> Connection:
    from mooring.kube import connection_from_document

    return connection_from_document(plane.admin_kubeconfig(name="bench"))


def _kubeconfig(plane: ControlPlane) -> Path:
    file = plane.directory / "bench.kubeconfig"
    file.write_text(json.dumps(plane.admin_kubeconfig(name="bench")))
    return file


async def _furnish(client: Client) -> None:
    """The kinds, as clusterctl would have installed them."""
    from mooring.kube.definitions import install

    await install(client, [_definition(group, kind) for kind, group in _KINDS.items()])


def _definition(group: str, kind: str) -> Object:
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta2", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "labels": {"clusterctl.cluster.x-k8s.io": ""}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }


async def _settle(client: Client) -> None:
    """The fleet."""
    await client.create(_resource("Namespace"), _namespace())
    await _each(range(CLUSTERS), lambda number: _cluster(client, f"cluster-{number}"))


async def _cluster(client: Client, name: str) -> None:
    """A Cluster and the twenty that belong to it."""
    cluster = await _put(client, "Cluster", name, status=_READY)
    await _put(client, "HarborCluster", name, cluster)
    control_plane = await _put(client, "KubeadmControlPlane", name, cluster)
    for number in range(3):
        machine = await _put(client, "Machine", f"{name}-{number}", control_plane, status={"nodeRef": {"name": "n"}})
        config = await _put(client, "KubeadmConfig", f"{name}-{number}", machine)
        await _put(client, "HarborMachine", f"{name}-{number}", machine)
        await _put(client, "Secret", f"{name}-{number}", config)
    deployment = await _put(client, "MachineDeployment", name, cluster)
    await _put(client, "MachineSet", name, deployment)
    for purpose in ("ca", "etcd", "sa", "proxy"):
        await _put(client, "Secret", f"{name}-{purpose}")


async def _put(client: Client, kind: str, name: str, owner: Object | None = None, status: Any = None) -> Object:
    resource = _resource(kind)
    metadata: Object = {"name": name, "namespace": NAMESPACE, "labels": {"cluster.x-k8s.io/cluster-name": name}}
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        identity = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
        metadata["ownerReferences"] = [{**reference, **identity}]
    if kind in _HELD:
        metadata["finalizers"] = [f"{kind.lower()}.example.com/held"]
    contents: Object = {"data": {"value": "dmFsdWU="}} if kind == "Secret" else {"spec": {"clusterName": name}}
    body = {"apiVersion": resource.api_version, "kind": kind, "metadata": metadata, **contents}
    made = await client.create(resource, body)
    if status is not None:
        await client.replace(resource, {**made, "status": status}, subresource="status")
    return made


def _namespace() -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def _resource(kind: str) -> Resource[Object]:
    from mooring.kube import untyped

    group = _KINDS.get(kind, "")
    version = "v1beta2" if group else "v1"
    return untyped(group=group, version=version, plural=f"{kind.lower()}s", kind=kind, namespaced=kind != "Namespace")


async def _everything(client: Client) -> list[Object]:
    found = []
    for kind in (*_KINDS, "Secret"):
        listed = await client.list(_resource(kind), namespace=NAMESPACE)
        found += [{"kind": kind, **one} for one in listed.items]
    return found


async def _each(items: Iterable[Any], deed: Callable[[Any], Awaitable[Any]]) -> None:
    left = iter(items)

    async def work() -> None:
        for one in left:
            await deed(one)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


# -- the subjects -----------------------------------------------------------------------------------------------


async def move_side(source: Client, target: Client) -> None:
    from mooring.clusterctl.move import Choice, Options, move

    await move(source, target, Options(Choice(NAMESPACE)))


async def raw_side(source: Client, target: Client) -> None:
    """All objects by the depth of their owners: over from the top, away from the bottom."""
    from mooring.kube import MergePatch

    objects = await _everything(source)
    clusters = [one for one in objects if one["kind"] == "Cluster"]

    async def pause(client: Client, cluster: Object, value: bool | None) -> None:
        patch = MergePatch({"spec": {"paused": value}})
        name = cluster["metadata"]["name"]
        await client.patch(_resource("Cluster"), name, patch, namespace=NAMESPACE, field_manager=MANAGER)

    await _each(clusters, lambda one: pause(source, one, True))
    uids: dict[str, str] = {}
    await target.create(_resource("Namespace"), _namespace())
    layers = _layers(objects)
    for layer in layers:
        await _each(layer, lambda one: _copy(target, one, uids))
    for layer in reversed(layers):
        await _each(layer, lambda one: _take(source, target, one))
    await _each(clusters, lambda one: pause(target, one, None))


def _layers(objects: Iterable[Object]) -> list[list[Object]]:
    by_uid = {one["metadata"]["uid"]: one for one in objects}

    def depth(one: Object) -> int:
        owners = one["metadata"].get("ownerReferences", ())
        return 1 + max((depth(by_uid[owner["uid"]]) for owner in owners), default=-1)

    found: dict[int, list[Object]] = {}
    for one in by_uid.values():
        found.setdefault(depth(one), []).append(one)
    return [found[layer] for layer in sorted(found)]


async def _copy(target: Client, one: Object, uids: dict[str, str]) -> None:
    resource, metadata = _resource(one["kind"]), one["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "finalizers") if key in metadata}
    owners = [{**owner, "uid": uids[owner["uid"]]} for owner in metadata.get("ownerReferences", ())]
    body = {**one, "apiVersion": resource.api_version, "metadata": {**kept, "ownerReferences": owners}}
    if one["kind"] == "Cluster":
        body["spec"] = {**one["spec"], "paused": True}
    made = await target.create(resource, body, field_manager=MANAGER)
    uids[metadata["uid"]] = made["metadata"]["uid"]


async def _take(source: Client, target: Client, one: Object) -> None:
    from mooring.kube import MergePatch

    resource, metadata = _resource(one["kind"]), one["metadata"]
    name, where = metadata["name"], {"namespace": NAMESPACE, "field_manager": MANAGER}
    fields = MergePatch({"metadata": {"managedFields": metadata["managedFields"]}})
    await target.patch(resource, name, fields, **where)
    announced = MergePatch({"metadata": {"annotations": {"clusterctl.cluster.x-k8s.io/delete-for-move": ""}}})
    await source.patch(resource, name, announced, **where)
    if await source.delete(resource, name, namespace=NAMESPACE) is not None:
        await source.patch(resource, name, MergePatch({"metadata": {"finalizers": []}}), **where)


async def timed(side: str, source: str, target: str) -> float:
    from mooring.kube import Client, connection_from_document

    sides = {"move": move_side, "raw": raw_side}
    here, there = (connection_from_document(json.loads(Path(file).read_text())) for file in (source, target))
    async with Client(here) as at_source, Client(there) as at_target:
        begun = time.perf_counter()
        await sides[side](at_source, at_target)
        return OBJECTS / (time.perf_counter() - begun)


def main(side: str, source: str, target: str) -> float:
    import uvloop

    return uvloop.run(timed(side, source, target))


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
