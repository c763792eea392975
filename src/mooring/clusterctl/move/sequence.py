"""What moves, in which order, and what does not and why.

Owners come before what they own, so that a copy can name its owners by their new uids. An object with an owner that
does not move cannot be placed: it is left where it is, with everything that waits for it.

One cluster, or some
    Without a choice everything that belongs to a root moves. With a choice, what belongs only to chosen clusters moves;
    what those need and others may need too (a ClusterClass and its templates, a ClusterResourceSet and its resources,
    credentials, whatever a provider has labelled to move always, objects with owners among both) is copied and stays;
    the rest is left alone. References of a copy to owners that stay are dropped: there is nobody there to refer to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from mooring.clusterctl.move.graph import CLUSTER, ROOTS, SECRET, Graph, Node, dependants, walk


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that does not move, and why."""

    node: Node
    reason: str


@dataclass(slots=True)
class Sequence:
    """Groups, each of which needs only those before it; and what is in none of them."""

    groups: list[list[Node]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def nodes(self) -> list[Node]:
        return [one for group in self.groups for one in group]


def arrange(graph: Graph, chosen: Collection[str] | None = None) -> Sequence:
    """The order of a move: of everything, or (with uids) of these Clusters."""
    wanted = {one.uid for one in graph if one.is_wanted}
    if chosen is None:
        groups, placed = _groups(graph, wanted, dropping=frozenset())
        return Sequence(groups, _skipped(graph, wanted, placed, {}))
    moving, copied = _choose(graph, wanted, chosen)
    for uid in copied:
        graph.nodes[uid].stays = True
    going = moving | copied
    # An owner that could move and is not chosen is no reason to stay behind.
    groups, placed = _groups(graph, going, dropping=wanted - going)
    return Sequence(groups, _skipped(graph, going, placed, _left(graph, wanted - going, chosen)))


def _groups(graph: Graph, wanted: set[str], *, dropping: Collection[str]) -> tuple[list[list[Node]], set[str]]:
    """Layers from the top, in linear time."""
    lacking: dict[str, int] = {}
    waiting: dict[str, list[str]] = {}
    group: list[Node] = []
    for uid, node in graph.nodes.items():
        if uid not in wanted:
            continue
        parents = [one for one in node.parents if one not in dropping]
        lacking[uid] = len(parents)
        for parent in parents:
            waiting.setdefault(parent, []).append(uid)
        if not parents:
            group.append(node)
    groups: list[list[Node]] = []
    placed: set[str] = set()
    while group:
        groups.append(group)
        placed.update(one.uid for one in group)
        ready: list[Node] = []
        for node in group:
            for uid in waiting.get(node.uid, ()):
                lacking[uid] -= 1
                if not lacking[uid]:
                    ready.append(graph.nodes[uid])
        group = ready
    return groups, placed


def _choose(graph: Graph, wanted: set[str], chosen: Collection[str]) -> tuple[set[str], set[str]]:
    """What moves with the chosen clusters, and what is copied for them."""
    clusters = {one.uid for one in graph.of(CLUSTER)}
    moving, copied = set[str](), set[str]()
    for uid in wanted:
        tenants = graph.nodes[uid].tenants & clusters
        if tenants and tenants <= set(chosen):
            moving.add(uid)
        elif tenants & set(chosen) and uid not in clusters:
            copied.add(uid)
    below = dependants(graph)
    for node in _above(graph, moving | copied):
        copied |= {one.uid for one in walk(node, below) if _is_common(one, clusters)}
    for uid in wanted - moving:
        node = graph.nodes[uid]
        if _is_common(node, clusters) and _always_moves(graph, node):
            copied.add(uid)
    return moving, (copied & wanted) - moving


def _above(graph: Graph, uids: Iterable[str]) -> list[Node]:
    """Owners of these, and theirs, that are not among them."""
    start = set(uids)
    found: dict[str, Node] = {}
    waiting = list(start)
    while waiting:
        for parent in graph.nodes[waiting.pop()].parents:
            if parent not in start and parent not in found:
                found[parent] = graph.nodes[parent]
                waiting.append(parent)
    return list(found.values())


def _is_common(node: Node, clusters: Collection[str]) -> bool:
    """Belongs to no cluster in particular."""
    return not any(one in clusters for one in node.tenants)


def _always_moves(graph: Graph, node: Node) -> bool:
    """A provider wants it everywhere: by a label, or below something in no namespace."""
    labelled = any(graph.nodes[one].group_kind not in ROOTS for one in node.tenants)
    return node.is_global or labelled or (node.moves and node.group_kind not in ROOTS)


def _left(graph: Graph, uids: Iterable[str], chosen: Collection[str]) -> dict[str, str]:
    """Why those are left that would move if everything did."""
    reasons = {}
    for uid in uids:
        node = graph.nodes[uid]
        names = sorted(
            graph.nodes[one].name for one in node.tenants if graph.nodes[one].group_kind == CLUSTER and one != uid
        )
        if node.group_kind == CLUSTER:
            reasons[uid] = "is not among the chosen clusters"
        elif names:
            reasons[uid] = f"belongs to {', '.join(names)}, which was not chosen"
        else:
            reasons[uid] = "no chosen cluster needs it"
    return reasons


def _skipped(graph: Graph, wanted: set[str], placed: set[str], known: Mapping[str, str]) -> list[Skipped]:
    found = []
    for node in graph:
        if node.is_stranger or node.uid in placed:
            continue
        if node.uid in known:
            found.append(Skipped(node, known[node.uid]))
        elif node.uid in wanted:
            found.append(Skipped(node, _obstacle(graph, node, placed)))
        else:
            found.append(Skipped(node, _loose(graph, node)))
    return found


def _obstacle(graph: Graph, node: Node, placed: set[str]) -> str:
    for uid in node.parents:
        parent = graph.nodes[uid]
        if uid in placed:
            continue
        if parent.is_stranger:
            return (
                f"its owner {parent} is not there, or of a kind that move does not look at (no "
                f"CustomResourceDefinition with the label clusterctl.cluster.x-k8s.io)"
            )
        if not parent.is_wanted:
            return f"its owner {parent} does not move: it belongs to no Cluster, ClusterClass or ClusterResourceSet"
    return f"its owner {next(graph.nodes[one] for one in node.parents if one not in placed)} does not move, either"


def _loose(graph: Graph, node: Node) -> str:
    if node.owners:
        owners = ", ".join(str(graph.nodes[uid]) for uid in node.owners)
        return f"its owners ({owners}) lead to no Cluster, ClusterClass or ClusterResourceSet"
    if node.group_kind == SECRET:
        return "has no owner, and its name is not that of a Secret of a Cluster"
    return "has no owner that leads to a Cluster, ClusterClass or ClusterResourceSet, and no label to move"
