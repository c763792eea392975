"""The end of a move at the target: notes go, ClusterClasses go on, and Clusters last."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from mooring.clusterctl.move.carrying import Carrier
from mooring.clusterctl.move.copies import resuming
from mooring.clusterctl.move.graph import CLASS, CLUSTER, Node
from mooring.clusterctl.move.landing import Landed
from mooring.clusterctl.move.undoing import finish_namespace
from mooring.clusterctl.move.writing import change, each


async def finish(
    carrier: Carrier, nodes: Iterable[Node], *, at_source: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Everything that still has a note. ``at_source``: what there is to end at the other side.

    The note on what was deleted first is what tells a run after a kill that it has only to finish: so it goes last.
    """
    ours = carrier.landing.ours
    first = [one for one in ours if one.origin is not None and one.origin.first]
    others = [one for one in ours if one not in first]
    await _resume(carrier, [one for one in others if one.kind not in (CLASS, CLUSTER)])
    carrier.tell(0, "Resuming in the target cluster")
    await _resume(carrier, [one for one in others if one.kind == CLASS])
    if at_source is not None:
        await at_source()
    for name in carrier.landing.namespaces(nodes):
        await finish_namespace(carrier.target, name, carrier.run)
    await _resume(carrier, [one for one in others if one.kind == CLUSTER])
    await _resume(carrier, first)


async def _resume(carrier: Carrier, landed: Sequence[Landed]) -> None:
    async def resume(one: Landed) -> None:
        stays_paused = one.origin is not None and one.origin.stays_paused
        await change(
            carrier.target,
            one.resource,
            one.name,
            resuming(one.kind, one.uid, stays_paused=stays_paused),
            namespace=one.namespace,
            what=f"{one} cannot be resumed in the target cluster",
        )

    await each(landed, resume)
