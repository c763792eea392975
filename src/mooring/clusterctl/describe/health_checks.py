"""Where a MachineHealthCheck stands: below whatever all the machines that it watches belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.api.selectors import LabelSelector, matches
from mooring.clusterctl.describe.nodes import Node, Role
from mooring.kube import Object, key_of

_HOMES: Final = frozenset({Role.CONTROL_PLANE, Role.DEPLOYMENT, Role.SET, Role.POOL})


def home(check: Object, machines: Iterable[Object], homes: Mapping[str, Node]) -> Node | None:
    """The control plane, deployment, set or pool that has all of them; None if they are of several, or none."""
    selector = _selector(check)
    if selector is None:
        return None
    try:
        watched = {key_of(one).name for one in machines if matches(selector, one["metadata"].get("labels") or {})}
    except ValueError:  # an operator that does not exist watches nobody
        return None
    found = {node.uid: node for name in watched if (node := homes.get(name)) is not None}
    if len(found) != 1:
        return None
    only = next(iter(found.values()))
    return only if only.role in _HOMES else None


def _selector(check: Object) -> LabelSelector | None:
    """As the server has it. One that cannot be read, or is not there, watches nobody."""
    try:
        return msgspec.convert((check.get("spec") or {}).get("selector"), LabelSelector)
    except msgspec.ValidationError:
        return None
