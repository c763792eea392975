"""Clusters and ClusterClasses of the source come to rest, and go on again.

Whoever pauses notes on the object that it was a move, and what was there before, so that nobody else's pause is taken
for ours, and ours not for somebody else's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.move.checks import concerned
from mooring.clusterctl.move.discovery import View
from mooring.clusterctl.move.graph import BLOCK_ANNOTATION, CLASS, CLUSTER, GroupKind, Node
from mooring.clusterctl.move.landing import written
from mooring.clusterctl.move.progress import PAUSED, PAUSED_BY, Pause, Run, pause_in
from mooring.clusterctl.move.report import Tell
from mooring.clusterctl.move.writing import change, each
from mooring.clusterctl.objects import at, name_of, namespace_of, text_at, texts_at
from mooring.clusterctl.waiting import wait_for
from mooring.kube import Client, Object, revision_of, uid_of
from mooring.kube.errors import Conflict, NotFound

# As long as the other clusterctl waits: so long a provider has to bring what it does to an end.
BLOCKED_FOR: Final = 380.0


async def pause_all(client: Client, view: View, run: Run) -> None:
    """Clusters, then ClusterClasses; those that a run with the same words has paused are left as they are."""
    for kind in (CLUSTER, CLASS):
        await each(concerned(view, kind), lambda node: _pause(client, node, run))


async def _pause(client: Client, node: Node, run: Run) -> None:
    body = node.body or {}
    resource = await client.resource(node.api_version, node.kind)
    while pause_in(texts_at(body, "annotations")) is None:
        try:
            await change(
                client,
                written(resource),
                node.name,
                _pausing(node.group_kind, body, run),
                namespace=node.namespace,
                what=f"{node} cannot be paused",
            )
            return
        except Conflict:
            # Somebody wrote meanwhile, perhaps a pause of their own: look again.
            try:
                body = await client.get(resource, node.name, namespace=node.namespace)
            except NotFound:
                return


def _pausing(kind: GroupKind, body: Object, run: Run) -> Object:
    metadata = {"uid": uid_of(body), "resourceVersion": revision_of(body)}
    if kind == CLUSTER:
        note = Pause(run.words, at(body, "spec", "paused"))
        return {"metadata": {**metadata, "annotations": {PAUSED_BY: note.text}}, "spec": {"paused": True}}
    before = PAUSED in texts_at(body, "annotations")
    annotations = {PAUSED_BY: Pause(run.words, before or None).text, **({} if before else {PAUSED: ""})}
    return {"metadata": {**metadata, "annotations": annotations}}


async def resume_all(client: Client, view: View, run: Run, namespaces: Iterable[str] = ()) -> None:
    """What this run, or one with the same words, has paused at the source goes on as it was.

    ``namespaces``: where it may have paused something, beside those that are seen.
    """
    for kind in (CLASS, CLUSTER):
        resource = next((one.resource for one in view.kinds if one.group_kind == kind), None)
        if resource is None:
            continue
        places = {*namespaces, *(one.namespace for one in view.graph.of(kind))}
        found = [one for place in sorted(places) for one in (await client.list(resource, namespace=place)).items]

        async def resume(body: Object, kind: GroupKind = kind) -> None:
            pause = pause_in(texts_at(body, "annotations"))
            if pause is None or pause.words != run.words:
                return
            await change(
                client,
                written(await client.resource(text_at(body, "apiVersion"), kind[1])),
                name_of(body),
                _resuming(kind, text_at(body, "metadata", "uid"), pause),
                namespace=namespace_of(body),
                what=f"{kind[1]} {namespace_of(body)}/{name_of(body)} cannot be resumed",
            )

        await each(found, resume)


def _resuming(kind: GroupKind, uid: str, pause: Pause) -> Object:
    annotations: dict[str, Any] = {PAUSED_BY: None}
    patch: Object = {"metadata": {"uid": uid, "annotations": annotations}}
    if kind == CLUSTER and pause.before is not True:
        patch["spec"] = {"paused": pause.before}
    if kind == CLASS and pause.before is not True:
        annotations[PAUSED] = None
    return patch


async def wait_until_unblocked(client: Client, nodes: Iterable[Node], tell: Tell, *, seconds: float) -> bool:
    """Wait for providers that asked for it (they take their annotation off); whether there was any."""
    blocking = [one for one in nodes if BLOCK_ANNOTATION in one.annotations]
    for one in blocking:
        tell(0, f"{one} blocks the move by the annotation {BLOCK_ANNOTATION}: waiting for its removal")
    try:
        async with asyncio.timeout(seconds):
            async with asyncio.TaskGroup() as group:
                for one in blocking:
                    group.create_task(_unblocked(client, one, seconds))
    except TimeoutError:
        raise ClusterctlError(_blocked(blocking, seconds)) from None
    return bool(blocking)


async def _unblocked(client: Client, node: Node, seconds: float) -> None:
    def free(body: Object | None) -> bool:
        return body is None or BLOCK_ANNOTATION not in texts_at(body, "annotations")

    resource = await client.resource(node.api_version, node.kind)
    # The caller's clock ends this.
    await wait_for(client, resource, node.name, namespace=node.namespace or None, look=free, seconds=2 * seconds + 60)


def _blocked(blocking: Sequence[Node], seconds: float) -> str:
    return (
        f"still blocked after {seconds:g} seconds: one of {', '.join(map(str, blocking))} keeps the annotation "
        f"{BLOCK_ANNOTATION}. Its provider takes it off when the object may move: see the provider's log"
    )
