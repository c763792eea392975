"""What a copy looks like. Pure: an object of the source, and the uids that its owners have at the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mooring.clusterctl.move.graph import CLASS, CLUSTER, Graph, Node
from mooring.clusterctl.move.progress import FROM, MANAGER, OURS, PAUSED, Origin, pause_in
from mooring.clusterctl.objects import at
from mooring.kube import Object

# The server sets these itself, or they are of the object at the source only.
_NOT_COPIED: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",  # with it, a name that is taken would be answered as if the server were too busy
        "managedFields",  # restored afterwards
        "selfLink",
        "ownerReferences",
        "annotations",
    }
)


def copy_of(node: Node, graph: Graph, uids: Mapping[str, str], origin: Origin) -> Object:
    """The object as it is created at the target: paused, with its owners there, and with a note where it is from."""
    body = node.body or {}
    metadata = {key: value for key, value in body["metadata"].items() if key not in _NOT_COPIED}
    annotations = {key: value for key, value in node.annotations.items() if key not in OURS}
    metadata["annotations"] = {**annotations, FROM: origin.text}
    if owners := owners_of(node, graph, uids):
        metadata["ownerReferences"] = owners
    copied = {**body, "metadata": metadata}
    if node.group_kind == CLUSTER:
        copied["spec"] = {**(at(body, "spec") or {}), "paused": True}
    if node.group_kind == CLASS:
        metadata["annotations"].setdefault(PAUSED, "")
    return copied


def owners_of(node: Node, graph: Graph, uids: Mapping[str, str]) -> list[Object]:
    """References to the owners at the target, with the attributes that they had. Owners that stay are left out."""
    found = []
    for uid, reference in node.owners.items():
        owner = graph.nodes[uid]
        if uid in uids:
            identity = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": uids[uid]}
            found.append({**reference, **identity})
    return found


def was_paused(node: Node) -> bool:
    """Whether somebody else had paused it: a Cluster in its spec, a ClusterClass by its annotation."""
    if (pause := pause_in(node.annotations)) is not None:
        return pause.before is True
    if node.group_kind == CLUSTER:
        return at(node.body, "spec", "paused") is True
    return node.group_kind == CLASS and PAUSED in node.annotations


def managed_fields(body: Object) -> list[Any]:
    """Who owns which field, without us. The server takes a list with one empty entry for: nobody."""
    entries = at(body, "metadata", "managedFields") or []
    return [one for one in entries if one.get("manager") != MANAGER] or [{}]


def restoring(node: Node, uid: str, note: Origin | None) -> Object:
    """The patch that gives the fields of a copy back to their owners. Without a note, the one that is there goes."""
    annotations = {FROM: note.text if note is not None else None}
    return {"metadata": {"uid": uid, "managedFields": managed_fields(node.body or {}), "annotations": annotations}}


def resuming(kind: tuple[str, str], uid: str, *, stays_paused: bool) -> Object:
    """The patch that lets a Cluster or ClusterClass at the target go on, unless it was paused before; our note goes."""
    annotations: dict[str, None] = {FROM: None}
    patch: Object = {"metadata": {"uid": uid, "annotations": annotations}}
    if not stays_paused and kind == CLUSTER:
        patch["spec"] = {"paused": None}
    if not stays_paused and kind == CLASS:
        annotations[PAUSED] = None
    return patch
