"""The way back, as long as nothing has been deleted at the source.

What a run has created at the target goes again: dependants before their owners, with the finalizers stripped and while
its Cluster is still paused, so that no provider takes the deletion for the end of the infrastructure. What was there
before is put back as far as this run knows it, and the source goes on. What is ours is read from the notes on the
objects, so that also a run that was killed is undone by the next one that fails.

Guarantee: a copy is removed only while its original is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mooring.clusterctl.applying import persistently
from mooring.clusterctl.finding import served
from mooring.clusterctl.move.carrying import NAMESPACES, Carrier
from mooring.clusterctl.move.graph import Graph, Node
from mooring.clusterctl.move.landing import Landed, Place, Shore, land, written
from mooring.clusterctl.move.progress import DELETE_FOR_MOVE, FROM, LEAVING, MANAGER, Run, origin_in
from mooring.clusterctl.move.sequence import Sequence
from mooring.clusterctl.move.writing import change, each, remove
from mooring.clusterctl.objects import texts_at
from mooring.kube import Client, Object, revision_of, uid_of
from mooring.kube.errors import ApiError, MethodNotAllowed, NotFound

# What a namespace has by itself.
_BORN_WITH: Final = frozenset({("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")})


async def clear(carrier: Carrier, graph: Graph, order: Sequence, shore: Shore) -> None:
    """Remove from the target what runs with these words have created there, and put back what was there before."""
    landing = await land(carrier.target, carrier.run, order.nodes, shore)
    layers: dict[Place, int] = {node.place: layer for layer, group in enumerate(order.groups) for node in group}
    created = [one for one in landing.made if one.origin is not None and graph.has_seen(one.origin.uid)]
    last = max(layers.values(), default=0) + 1
    for layer in range(last, -1, -1):
        await each([one for one in created if layers.get(one.place, last) == layer], lambda one: _clear(carrier, one))
    overwritten = [one for one in landing.ours if one.origin is not None and one.origin.over]
    await each(overwritten, lambda one: _put_back(carrier, one))
    for name in landing.namespaces(order.nodes):
        await _clear_namespace(carrier.target, name, carrier.run)


async def _clear(carrier: Carrier, landed: Landed) -> None:
    what = f"{landed} cannot be removed from the target cluster"
    name, namespace, target = landed.name, landed.namespace, carrier.target
    stripped: Object = {
        "metadata": {"uid": landed.uid, "finalizers": [], "annotations": {DELETE_FOR_MOVE: ""}},
    }
    await change(target, landed.resource, name, stripped, namespace=namespace, what=what)
    if await remove(target, landed.resource, name, namespace=namespace, uid=landed.uid, what=what) is not None:
        await change(target, landed.resource, name, stripped, namespace=namespace, what=what)


async def _put_back(carrier: Carrier, landed: Landed) -> None:
    """As it was; if a run before this one has overwritten it, only our note is taken off."""
    before = carrier.before.get(landed.place)
    what = f"{landed} cannot be put back in the target cluster"
    if before is None:
        unmarked: Object = {"metadata": {"uid": landed.uid, "annotations": {FROM: None}}}
        await change(carrier.target, landed.resource, landed.name, unmarked, namespace=landed.namespace, what=what)
        return
    resource = await carrier.target.resource(landed.resource.api_version, landed.resource.kind)

    async def deed() -> None:
        try:
            now = await carrier.target.get(resource, landed.name, namespace=landed.namespace or None)
        except NotFound:
            return
        if uid_of(now) == landed.uid:
            body = {**before, "metadata": {**before["metadata"], "resourceVersion": revision_of(now)}}
            await carrier.target.replace(resource, body, field_manager=MANAGER)

    await persistently(deed, what=what)


async def unmark_source(source: Client, nodes: Iterable[Node]) -> None:
    """Nothing at the source is going to be deleted."""

    async def unmark(node: Node) -> None:
        resource = written(await source.resource(node.api_version, node.kind))
        patch: Object = {"metadata": {"uid": node.uid, "annotations": {DELETE_FOR_MOVE: None, LEAVING: None}}}
        await change(source, resource, node.name, patch, namespace=node.namespace, what=f"{node} cannot be restored")

    await each(nodes, unmark)


async def _clear_namespace(target: Client, name: str, run: Run) -> None:
    """A namespace that we made goes, if nobody has put anything into it meanwhile."""
    try:
        found = await target.get(NAMESPACES, name)
    except ApiError:
        return  # not there, or not ours to see
    origin = origin_in(texts_at(found, "annotations"))
    if origin is None or not origin.is_of(run):
        return
    what = f"namespace {name} cannot be removed from the target cluster"
    if await _is_empty(target, name):
        await remove(target, written(NAMESPACES), name, namespace="", uid=uid_of(found), what=what)
    else:
        await finish_namespace(target, name, run)


async def finish_namespace(target: Client, name: str, run: Run) -> None:
    """Take our note off a namespace that we made."""
    try:
        found = await target.get(NAMESPACES, name)
    except ApiError:
        return
    origin = origin_in(texts_at(found, "annotations"))
    if origin is not None and origin.is_of(run):
        patch: Object = {"metadata": {"uid": uid_of(found), "annotations": {FROM: None}}}
        what = f"namespace {name} cannot be finished in the target cluster"
        await change(target, written(NAMESPACES), name, patch, namespace="", what=what)


async def _is_empty(target: Client, namespace: str) -> bool:
    for one in await served(target):
        if not one.resource.namespaced or "list" not in one.verbs or one.resource.kind == "Event":
            continue
        try:
            found = (await target.list(one.resource, namespace=namespace)).items
        except (NotFound, MethodNotAllowed):
            continue
        if any((one.resource.plural, thing["metadata"]["name"]) not in _BORN_WITH for thing in found):
            return False
    return True
