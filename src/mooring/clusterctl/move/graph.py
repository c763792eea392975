"""Objects and what ties them together: who owns whom, by reference or by custom, and for which roots each is there.

Pure: `discovery` reads what goes in, `sequence` says what moves and in which order. An object is known by its uid. An
owner that nobody has seen is a stranger: a node without contents, which never moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mooring.clusterctl.objects import at, group_of, kind_of, name_of, namespace_of, text_at, texts_at
from mooring.clusterctl.providers import MOVE_HIERARCHY_LABEL, MOVE_LABEL
from mooring.kube import Object, Resource, untyped

CORE: Final = "cluster.x-k8s.io"
ADDONS: Final = "addons.cluster.x-k8s.io"
BLOCK_ANNOTATION: Final = "clusterctl.cluster.x-k8s.io/block-move"

CLUSTER: Final = (CORE, "Cluster")
CLASS: Final = (CORE, "ClusterClass")
MACHINE: Final = (CORE, "Machine")
SECRET: Final = ("", "Secret")
RESOURCE_SET: Final = (ADDONS, "ClusterResourceSet")
BINDING: Final = (ADDONS, "ClusterResourceSetBinding")
ROOTS: Final = frozenset({CLUSTER, CLASS, RESOURCE_SET})

SECRETS: Final = untyped(plural="secrets", kind="Secret")
CONFIG_MAPS: Final = untyped(plural="configmaps", kind="ConfigMap")
# What a Secret of a cluster is for: the last part of its name. The first that fits counts.
_PURPOSES: Final = ("kubeconfig", "ca", "etcd", "sa", "proxy", "apiserver-etcd-client")

GroupKind = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that move looks at, and what its definition's labels say about all of its objects."""

    resource: Resource[Object]
    moves: bool = False  # always, whoever owns it
    with_hierarchy: bool = False  # and everything below it

    @property
    def group_kind(self) -> GroupKind:
        return self.resource.group, self.resource.kind


BUILT_IN: Final = (Kind(SECRETS), Kind(CONFIG_MAPS))


