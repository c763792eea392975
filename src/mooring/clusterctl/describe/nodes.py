"""What stands in the tree of a cluster: objects, references to objects, and groups that stand for several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final

from mooring.clusterctl.describe.conditions import (
    AVAILABLE,
    READY,
    UP_TO_DATE,
    Condition,
    core_conditions,
    foreign_conditions,
    found,
    old_conditions,
)
from mooring.kube import Object

VIRTUAL_API: Final = "virtual.cluster.x-k8s.io/v1beta2"


class Role(Enum):
    """What a node is: it decides which of its fields are worth a column."""

    CLUSTER = "Cluster"
    CONTROL_PLANE = "ControlPlane"
    DEPLOYMENT = "MachineDeployment"
    SET = "MachineSet"
    POOL = "MachinePool"
    MACHINE = "Machine"
    HEALTH_CHECK = "MachineHealthCheck"
    FOREIGN = ""  # a provider's
    REFERENCE = "reference"  # named by another, and not looked at
    VIRTUAL = "virtual"  # there is no such object
    GROUP = "group"


class Shown(StrEnum):
    """Which of an object's conditions are wanted."""

    NONE = ""
    ALL = "All"
    LOUD = "NonZero"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of a group are in which state."""

    available: int = 0
    ready: int = 0
    up_to_date: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the tree, less its place in it."""

    uid: str
    role: Role
    api_version: str
    kind: str
    namespace: str
    name: str
    body: Object = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    contract: str = ""  # of a control plane: the contract that its kind fulfils
    part: str = ""  # what it is to the one above it, such as ClusterInfrastructure
    z_order: int = 0  # higher stands above, whatever the names
    gathers: bool = False  # those below it that say the same become one
    shown: Shown = Shown.NONE
    items: tuple[str, ...] = ()  # of a group: who is in it
    counts: Counts = Counts()

    def condition(self, kind: str) -> Condition | None:
        return found(self.conditions, kind)

    @property
    def ready(self) -> Condition | None:
        return self.condition(READY)

    @property
    def available(self) -> Condition | None:
        return self.condition(AVAILABLE)

    @property
    def up_to_date(self) -> Condition | None:
        """Only machines have it; what a provider calls so is something else."""
        return self.condition(UP_TO_DATE) if self.role not in (Role.FOREIGN, Role.CONTROL_PLANE) else None

    @property
    def is_deleting(self) -> bool:
        return bool(self.at("metadata", "deletionTimestamp"))

    def at(self, *path: str) -> Any:
        """The field of the object; None if it is not there."""
        value: Any = self.body
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def number(self, *path: str) -> int | None:
        value = self.at(*path)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, *path: str) -> str:
        value = self.at(*path)
        return value if isinstance(value, str) else ""


def node_of(thing: Object, role: Role, *, old: bool, contract: str = "") -> Node:
    """An object; with ``old``, its conditions are those of v1beta1."""
    metadata = thing["metadata"]
    foreign = role in (Role.FOREIGN, Role.CONTROL_PLANE)
    if old:
        conditions = old_conditions(thing, foreign=foreign)
    else:
        conditions = foreign_conditions(thing) if foreign else core_conditions(thing)
    return Node(
        uid=metadata["uid"],
        role=role,
        api_version=thing["apiVersion"],
        kind=thing["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        body=thing,
        conditions=conditions,
        contract=contract,
    )


def virtual(kind: str, namespace: str, name: str) -> Node:
    """Something that holds others together."""
    return _named(Role.VIRTUAL, VIRTUAL_API, kind, namespace, name)


def reference(api_version: str, kind: str, namespace: str, name: str) -> Node:
    """An object that another names; two that name the same lead to one node."""
    return _named(Role.REFERENCE, api_version, kind, namespace, name)


def _named(role: Role, api_version: str, kind: str, namespace: str, name: str) -> Node:
    return Node(f"{api_version}, Kind={kind}, {namespace}/{name}", role, api_version, kind, namespace, name)


def shown_for(kind: str, name: str, wanted: str) -> Shown:
    """What ``--show-conditions`` says about an object: the first word that is about it counts."""
    for word in filter(None, wanted.split(",")):
        if word.removesuffix("+").lower() == "all":
            return _shown(word)
        parts = word.split("/")
        if len(parts) == 2:
            about_it = parts[0].lower() == kind.lower() and _plain(parts[1]) == name.lower()
            last = parts[1]
        else:
            about_it, last = _plain(parts[0]) == kind.lower(), parts[0]
        if about_it:
            return _shown(last)
    return Shown.NONE


def _plain(word: str) -> str:
    return word.removesuffix("+").lower()


def _shown(word: str) -> Shown:
    return Shown.LOUD if word.endswith("+") else Shown.ALL
