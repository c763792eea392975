"""Objects over to the target, one group after the other, and then away from the source.

Each copy is created with a note where it came from (`progress`). It loses the note, and its fields go back to their
owners, right before its original is deleted; Clusters and ClusterClasses, which stay paused until everything is there,
keep theirs to the end. So a copy without a note is either finished, or was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mooring.clusterctl.applying import persistently
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.move.copies import copy_of, restoring, was_paused
from mooring.clusterctl.move.graph import CLASS, CLUSTER, Graph, Node
from mooring.clusterctl.move.landing import Landed, Landing, Place, landed_of, written
from mooring.clusterctl.move.progress import DELETE_FOR_MOVE, FROM, MANAGER, Origin, Run
from mooring.clusterctl.move.report import Tell
from mooring.clusterctl.move.writing import change, each, remove
from mooring.clusterctl.objects import texts_at
from mooring.kube import Bare, Client, Object, Resource, revision_of, uid_of, untyped
from mooring.kube.errors import AlreadyExists, Conflict, Forbidden, NotFound

NAMESPACES: Final = untyped(plural="namespaces", kind="Namespace", namespaced=False)
_TRIES: Final = 5  # of something that others keep changing


@dataclass(slots=True)
class Carrier:
    """Writes at the target, and takes away from the source. Knows what it has overwritten."""

    target: Client
    run: Run
    landing: Landing
    leaves_alone: Callable[[Node], bool]  # of what is there already: whether it stays as it is
    tell: Tell
    stays_paused: Callable[[Node], bool] = was_paused  # by somebody else
    uids: dict[str, str] = field(default_factory=dict)  # of the source: of the target
    before: dict[Place, Object] = field(default_factory=dict)  # what was there, as it was
    _later: list[Node] = field(default_factory=list)

    # Over

    async def copy(self, graph: Graph, groups: Sequence[Sequence[Node]]) -> None:
        """Everything that is not there is created, in order; then what was there before is overwritten."""
        await self._make_namespaces({one.namespace for group in groups for one in group if one.namespace})
        self._later = []
        for group in groups:
            await each(group, lambda node: self._place(node, graph))
        await each(self._later, lambda node: self._overwrite(node, graph))

    async def _make_namespaces(self, names: set[str]) -> None:
        for name in sorted(names):

            async def deed(name: str = name) -> None:
                try:
                    await self.target.get(NAMESPACES, name)
                except Forbidden:
                    return  # who may not look will hear it from the first object
                except NotFound:
                    note = Origin(self.run.source, self.run.words, uid="", revision="")
                    metadata = {"name": name, "annotations": {FROM: note.text}}
                    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
                    try:
                        await self.target.create(NAMESPACES, body, field_manager=MANAGER)
                    except AlreadyExists:
                        return

            await persistently(deed, what=f"namespace {name} cannot be created in the target cluster")

    async def _place(self, node: Node, graph: Graph) -> None:
        there = self.landing.objects.get(node.place)
        if there is None:
            self.tell(1, f'Creating {node.kind}="{node.name}" Namespace="{node.namespace}"')
            there = await self._create(node, graph)
        self.uids[node.uid] = there.uid
        origin = there.origin
        if origin is not None and (origin.source, origin.uid) == (self.run.source, node.uid):
            if origin.revision != node.revision and not node.is_deleting:
                await self._overwrite(node, graph)
        elif self.leaves_alone(node):
            self.tell(5, f"{node} is there already, and stays as it is")
        elif not node.is_deleting:
            self._later.append(node)

    async def _create(self, node: Node, graph: Graph) -> Landed:
        resource = written(await self.target.resource(node.api_version, node.kind))
        body = copy_of(node, graph, self.uids, self._origin(node))

        async def deed() -> Landed:
            try:
                made = await self.target.create(resource, body, field_manager=MANAGER)
            except AlreadyExists:
                # Of a try whose answer was lost, or somebody else's.
                made = await self.target.get(resource, node.name, namespace=node.namespace or None)
            return landed_of(resource, made.metadata)

        landed = await persistently(deed, what=f"{node} cannot be created in the target cluster")
        self.landing.add(landed)
        return landed

    async def _overwrite(self, node: Node, graph: Graph) -> None:
        """Put the copy in place of what is there; what was there before us is remembered for the way back."""
        resource = await self.target.resource(node.api_version, node.kind)
        self.tell(1, f'Updating {node.kind}="{node.name}" Namespace="{node.namespace}"')

        async def deed() -> None:
            there = await self.target.get(resource, node.name, namespace=node.namespace or None)
            landed = self.landing.objects[node.place]
            ours = landed.origin is not None and landed.origin.is_of(self.run)
            if not ours:
                self.before.setdefault(node.place, there)
            origin = self._origin(node, over=landed.origin.over if ours and landed.origin else True)
            body = copy_of(node, graph, self.uids, origin)
            body["metadata"] |= {"uid": uid_of(there), "resourceVersion": revision_of(there)}
            await self.target.replace(resource, body, field_manager=MANAGER)
            self.landing.add(replace(landed, uid=uid_of(there), origin=origin))
            self.uids[node.uid] = uid_of(there)

        await persistently(deed, what=f"{node} cannot be written in the target cluster")

    def _origin(self, node: Node, *, over: bool = False) -> Origin:
        paused = self.stays_paused(node)
        return Origin(self.run.source, self.run.words, node.uid, node.revision, over=over, stays_paused=paused)

    # Away

    async def take(self, source: Client | None, node: Node, graph: Graph, *, keeps_note: bool = False) -> None:
        """Finish the copy, and delete the original unless the source keeps it."""
        await self.restore(node, finishing=not keeps_note and node.group_kind not in (CLUSTER, CLASS))
        if source is not None and not node.is_kept:
            await self.delete(source, node, graph)

    async def restore(self, node: Node, *, finishing: bool) -> None:
        """Give the fields of a copy of ours back to their owners."""
        landed = self.landing.objects.get(node.place)
        if landed is None or landed.origin is None or not landed.origin.is_of(self.run):
            return
        done = await change(
            self.target,
            landed.resource,
            node.name,
            restoring(node, landed.uid, finishing=finishing),
            namespace=node.namespace,
            what=f"{node} cannot be finished in the target cluster",
        )
        if done is None:
            raise ClusterctlError(f"the copy of {node} in the target cluster is gone: somebody else has deleted it")
        if finishing:
            self.landing.add(replace(landed, origin=None))

    async def delete(self, source: Client, node: Node, graph: Graph) -> None:
        """Delete the original, finalizers or not: its infrastructure belongs to the copy now."""
        self.tell(1, f'Deleting {node.kind}="{node.name}" Namespace="{node.namespace}"')
        resource = await source.resource(node.api_version, node.kind)
        what = f"{node} cannot be deleted from the source cluster"
        if not node.is_deleting and not await self._announce(source, resource, node, graph):
            return
        bare = written(resource)
        left = await remove(source, bare, node.name, namespace=node.namespace, uid=node.uid, what=what)
        if left is not None:
            stripped = {"metadata": {"uid": node.uid, "finalizers": []}}
            await change(source, bare, node.name, stripped, namespace=node.namespace, what=what)

    async def _announce(self, source: Client, resource: Resource[Object], node: Node, graph: Graph) -> bool:
        """Say on the original that it is deleted for a move, if it still is what was copied; False: it is gone."""
        for _ in range(_TRIES):
            note = {"uid": node.uid, "resourceVersion": node.revision, "annotations": {DELETE_FOR_MOVE: ""}}
            what = f"{node} cannot be deleted from the source cluster"
            try:
                done: Bare | None = await change(
                    source, written(resource), node.name, {"metadata": note}, namespace=node.namespace, what=what
                )
                return done is not None
            except Conflict:
                if not await self._copied_again(source, resource, node, graph):
                    return False
        raise ClusterctlError(
            f"{node} keeps changing in the source cluster although it is paused: stop what changes it"
        )

    async def _copied_again(self, source: Client, resource: Resource[Object], node: Node, graph: Graph) -> bool:
        """Somebody has changed the original since it was copied: the copy follows. False: the original is gone."""
        try:
            body = await source.get(resource, node.name, namespace=node.namespace or None)
        except NotFound:
            return False
        if uid_of(body) != node.uid:
            return False
        node.body = body
        if DELETE_FOR_MOVE not in texts_at(body, "annotations") and not self.leaves_alone(node):
            landed = self.landing.objects[node.place]
            finished = landed.origin is None
            await self._overwrite(node, graph)
            await self.restore(node, finishing=finished)
        return True
