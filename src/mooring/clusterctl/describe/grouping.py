"""Many that say the same become one line: which may be put together, and what the group says."""

from __future__ import annotations

from dataclasses import replace

from mooring.clusterctl.describe.conditions import Condition, earlier
from mooring.clusterctl.describe.nodes import VIRTUAL_API, Counts, Node, Role

_State = tuple[str, str, str] | None


def says(node: Node, *, old: bool) -> tuple[_State, ...]:
    """What two nodes must have in common to become one. In the days of v1beta1 only Ready counted."""
    if old:
        return (_state(node.ready),)
    return _state(node.available), _state(node.ready), _state(node.up_to_date)


def echoes(node: Node, parent: Node) -> bool:
    """Whether a node adds nothing to what the one above it says, or nothing worth telling."""
    ready = node.ready
    return (ready is not None and ready.is_true) or _state(ready) == _state(parent.ready)


def takes(member: Node, newcomer: Node) -> bool:
    """Whether a newcomer may join this one: a group of its kind, or one of its kind."""
    return member.kind == (f"{newcomer.kind}Group" if member.role is Role.GROUP else newcomer.kind)


def joined(member: Node, newcomer: Node, *, old: bool) -> Node:
    """The group of both; the first may be a group already."""
    return _grown(member, newcomer) if member.role is Role.GROUP else _founded(member, newcomer, old=old)


def _founded(first: Node, second: Node, *, old: bool) -> Node:
    items = tuple(sorted((first.name, second.name)))
    kind = f"{second.kind}Group"
    conditions = [earlier(second.ready, first.ready)] if second.ready is not None else []
    if not old:
        conditions += [replace(one, message="") for one in (second.available, second.up_to_date) if one is not None]
    return Node(
        uid=f"{VIRTUAL_API}, Kind={kind}, {first.uid}",
        role=Role.GROUP,
        api_version=VIRTUAL_API,
        kind=kind,
        namespace=second.namespace,
        name=items[0],
        conditions=tuple(conditions),
        z_order=second.z_order,
        items=items,
        counts=_counted(Counts(), second, 2),
    )


def _grown(group: Node, newcomer: Node) -> Node:
    ready = group.ready
    conditions = tuple(earlier(one, newcomer.ready) if one is ready else one for one in group.conditions)
    items = tuple(sorted((*group.items, newcomer.name)))
    return replace(group, conditions=conditions, items=items, counts=_counted(group.counts, newcomer, 1))


def _counted(counts: Counts, node: Node, many: int) -> Counts:
    return Counts(
        available=counts.available + many * _is_true(node.available),
        ready=counts.ready + many * _is_true(node.ready),
        up_to_date=counts.up_to_date + many * _is_true(node.up_to_date),
    )


def _is_true(condition: Condition | None) -> bool:
    return condition is not None and condition.is_true


def _state(condition: Condition | None) -> _State:
    return condition.state if condition is not None else None
