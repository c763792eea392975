"""From what was read to the tree: who stands below whom, what is left out, and who becomes one line. No I/O.

The order of the steps matters where objects are looked at twice or say the same: it is clusterctl's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mooring.clusterctl.describe import health_checks
from mooring.clusterctl.describe.grouping import echoes, joined, says, takes
from mooring.clusterctl.describe.nodes import Node, Role, node_of, reference, shown_for, virtual
from mooring.clusterctl.describe.seen import (
    ADDONS,
    CORE_GROUP,
    Reference,
    Seen,
    bootstrap_of,
    control_plane_template,
    infrastructure_of,
    is_control_plane_machine,
    is_controlled_by,
    template_spec,
)
from mooring.kube import Object, key_of


@dataclass(frozen=True, slots=True)
class Options:
    """What is to be seen of a cluster."""

    conditions: str = ""  # as --show-conditions has it
    machine_sets: bool = False
    resource_sets: bool = False
    templates: bool = False
    health_checks: bool = False
    echo: bool = False
    grouping: bool = True
    old: bool = False  # conditions of v1beta1


class Tree:
    """Nodes by uid, and who is below whom. A node that two others name stands below both."""

    def __init__(self, root: Node, options: Options) -> None:
        self.options = options
        self.root = replace(root, shown=shown_for(root.kind, root.name, options.conditions))
        self._nodes = {root.uid: self.root}
        self._below: dict[str, dict[str, None]] = {}
        self._above: dict[str, str] = {}

    def below(self, node: Node) -> list[Node]:
        """In the order in which they were added."""
        return [self._nodes[uid] for uid in self._below.get(node.uid, ()) if uid in self._nodes]

    def above(self, node: Node) -> Node | None:
        return self._nodes.get(self._above.get(node.uid, ""))

    def add(
        self,
        parent: Node,
        node: Node,
        *,
        part: str = "",
        z_order: int = 0,
        gathers: bool = False,
        may_echo: bool = True,
        may_group: bool = True,
    ) -> bool:
        """Put a node below another; whether it has a line of its own then."""
        parent = self._nodes.get(parent.uid, parent)
        if not may_echo and not self.options.echo and echoes(node, parent):
            return False
        node = replace(
            node,
            part=part,
            z_order=z_order,
            gathers=gathers and self.options.grouping,
            shown=shown_for(node.kind, node.name, self.options.conditions),
        )
        if parent.gathers and may_group and self._joins(parent, node):
            return False
        self._put(parent, node)
        return True

    def _joins(self, parent: Node, node: Node) -> bool:
        """Whether there is one beside it that says the same; then both are a group now."""
        old = self.options.old
        said = says(node, old=old)
        for other in self.below(parent):
            if takes(other, node) and says(other, old=old) == said:
                group = joined(other, node, old=old)
                if group.uid != other.uid:
                    self._remove(parent, other)
                self._put(parent, group)
                return True
        return False

    def _put(self, parent: Node, node: Node) -> None:
        self._nodes[node.uid] = node
        self._below.setdefault(parent.uid, {})[node.uid] = None
        self._above[node.uid] = parent.uid

    def _remove(self, parent: Node, node: Node) -> None:
        for child in self.below(node):
            self._remove(node, child)
        self._nodes.pop(node.uid, None)
        self._below.get(parent.uid, {}).pop(node.uid, None)
        self._above.pop(node.uid, None)


def grow(seen: Seen, options: Options) -> Tree:
    """The tree of a cluster."""
    return _Growing(seen, options).tree


class _Growing:
    def __init__(self, seen: Seen, options: Options) -> None:
        self._seen, self._options = seen, options
        self._namespace = key_of(seen.cluster).namespace
        self._cluster = self._node(seen.cluster, Role.CLUSTER)
        self.tree = Tree(self._cluster, options)
        self._homes: dict[str, Node] = {}  # name of a machine: where it stands
        self._workers = virtual("WorkerGroup", self._namespace, "Workers")
        self._infrastructure()
        if options.resource_sets and seen.binding is not None:
            self._resource_sets(seen.binding)
        self._control_plane()
        self._worker_groups()
        self._orphans()
        if options.health_checks:
            self._health_checks()

    def _node(self, thing: Object, role: Role, contract: str = "") -> Node:
        return node_of(thing, role, old=self._options.old, contract=contract)

    def _foreign(self, named: Reference | None) -> Node | None:
        thing = self._seen.foreign.get(named) if named is not None else None
        return self._node(thing, Role.FOREIGN) if thing is not None else None

    def _infrastructure(self) -> None:
        if (node := self._foreign(self._seen.infrastructure)) is not None:
            self.tree.add(self._cluster, node, part="ClusterInfrastructure")

    def _resource_sets(self, binding: Object) -> None:
        group = virtual("ClusterResourceSetGroup", self._namespace, "ClusterResourceSets")
        self.tree.add(self._cluster, group)
        for one in (binding.get("spec") or {}).get("bindings") or ():
            name = one.get("clusterResourceSetName", "")
            self.tree.add(group, reference(ADDONS, "ClusterResourceSet", self._namespace, name))

    def _control_plane(self) -> None:
        named = self._seen.control_plane
        thing = self._seen.foreign.get(named) if named is not None else None
        if named is None or thing is None:
            return
        contract = self._seen.contract(named)
        node = self._node(thing, Role.CONTROL_PLANE, contract.name)
        self.tree.add(self._cluster, node, part="ControlPlane", gathers=True)
        if self._options.templates:
            template = control_plane_template(thing, contract)
            if isinstance(template, Reference):
                template = self._reference(template)
            if template is not None:
                self._templates(node, [(template, "MachineInfrastructureTemplate")])
        self._machines(node, filter(is_control_plane_machine, self._seen.machines))

    def _templates(self, parent: Node, templates: Iterable[tuple[Node, str]]) -> None:
        group = virtual("TemplateGroup", self._namespace, parent.name)
        self.tree.add(parent, group, part="Templates", z_order=1)
        for template, part in templates:
            self.tree.add(group, template, part=part)

    def _reference(self, named: Reference) -> Node:
        version = self._seen.contract(named).version
        return reference(f"{named.group}/{version}", named.kind, self._namespace, named.name)

    def _worker_groups(self) -> None:
        seen = self._seen
        if seen.has_workers or seen.pools:
            self.tree.add(self._cluster, self._workers)
        if seen.has_workers:
            for deployment in seen.deployments:
                self._deployment(deployment)
        for pool in seen.pools:
            self._pool(pool)

    def _deployment(self, deployment: Object) -> None:
        with_sets = self._options.machine_sets
        node = self._node(deployment, Role.DEPLOYMENT)
        self.tree.add(self._workers, node, gathers=not with_sets)
        if self._options.templates:
            self._templates(node, self._deployment_templates(deployment))
        for machine_set in self._seen.sets:
            if not is_controlled_by(machine_set, "MachineDeployment", deployment):
                continue
            parent = node
            if with_sets:
                parent = self._node(machine_set, Role.SET)
                self.tree.add(node, parent, gathers=True)
            self._machines(parent, self._controlled_by("MachineSet", machine_set))

    def _deployment_templates(self, deployment: Object) -> list[tuple[Node, str]]:
        spec = template_spec(deployment)
        templates: list[tuple[Node, str]] = []
        if (bootstrap := bootstrap_of(spec)) is not None:
            templates.append((self._reference(bootstrap), "BootstrapConfigTemplate"))
        infrastructure = infrastructure_of(spec) or Reference(CORE_GROUP, "", "")
        templates.append((self._reference(infrastructure), "MachineInfrastructureTemplate"))
        return templates

    def _pool(self, pool: Object) -> None:
        node = self._node(pool, Role.POOL)
        spec = template_spec(pool)
        if self.tree.add(self._workers, node, gathers=True):
            self._parts(node, (bootstrap_of(spec), "BootstrapConfig"))
            self._parts(node, (infrastructure_of(spec), "MachinePoolInfrastructure"))
        self._machines(node, self._controlled_by("MachinePool", pool))

    def _controlled_by(self, kind: str, parent: Object) -> list[Object]:
        return [machine for machine in self._seen.machines if is_controlled_by(machine, kind, parent)]

    def _machines(self, parent: Node, machines: Iterable[Object]) -> None:
        for machine in machines:
            node, spec = self._node(machine, Role.MACHINE), machine.get("spec") or {}
            self._homes[node.name] = parent
            if self.tree.add(parent, node):
                self._parts(node, (infrastructure_of(spec), "MachineInfrastructure"))
                self._parts(node, (bootstrap_of(spec), "BootstrapConfig"))

    def _parts(self, parent: Node, *parts: tuple[Reference | None, str]) -> None:
        for named, part in parts:
            if (node := self._foreign(named)) is not None:
                self.tree.add(parent, node, part=part, may_echo=False)

    def _orphans(self) -> None:
        """Machines that nothing leads to. Where there are no workers at all, they are not to be seen."""
        left = [machine for machine in self._seen.machines if key_of(machine).name not in self._homes]
        if left:
            other = virtual("OtherGroup", self._namespace, "Other")
            self.tree.add(self._workers, other)
            self._machines(other, left)

    def _health_checks(self) -> None:
        for check in self._seen.health_checks:
            parent = health_checks.home(check, self._seen.machines, self._homes) or self._cluster
            self.tree.add(parent, self._node(check, Role.HEALTH_CHECK), z_order=2, may_group=False)
