"""What a node says of itself, whatever the form it is told in: its title, how many of what, and how it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mooring.clusterctl.describe.conditions import AVAILABLE, READY, REMEDIATION_ALLOWED, Condition
from mooring.clusterctl.describe.nodes import Node, Role, Shown
from mooring.clusterctl.describe.tree import Tree

_ALWAYS: Final = frozenset({AVAILABLE, READY})
_VERSIONED: Final = frozenset({Role.DEPLOYMENT, Role.SET, Role.POOL})


@dataclass(frozen=True, slots=True)
class Numbers:
    """How many there are, should be, and are in good shape; None where a node does not say."""

    current: int | None = None
    desired: int | None = None
    available: int | None = None
    ready: int | None = None
    up_to_date: int | None = None

    @property
    def replicas(self) -> str:
        if self.current is None:
            return ""
        return f"{self.current}/{self.desired}" if self.desired is not None else str(self.current)


def version_of(node: Node) -> str | None:
    """The Kubernetes version; None for what has none, as against one that nobody has set."""
    match node.role:
        case Role.CLUSTER:
            topology = node.at("spec", "topology")
            return node.text("spec", "topology", "version") if topology else None
        case Role.CONTROL_PLANE:
            version = node.at("spec", "version")
            return version if isinstance(version, str) else None
        case Role.MACHINE:
            return node.text("spec", "version")
    return node.text("spec", "template", "spec", "version") if node.role in _VERSIONED else None


def numbers_of(node: Node) -> Numbers:
    match node.role:
        case Role.CLUSTER:
            return _of_cluster(node)
        case Role.DEPLOYMENT | Role.SET:
            return _of_machines(node)
        case Role.CONTROL_PLANE:
            return _of_control_plane(node)
        case Role.HEALTH_CHECK:
            return Numbers(node.number("status", "currentHealthy"), node.number("status", "expectedMachines"))
        case Role.MACHINE:
            looked_at = (node.available, node.ready, node.up_to_date)
            return Numbers(1, None, *(int(one is not None and one.is_true) for one in looked_at))
        case Role.GROUP:
            counts = node.counts
            return Numbers(None, None, counts.available, counts.ready, counts.up_to_date)
    return Numbers()


def _of_cluster(node: Node) -> Numbers:
    """The control plane and the workers together."""

    def both(field: str) -> int | None:
        parts = [node.number("status", part, field) for part in ("controlPlane", "workers")]
        return sum(one or 0 for one in parts) if parts != [None, None] else None

    current, desired = both("replicas"), both("desiredReplicas")
    if current is not None or desired is not None:
        current, desired = current or 0, desired or 0
    return Numbers(current, desired, both("availableReplicas"), both("readyReplicas"), both("upToDateReplicas"))


def _of_machines(node: Node) -> Numbers:
    desired = node.number("spec", "replicas")
    current = None if desired is None else node.number("status", "replicas") or 0
    fields = ("availableReplicas", "readyReplicas", "upToDateReplicas")
    return Numbers(current, desired, *(node.number("status", field) for field in fields))


def _of_control_plane(node: Node) -> Numbers:
    current, desired = node.number("status", "replicas"), node.number("spec", "replicas")
    if current is None or desired is None:
        current = desired = None
    up_to_date = "updatedReplicas" if node.contract == "v1beta1" else "upToDateReplicas"
    fields = ("availableReplicas", "readyReplicas", up_to_date)
    return Numbers(current, desired, *(node.number("status", field) for field in fields))


def condition_of(node: Node, *, old: bool = False) -> Condition | None:
    """The one condition that stands for the node; in the days of v1beta1 it was Ready for all."""
    if old:
        return node.ready
    match node.role:
        case Role.CLUSTER | Role.DEPLOYMENT:
            return node.available
        case Role.CONTROL_PLANE:
            return node.available or node.ready
        case Role.SET | Role.POOL:
            return None
        case Role.HEALTH_CHECK:
            return node.condition(REMEDIATION_ALLOWED)
    return node.ready


def conditions_shown(node: Node) -> list[Condition]:
    """The conditions that were asked for."""
    match node.shown:
        case Shown.ALL:
            return list(node.conditions)
        case Shown.LOUD:
            return [one for one in node.conditions if one.type in _ALWAYS or not one.is_quiet]
    return []


def title_of(node: Node) -> str:
    """Its name in the tree, in plain text."""
    match node.role:
        case Role.GROUP:
            return f"{len(node.items)} {node.kind.removesuffix('Group')}s..."
        case Role.VIRTUAL:
            return node.part or node.name
    version = version_of(node)
    behind = "" if version is None else f", {version}"
    return f"{'!! DELETED !! ' if node.is_deleting else ''}{node.kind} {place_of(node)}{behind}"


def place_of(node: Node) -> str:
    return f"{node.namespace}/{node.name}" if node.namespace else node.name


def in_order(tree: Tree, node: Node) -> list[Node]:
    """Those below a node, as they are to be read."""
    return sorted(tree.below(node), key=_order)


def _order(node: Node) -> tuple[Any, ...]:
    # The title decides; behind it stands what tells apart those that are called the same, such as two groups of two.
    return -node.z_order, title_of(node), node.items, node.uid
