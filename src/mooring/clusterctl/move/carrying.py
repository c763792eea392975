"""Objects over to the target, one group after the other, and then away from the source.

Each copy is created with a note where it came from (`progress`). It loses the note, and its fields go back to their
owners, right before its original is deleted; Clusters and ClusterClasses, which stay paused until everything is there,
and what the source keeps, have theirs to the end. So a copy without a note is either finished, or was there before.

What was there before is not touched until its original is to be deleted: until then a replacement is only rehearsed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from mooring.clusterctl.applying import persistently
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.move.copies import copy_of, restoring, was_paused
from mooring.clusterctl.move.graph import CLASS, CLUSTER, Graph, Node
from mooring.clusterctl.move.landing import Landed, Landing, Place, landed_of, written
from mooring.clusterctl.move.progress import DELETE_FOR_MOVE, FROM, LEAVING, MANAGER, Origin, Run
from mooring.clusterctl.move.report import Tell
from mooring.clusterctl.move.writing import change, each, remove
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

    # Over

    async def copy(self, graph: Graph, groups: Sequence[Sequence[Node]]) -> None:
        """Everything that is not there is created, in order; what would be overwritten is rehearsed."""
        await self._make_namespaces({one.namespace for group in groups for one in group if one.namespace})
        for group in groups:
            await each(group, lambda node: self._place(node, graph))
        others = [one for group in groups for one in group if self._is_anothers(one)]
        await each(others, lambda node: self._overwrite(node, graph, rehearsing=True))

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
        if self._is_ours(there):
            if there.origin is not None and there.origin.revision != node.revision and not node.is_deleting:
                await self._overwrite(node, graph)
        elif self.leaves_alone(node):
            self.tell(5, f"{node} is there already, and stays as it is")

    def _is_ours(self, landed: Landed | None) -> bool:
        return landed is not None and landed.origin is not None and landed.origin.is_of(self.run)

    def _is_anothers(self, node: Node) -> bool:
        """Whether somebody else's is to be replaced by it. If it is leaving, that was done before."""
        ours = self._is_ours(self.landing.objects.get(node.place))
        return not (ours or self.leaves_alone(node) or self._is_leaving(node))

    def _is_leaving(self, node: Node) -> bool:
        return node.is_deleting or node.annotations.get(LEAVING) == self.run.words

    def has_made(self, node: Node) -> bool:
        """Whether the copy is new, and nothing was in its place."""
        return any(one.place == node.place for one in self.landing.made)

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

    async def _overwrite(self, node: Node, graph: Graph, *, rehearsing: bool = False) -> None:
        """Put the copy in place of what is there; what was there before us is remembered for the way back."""
        resource = await self.target.resource(node.api_version, node.kind)
        if not rehearsing:
            self.tell(1, f'Updating {node.kind}="{node.name}" Namespace="{node.namespace}"')

        async def deed() -> None:
            there = await self.target.get(resource, node.name, namespace=node.namespace or None)
            landed = self.landing.objects[node.place]
            origin = self._origin(node, landed)
            body = copy_of(node, graph, self.uids, origin)
            body["metadata"] |= {"uid": uid_of(there), "resourceVersion": revision_of(there)}
            await self.target.replace(resource, body, field_manager=MANAGER, dry_run=rehearsing)
            if rehearsing:
                return
            if not self._is_ours(landed):
                self.before[node.place] = there
            self.landing.add(replace(landed, uid=uid_of(there), origin=origin))
            self.uids[node.uid] = uid_of(there)

        await persistently(deed, what=f"{node} cannot be written in the target cluster")

    def _origin(self, node: Node, there: Landed | None = None) -> Origin:
        """The note on a copy. Over a copy of ours it is not more over something than that was."""
        made = Origin(self.run.source, self.run.words, node.uid, node.revision, stays_paused=self.stays_paused(node))
        if there is None:
            return made
        over = there.origin.over if self._is_ours(there) and there.origin is not None else True
        return msgspec.structs.replace(made, over=over)

    # Away

    async def take(self, source: Client | None, node: Node, graph: Graph, *, is_first: bool = False) -> None:
        """Finish the copy, and delete the original unless the source keeps it."""
        if self._is_anothers(node):
            await self._overwrite(node, graph)
        leaves = source is not None and not node.is_kept and await self._announced(source, node, graph)
        await self._restore(node, is_first=is_first)
        if source is not None and leaves:
            await self._delete(source, node)

    async def _restore(self, node: Node, *, is_first: bool = False) -> None:
        """Give the fields of a copy of ours back to their owners. Some keep their notes until everything is done."""
        landed = self.landing.objects.get(node.place)
        if landed is None or landed.origin is None or not self._is_ours(landed):
            return
        before = landed.origin
        if before.first or (before.whole and not is_first):
            return
        note: Origin | None = None
        if is_first or node.is_kept or node.group_kind in (CLUSTER, CLASS):
            note = msgspec.structs.replace(before, whole=True, first=is_first)
        done = await change(
            self.target,
            landed.resource,
            node.name,
            restoring(node, landed.uid, note),
            namespace=node.namespace,
            what=f"{node} cannot be finished in the target cluster",
        )
        if done is None:
            raise ClusterctlError(f"the copy of {node} in the target cluster is gone: somebody else has deleted it")
        self.landing.add(replace(landed, origin=note))

    async def _announced(self, source: Client, node: Node, graph: Graph) -> bool:
        """Say on the original that it is deleted next, if it still is what was copied; False: it is gone already."""
        if self._is_leaving(node):
            return True
        resource = await source.resource(node.api_version, node.kind)
        what = f"{node} cannot be deleted from the source cluster"
        leaving = {DELETE_FOR_MOVE: "", LEAVING: self.run.words}
        for _ in range(_TRIES):
            note = {"uid": node.uid, "resourceVersion": node.revision, "annotations": leaving}
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

    async def _delete(self, source: Client, node: Node) -> None:
        """Delete the original, finalizers or not: its infrastructure belongs to the copy now."""
        self.tell(1, f'Deleting {node.kind}="{node.name}" Namespace="{node.namespace}"')
        resource = written(await source.resource(node.api_version, node.kind))
        what = f"{node} cannot be deleted from the source cluster"
        held = node.is_deleting
        if not held:
            left = await remove(source, resource, node.name, namespace=node.namespace, uid=node.uid, what=what)
            held = left is not None
        if held:
            stripped = {"metadata": {"uid": node.uid, "finalizers": []}}
            await change(source, resource, node.name, stripped, namespace=node.namespace, what=what)

    async def _copied_again(self, source: Client, resource: Resource[Object], node: Node, graph: Graph) -> bool:
        """Somebody has changed the original since it was copied: the copy follows. False: the original is gone."""
        try:
            body = await source.get(resource, node.name, namespace=node.namespace or None)
        except NotFound:
            return False
        if uid_of(body) != node.uid:
            return False
        node.body = body
        if not self._is_leaving(node) and not self.leaves_alone(node):
            await self._overwrite(node, graph)
        return True
