"""The tree as data, for programs: a stable form, with fields only where there is something to say.

::

    apiVersion: clusterctl.mooring.dev/v1
    kind: ClusterDescription
    tree:
      apiVersion, kind, namespace, name   the object; of a group or a heading only the kind and the name
      part        what it is to the one above it: ClusterInfrastructure, ControlPlane, MachineInfrastructure, …
      version     of Kubernetes
      deleting    true, while it is being deleted
      replicas    {current, desired, available, ready, upToDate}: numbers
      status      the condition that stands for it: {type, status, severity, reason, message, since}
      conditions  those that --show-conditions asked for, in the same form
      members     of a group: the names of all that are in it
      children    further objects in this form, in the order of the text
"""

from __future__ import annotations

from datetime import UTC
from typing import Any

from mooring.clusterctl.describe.conditions import Condition
from mooring.clusterctl.describe.nodes import Node, Role, Shown
from mooring.clusterctl.describe.rows import condition_of, conditions_shown, in_order, numbers_of, version_of
from mooring.clusterctl.describe.tree import Tree

API_VERSION = "clusterctl.mooring.dev/v1"
KIND = "ClusterDescription"


def as_data(tree: Tree) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "tree": _told(tree, tree.root)}


def _told(tree: Tree, node: Node) -> dict[str, Any]:
    condition = condition_of(node, old=tree.options.old)
    is_object = node.role not in (Role.GROUP, Role.VIRTUAL)
    told: dict[str, Any] = {
        "apiVersion": node.api_version if is_object else "",
        "kind": node.kind,
        "namespace": node.namespace if is_object else "",
        "name": node.name if node.role is not Role.GROUP else "",
        "part": node.part,
        "version": version_of(node) or "",
        "deleting": node.is_deleting,
        "replicas": _numbers(node),
        "status": _condition(condition) if condition is not None else {},
        "members": list(node.items),
    }
    if node.shown is not Shown.NONE:
        told["conditions"] = [_condition(one) for one in conditions_shown(node)]
    told["children"] = [_told(tree, child) for child in in_order(tree, node)]
    return {key: value for key, value in told.items() if value not in ("", False, {}, [])}


def _numbers(node: Node) -> dict[str, int]:
    numbers = numbers_of(node)
    fields = {
        "current": numbers.current,
        "desired": numbers.desired,
        "available": numbers.available,
        "ready": numbers.ready,
        "upToDate": numbers.up_to_date,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _condition(one: Condition) -> dict[str, str]:
    since = one.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if one.since is not None else ""
    fields = {
        "type": one.type,
        "status": one.status,
        "severity": one.severity,
        "reason": one.reason,
        "message": one.message,
        "since": since,
    }
    return {key: value for key, value in fields.items() if value}
