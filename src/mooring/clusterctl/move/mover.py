"""One move, from its checks to its end; run again with the same words after a kill, it goes on.

::

    look ─ pause ─ wait for providers ─ look again ─ copy ─ look whether something changed ─┐
    delete the first original: the point of no return ──────────────────────────────────────┤
    finish copies and delete originals, from the bottom up ─ resume classes, then clusters ─┘

Guarantees
    Before the first deletion a failure (an interrupt is one) takes back everything: see `undoing`. After it, nothing is
    taken back: whoever fails then says so, and the same words finish it. What was changed at the source after it was
    copied is copied again before it is deleted.

Assumptions
    Providers leave objects of a paused Cluster alone, and nobody deletes them by hand meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.move import checks
from mooring.clusterctl.move.carrying import NAMESPACES, Carrier
from mooring.clusterctl.move.discovery import Choice, View, survey
from mooring.clusterctl.move.finishing import finish
from mooring.clusterctl.move.graph import Node
from mooring.clusterctl.move.landing import Landing, Shore, land
from mooring.clusterctl.move.pausing import BLOCKED_FOR, pause_all, resume_all, wait_until_unblocked
from mooring.clusterctl.move.progress import FROM, LEAVING, Run
from mooring.clusterctl.move.report import Report, Tell, report_of, silent
from mooring.clusterctl.move.undoing import clear, unmark_source
from mooring.clusterctl.move.writing import each
from mooring.kube import Client, KubeError, Object, uid_of
from mooring.kube.errors import ApiError

_LOOKS: Final = 10  # at a source that keeps changing


@dataclass(frozen=True, slots=True)
class Options:
    """What is to move, and how."""

    choice: Choice
    include_paused: bool = False
    blocked_for: float = BLOCKED_FOR  # seconds that providers have to let go


async def plan(source: Client, options: Options, tell: Tell = silent) -> Report:
    """What a move would do. Nothing is written, and no target is asked."""
    await Inventory(source).check_contract()
    view = await survey(source, options.choice)
    if view.lacking:
        raise ClusterctlError(view.lacking)
    checks.check_not_paused(view, include_paused=options.include_paused)
    for node in view.order.nodes:
        tell(1, f'Creating {node.kind}="{node.name}" Namespace="{node.namespace}"')
    for node in reversed(view.order.nodes):
        if not node.is_kept:
            tell(1, f'Deleting {node.kind}="{node.name}" Namespace="{node.namespace}"')
    return report_of(view.order, dry_run=True)


async def move(source: Client, target: Client, options: Options, tell: Tell = silent) -> Report:
    """Move what was chosen from one management cluster to another."""
    here, there = await identity_of(source), await identity_of(target)
    # With the target in its words, a move that was killed is not gone on with to somewhere else.
    run = Run(here, f"{options.choice.words} target={there}")
    if here == there:
        raise ClusterctlError("source and target are the same cluster: name another one with --to-kubeconfig")
    for client in (source, target):
        await Inventory(client).check_contract()
    checks.check_providers(await Inventory(source).list_if_defined(), await Inventory(target).list_if_defined())
    return await _Move(source, target, options, run, tell).carried_out()


async def identity_of(client: Client) -> str:
    """What tells one cluster from another: a namespace that each has, and has its own. Else where it is reached."""
    try:
        system: Object = await client.get(NAMESPACES, "kube-system")
        return uid_of(system)
    except ApiError:
        return client.connection.server


class _Move:
    def __init__(self, source: Client, target: Client, options: Options, run: Run, tell: Tell) -> None:
        self.source, self.target, self.options, self.run, self.tell = source, target, options, run, tell
        self.view: View
        self.carrier: Carrier
        self.past = False  # a run before this one has passed the point of no return
        self.begun = False  # something has been written, by this run or by one before it
        self.pioneer: Node | None = None  # whose deletion is the point of no return
        self.report: Report | None = None

    async def carried_out(self) -> Report:
        self.view = await survey(self.source, self.options.choice)
        landing = await self._land()
        self.carrier = Carrier(self.target, self.run, landing, self._leaves_alone, self.tell)
        self.past = self._is_past(landing)
        if not self.past:
            self._check_originals()
        self.begun = bool(landing.ours) or checks.has_begun(self.view, self.run)
        try:
            if not self.past:
                self._check(landing)
            self.begun = True
            await self._bring_over()
            if not self.past:
                await self._pass_the_point()
        except BaseException as error:
            if self.begun:
                await self._turn_back(error)
            raise
        try:
            await self._finish()
        except BaseException as error:
            self._say_forward_only(error)
            raise
        return self.report or report_of(self.view.order)

    # Before

    async def _land(self) -> Landing:
        return await land(self.target, self.run, self.view.order.nodes, self._shore)

    @property
    def _shore(self) -> Shore:
        return Shore(self.options.choice.namespace, self.view.provider_namespaces)

    def _is_past(self, landing: Landing) -> bool:
        """Whether what was to be deleted first is deleted."""
        marked = [one.origin.uid for one in landing.ours if one.origin is not None and one.origin.first]
        return any(not self.view.graph.has_seen(uid) or self.view.graph.nodes[uid].is_deleting for uid in marked)

    def _leaves_alone(self, node: Node) -> bool:
        common = node.is_global or node.in_global_hierarchy
        return common or (self.view.chosen is not None and node.stays)

    def _check(self, landing: Landing) -> None:
        if self.view.lacking:
            raise ClusterctlError(self.view.lacking)
        checks.check_other_runs(self.view, self.run)
        checks.check_provisioned(self.view)
        checks.check_not_paused(self.view, include_paused=self.options.include_paused)
        checks.check_nothing_leaves(self.view)
        for node in self.view.order.nodes:
            there = landing.objects.get(node.place)
            if there is not None and there.is_live and there.origin is None:
                raise ClusterctlError(
                    f"the target cluster has a {node} already, which runs and is not paused: it is somebody's, and is "
                    f"not overwritten. Delete or pause it there if it is to be replaced"
                )

    # Over

    async def _bring_over(self) -> None:
        self.tell(0, f"Moving {len(self.view.order.nodes)} objects; pausing their Clusters and ClusterClasses")
        await pause_all(self.source, self.view, self.run)
        await self._look_again()
        for _ in range(_LOOKS):
            nodes = self.view.order.nodes
            if await wait_until_unblocked(self.source, nodes, self.tell, seconds=self.options.blocked_for):
                await self._look_again()
                continue
            self.tell(0, "Creating objects in the target cluster")
            await self.carrier.copy(self.view.graph, self.view.order.groups)
            before = self.view.revisions
            await self._look_again()
            if self.view.revisions == before:
                return
            if not self.past:
                self._check_originals()
        raise ClusterctlError("the source keeps changing although its Clusters are paused: stop what changes it")

    async def _look_again(self) -> None:
        self.view = await survey(self.source, self.options.choice)
        self.report = report_of(self.view.order)

    def _check_originals(self) -> None:
        """Refuse to go on with copies whose originals somebody else has deleted."""
        ours = self.carrier.landing.ours
        gone = [one for one in ours if one.origin is not None and not self.view.graph.has_seen(one.origin.uid)]
        if gone:
            raise ClusterctlError(
                f"{', '.join(sorted(map(str, gone)))}: there is a copy in the target cluster, but somebody has deleted "
                f"the original, and it was not this move. If it is not wanted, delete the copy, too; if it is, take "
                f"the annotation {FROM} off the copy. Then run it again"
            )

    # The point of no return

    async def _pass_the_point(self) -> None:
        leaving = [one for one in reversed(self.view.order.nodes) if not one.is_kept]
        if leaving:
            # Rather one whose copy is new: until something is deleted, what was there before is not touched.
            self.pioneer = next((one for one in leaving if self.carrier.has_made(one)), leaving[0])
            self.tell(0, "Deleting objects from the source cluster: from here on there is no way back")
            await self.carrier.take(self.source, self.pioneer, self.view.graph, is_first=True)

    async def _turn_back(self, error: BaseException) -> None:
        """After a failure: back, as long as that is possible."""
        if self.past or await self._has_passed():
            self._say_forward_only(error)
        else:
            await self._undo(error)

    async def _has_passed(self) -> bool:
        """Whether something has been deleted at the source: only a look tells, if the answer to that was lost."""
        try:
            self.view = await survey(self.source, self.options.choice)
            return self._is_past(await self._land())
        except (ClusterctlError, KubeError):
            return self.pioneer is not None  # not known: then nothing may be taken back

    def _say_forward_only(self, error: BaseException) -> None:
        if isinstance(error, ClusterctlError | KubeError):
            raise ClusterctlError(
                f"{error}. Some objects are deleted from the source already, so that there is no way back: mend this, "
                f"then run the same again, and it goes on"
            ) from error
        self.tell(0, "There is no way back any more: run the same again, and it goes on")

    async def _undo(self, error: BaseException) -> None:
        self.tell(0, "This failed before anything was deleted: taking back what was done")
        marked = [one for one in self.view.order.nodes if LEAVING in one.annotations]
        try:
            await clear(self.carrier, self.view.graph, self.view.order, self._shore)
            await unmark_source(self.source, marked)
            await resume_all(self.source, self.view, self.run)
        except (ClusterctlError, KubeError) as second:
            raise ClusterctlError(
                f"{error}. Taking it back failed, too: {second}. Run the same again: it goes on from where it is"
            ) from error
        self.tell(0, "Nothing has moved: what was created in the target cluster is removed, and the source goes on")

    # Away

    async def _finish(self) -> None:
        async def take(node: Node) -> None:
            await self.carrier.take(self.source, node, self.view.graph)

        # What stays first: once its last Cluster is gone, a class elsewhere is not seen any more.
        await each([one for one in self.view.order.nodes if one.is_kept], take)
        for group in reversed(self.view.order.groups):
            await each([one for one in group if not one.is_kept and one is not self.pioneer], take)
        await finish(self.carrier, self.view.order.nodes, at_source=self._resume_source)

    async def _resume_source(self) -> None:
        # The class of a Cluster that is gone from here is where the Cluster says, which is at the target now.
        await resume_all(self.source, self.view, self.run, self.carrier.landing.namespaces(()))
