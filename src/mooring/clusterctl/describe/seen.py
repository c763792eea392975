"""What was read of a cluster, and how its objects name each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mooring.clusterctl.describe.contracts import Contract
from mooring.clusterctl.describe.nodes import Node
from mooring.clusterctl.describe.nodes import reference as reference_node
from mooring.clusterctl.errors import ClusterctlError
from mooring.kube import Object, key_of

CORE_GROUP: Final = "cluster.x-k8s.io"
CORE: Final = "cluster.x-k8s.io/v1beta2"
ADDONS: Final = "addons.cluster.x-k8s.io/v1beta2"
CLUSTER_LABEL: Final = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE_LABEL: Final = "cluster.x-k8s.io/control-plane"


class Kind(NamedTuple):
    """A kind of a provider: the version is the contract's business."""

    group: str
    kind: str


class Reference(NamedTuple):
    """An object of a provider, as an object of Cluster API names it: in the same namespace."""

    group: str
    kind: str
    name: str

    @property
    def of_kind(self) -> Kind:
        return Kind(self.group, self.kind)


@dataclass(frozen=True, slots=True)
class Seen:
    """A cluster and what belongs to it, at one time."""

    cluster: Object
    machines: Sequence[Object] = ()
    deployments: Sequence[Object] = ()
    sets: Sequence[Object] = ()
    pools: Sequence[Object] = ()
    health_checks: Sequence[Object] = ()
    binding: Object | None = None  # which ClusterResourceSets it has
    foreign: Mapping[Reference, Object] = field(default_factory=dict)
    contracts: Mapping[Kind, Contract | ClusterctlError] = field(default_factory=dict)

    @property
    def infrastructure(self) -> Reference | None:
        return _reference(_spec(self.cluster).get("infrastructureRef"))

    @property
    def control_plane(self) -> Reference | None:
        return _reference(_spec(self.cluster).get("controlPlaneRef"))

    @property
    def has_workers(self) -> bool:
        """Deployments are told of only where there is a machine that is no part of the control plane."""
        return not all(map(is_control_plane_machine, self.machines))

    def contract(self, of: Reference) -> Contract:
        """What a kind says about itself; a kind that is not there, or says nothing, ends the description."""
        known = self.contracts.get(of.of_kind) or ClusterctlError(f"nothing is known about {of.kind} in {of.group!r}")
        if isinstance(known, ClusterctlError):
            raise known
        return known


def objects_named(seen: Seen) -> Iterator[Reference]:
    """The objects of providers that the tree has lines for, if they are there."""
    for one in (seen.infrastructure, seen.control_plane):
        if one is not None:
            yield one
    specs = [*map(_spec, seen.machines), *map(template_spec, seen.pools)]
    for spec in specs:
        for one in (infrastructure_of(spec), bootstrap_of(spec)):
            if one is not None:
                yield one


def templates_named(seen: Seen) -> Iterator[Kind]:
    """The kinds of templates, of which only the version is wanted."""
    if (named := seen.control_plane) is not None and (thing := seen.foreign.get(named)) is not None:
        template = control_plane_template(thing, seen.contract(named))
        if isinstance(template, Reference):
            yield template.of_kind
    for deployment in seen.deployments:
        for one in (bootstrap_of(template_spec(deployment)), infrastructure_of(template_spec(deployment))):
            if one is not None:
                yield one.of_kind


def control_plane_template(thing: Object, contract: Contract) -> Reference | Node | None:
    """The template of a control plane's machines, which not every control plane has.

    In v1beta1 it is named with all that belongs to it; today without a version.
    """
    machine_template = _mapping(_spec(thing).get("machineTemplate"))
    if contract.of_version(thing["apiVersion"].rpartition("/")[2]) == "v1beta1":
        whole = _mapping(machine_template.get("infrastructureRef"))
        parts = [whole.get(key) for key in ("apiVersion", "kind", "namespace", "name")]
        texts = [part for part in parts if isinstance(part, str)]
        return reference_node(*texts) if len(texts) == len(parts) else None
    named = _mapping(_mapping(machine_template.get("spec")).get("infrastructureRef"))
    if not all(isinstance(named.get(key), str) for key in ("apiGroup", "kind", "name")):
        return None
    return _reference(named)


def infrastructure_of(spec: Mapping[str, Any]) -> Reference | None:
    return _reference(spec.get("infrastructureRef"))


def bootstrap_of(spec: Mapping[str, Any]) -> Reference | None:
    return _reference(_mapping(spec.get("bootstrap")).get("configRef"))


def template_spec(thing: Object) -> Mapping[str, Any]:
    """The spec of the machines that a deployment, set or pool makes."""
    return _mapping(_mapping(_spec(thing).get("template")).get("spec"))


def is_control_plane_machine(machine: Object) -> bool:
    return CONTROL_PLANE_LABEL in (machine["metadata"].get("labels") or {})


def is_controlled_by(thing: Object, kind: str, owner: Object) -> bool:
    """By group, kind and name: a cluster that was restored has other uids."""
    for one in thing["metadata"].get("ownerReferences") or ():
        if one.get("controller"):
            group = one["apiVersion"].rpartition("/")[0]
            return (group, one["kind"], one["name"]) == (CORE_GROUP, kind, key_of(owner).name)
    return False


def _spec(thing: Object) -> Mapping[str, Any]:
    return _mapping(thing.get("spec"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _reference(value: Any) -> Reference | None:
    named = _mapping(value)
    parts = [named.get(key) or "" for key in ("apiGroup", "kind", "name")]
    return Reference(*map(str, parts)) if any(parts) else None