@dataclass(slots=True, eq=False)
class Node:
    """One object, or a stranger that owns one."""

    uid: str
    api_version: str
    kind: str
    name: str
    namespace: str = ""
    body: Object | None = None  # as it was read; None for a stranger
    owners: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # uid: the reference, with its attributes
    soft_owners: set[str] = field(default_factory=set)
    tenants: set[str] = field(default_factory=set)  # roots that it is there for, itself if it is one
    moves: bool = False
    is_root: bool = False
    is_global: bool = False  # in no namespace
    in_global_hierarchy: bool = False  # below a root that is in no namespace
    stays: bool = False  # is copied, and not deleted: others need it

    @property
    def group_kind(self) -> GroupKind:
        group, slash, _ = self.api_version.partition("/")
        return (group if slash else ""), self.kind

    @property
    def is_stranger(self) -> bool:
        return self.body is None

    @property
    def parents(self) -> Iterable[str]:
        return self.owners.keys() | self.soft_owners

    @property
    def is_wanted(self) -> bool:
        """Whether it is to move at all, if its owners do."""
        return not self.is_stranger and (bool(self.tenants) or self.moves)

    @property
    def is_kept(self) -> bool:
        """Whether the source keeps it although the target gets it."""
        return self.is_global or self.in_global_hierarchy or self.stays

    @property
    def annotations(self) -> dict[str, str]:
        return texts_at(self.body or {}, "annotations")

    @property
    def revision(self) -> str:
        return text_at(self.body, "metadata", "resourceVersion")

    @property
    def is_deleting(self) -> bool:
        return at(self.body, "metadata", "deletionTimestamp") is not None

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Group, kind, namespace and name: the same on every server."""
        return (*self.group_kind, self.namespace, self.name)

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


@dataclass(slots=True)
class Graph:
    """Nodes by their uid, in the order in which they were read."""

    nodes: dict[str, Node] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def has_seen(self, uid: str) -> bool:
        return uid in self.nodes and not self.nodes[uid].is_stranger

    def of(self, kind: GroupKind) -> list[Node]:
        """Those of this kind that have been seen."""
        return [one for one in self if one.group_kind == kind and not one.is_stranger]


def build(objects: Iterable[Object], kinds: Iterable[Kind]) -> Graph:
    """The graph of these objects, complete: owners, soft owners and tenants."""
    known = {one.group_kind: one for one in kinds}
    graph = Graph()
    for body in objects:
        _add(graph, body, known.get((group_of(body), kind_of(body))))
    _add_soft_owners(graph)
    _add_tenants(graph)
    return graph


def _add(graph: Graph, body: Object, kind: Kind | None) -> None:
    uid = text_at(body, "metadata", "uid")
    node = graph.nodes.get(uid) or graph.nodes.setdefault(uid, Node(uid, "", "", ""))
    node.api_version, node.kind = text_at(body, "apiVersion"), kind_of(body)
    node.name, node.namespace, node.body = name_of(body), namespace_of(body), body
    labels = at(body, "metadata", "labels") or {}
    node.is_root = MOVE_HIERARCHY_LABEL in labels or (kind is not None and kind.with_hierarchy)
    node.moves = MOVE_LABEL in labels or (kind is not None and kind.moves)
    node.is_global = kind is not None and not kind.resource.namespaced
    for reference in at(body, "metadata", "ownerReferences") or ():
        owner = text_at(reference, "uid")
        node.owners[owner] = reference
        if owner not in graph.nodes:
            graph.nodes[owner] = Node(
                owner, text_at(reference, "apiVersion"), text_at(reference, "kind"), text_at(reference, "name")
            )


def class_of(cluster: Object) -> tuple[str, str] | None:
    """Namespace and name of the ClusterClass that a Cluster is made from; None if it has no topology."""
    topology = at(cluster, "spec", "topology")
    if not isinstance(topology, dict) or not topology:
        return None
    if text_at(cluster, "apiVersion") == f"{CORE}/v1beta1":  # in files of former days
        name, namespace = text_at(topology, "class"), text_at(topology, "classNamespace")
    else:
        name, namespace = text_at(topology, "classRef", "name"), text_at(topology, "classRef", "namespace")
    return namespace or namespace_of(cluster), name


def secret_owner(name: str) -> str | None:
    """The Cluster that a Secret of this name belongs to by custom."""
    for purpose in _PURPOSES:
        if name.endswith(f"-{purpose}"):
            return name.removesuffix(f"-{purpose}")
    return None


def _add_soft_owners(graph: Graph) -> None:
    clusters = {(one.namespace, one.name): one.uid for one in graph.of(CLUSTER)}
    classes = {(one.namespace, one.name): one.uid for one in graph.of(CLASS)}
    for node in graph:
        if node.body is None:
            continue
        found: str | None = None
        if node.group_kind == SECRET and not node.owners:
            found = clusters.get((node.namespace, secret_owner(node.name) or ""))
        elif node.group_kind == CLUSTER:
            found = classes.get(class_of(node.body) or ("", ""))
        elif node.group_kind == BINDING:
            found = clusters.get((node.namespace, text_at(node.body, "spec", "clusterName")))
        if found is not None:
            node.soft_owners.add(found)


def dependants(graph: Graph, *, soft: bool = True) -> dict[str, list[Node]]:
    """The nodes below each, by reference or, if so wanted, by custom too."""
    below: dict[str, list[Node]] = {}
    for node in graph:
        for parent in node.parents if soft else node.owners:
            below.setdefault(parent, []).append(node)
    return below


def _add_tenants(graph: Graph) -> None:
    below = dependants(graph)
    for root in graph:
        if not root.is_root:
            continue
        for node in walk(root, below):
            node.tenants.add(root.uid)
            node.in_global_hierarchy = node.in_global_hierarchy or root.is_global


def walk(root: Node, below: Mapping[str, list[Node]]) -> Iterator[Node]:
    """The node and all below it, each once: owners may go round in a circle, and servers allow it."""
    seen, waiting = {root.uid}, [root]
    while waiting:
        node = waiting.pop()
        yield node
        for one in below.get(node.uid, ()):
            if one.uid not in seen:
                seen.add(one.uid)
                waiting.append(one)


def keep(graph: Graph, classes: Iterable[Node]) -> None:
    """Mark these classes, and what they own, as needed by those who stay."""
    below = dependants(graph, soft=False)
    for one in classes:
        for node in walk(one, below):
            node.stays = True
