"""Warm clusters: for each purpose, so many that nobody has asked for yet.

A warm cluster is an ordinary Cluster with a label and without a claim. A request takes one by the same claim as any
other cluster, and the label goes with it; here, others are made in its place. The names of warm clusters are counted
through, and the first that is free is taken: so two who refill at the same time make the same one, and the second is
told that it exists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import structlog

from mooring.api.clusters import Cluster
from mooring.api.conditions import READY, is_true
from mooring.api.kinds import Metadata, as_document
from mooring.api.marks import WARM_LABEL
from mooring.api.names import LONGEST_NAME, name_hash
from mooring.api.requests import ClusterRequest, ClusterRequestSpec
from mooring.kube import Change, ObjectKey, key_of, typed
from mooring.kube.errors import AlreadyExists, Forbidden, Invalid, NotFound
from mooring.runtime import Manager, Outcome, Terminal, Writer
from mooring.scheduling.asking import Ask, Unanswerable
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.drafts import drafted
from mooring.scheduling.plan import best_profile
from mooring.scheduling.seen import Seen

log = structlog.get_logger(__name__)

_LONGEST_BEGINNING = LONGEST_NAME - 8


class WarmClusters:
    """Keeps the warm clusters of one purpose."""

    def __init__(self, manager: Manager, seen: Seen, *, home: str) -> None:
        self._seen = seen
        self._home = home
        self._clusters = Writer(manager.client, typed(Cluster), seen.clusters)

    async def reconcile(self, key: ObjectKey) -> Outcome:
        catalogue = self._seen.catalogue
        purpose = catalogue.purposes.get(key.name)
        wanted = 0 if purpose is None else purpose.warm
        there = [one for one in self._seen.clusters.by("warm", key.name) if not one.metadata.deleting]
        if not wanted and not there:
            return Outcome.await_change()
        ask = catalogue.ask(ClusterRequestSpec(purpose=key.name))
        good = [one for one in there if isinstance(ask, Ask) and is_current(one, ask, catalogue)]
        keep = sorted(good, key=_best_first)[:wanted]
        for one in there:
            if one not in keep and (wanted == 0 or isinstance(ask, Ask)):
                await self._remove(one)
        if isinstance(ask, Ask) and wanted > len(keep):
            await self._fill(key.name, ask, wanted - len(keep))
        return Outcome.await_change()

    async def _remove(self, cluster: Cluster) -> None:
        """Only as we saw it, unclaimed: whoever claims it in this moment keeps it (Conflict: look again)."""
        try:
            await self._clusters.delete(cluster, guarded=True)
        except NotFound:
            self._seen.clusters.deleted(cluster)

    async def _fill(self, purpose: str, ask: Ask, missing: int) -> None:
        for place in itertools.islice(self._free_places(purpose, ask), missing):
            best = best_profile(ask, self._seen.catalogue, self._seen.fleet)
            if isinstance(best, Unanswerable):
                raise Terminal(f"no warm clusters for {purpose}: {best.message}")
            draft = warm_draft(ask, purpose, place=place, profile=best.offer.name, version=best.version)
            try:
                await self._clusters.create(as_document(draft))
            except AlreadyExists:
                continue  # made by somebody else just now: we will be told
            except (Invalid, Forbidden, NotFound) as error:
                raise Terminal(f"a warm cluster for {purpose} is refused: {error}") from error

    def _free_places(self, purpose: str, ask: Ask) -> Iterator[ObjectKey]:
        namespace = ask.template.metadata.namespace or self._home
        beginning = (ask.template.metadata.generate_name or f"{purpose}-")[:_LONGEST_BEGINNING]
        for number in itertools.count():
            place = ObjectKey(namespace, beginning + name_hash("warm", purpose, str(number)))
            if place not in self._seen.clusters:
                yield place


def warm_draft(ask: Ask, purpose: str, *, place: ObjectKey, profile: str, version: str) -> Cluster:
    """A cluster as it would be made for a request that asks for nothing but the purpose, marked as warm."""
    nobody = ClusterRequest(metadata=Metadata(), spec=ClusterRequestSpec(purpose=purpose))
    draft = drafted(nobody, ask, place=place, profile=profile, version=version)
    labels = {**draft.metadata.labels, WARM_LABEL: purpose}
    return msgspec.structs.replace(draft, metadata=msgspec.structs.replace(draft.metadata, labels=labels))


def is_current(cluster: Cluster, ask: Ask, catalogue: Catalogue) -> bool:
    """Whether a warm cluster is what would be made today, on the profile that it has."""
    profile = cluster.spec.profile
    suitable = next((one for one in catalogue.ranking(ask).suitable if one.offer.name == profile), None)
    if suitable is None or ask.template.metadata.namespace not in ("", cluster.metadata.namespace):
        return False
    purpose = cluster.metadata.labels.get(WARM_LABEL, "")
    today = warm_draft(ask, purpose, place=key_of(cluster), profile=profile, version=suitable.version)
    marks = today.metadata.labels.items() <= cluster.metadata.labels.items()
    notes = today.metadata.annotations.items() <= cluster.metadata.annotations.items()
    return today.spec == cluster.spec and marks and notes


def purpose_key(name: str) -> ObjectKey:
    return ObjectKey("", name)


def warm_cluster_to_purpose(change: Change[Cluster]) -> Iterable[ObjectKey]:
    """The purpose of a warm cluster that came, went, changed, or was taken."""
    names = {one.metadata.labels.get(WARM_LABEL, "") for one in (change.before, change.after) if one is not None}
    return [purpose_key(name) for name in names if name]


def cluster_to_purposes(seen: Seen) -> Callable[[Change[Cluster]], Iterable[ObjectKey]]:
    """Its own purpose; and if it is gone, all: its profile may have been full."""
    all_of_them = rules_to_purposes(seen)

    def mapped(change: Change[Cluster]) -> Iterable[ObjectKey]:
        return all_of_them(change) if change.after is None else warm_cluster_to_purpose(change)

    return mapped


def rules_to_purposes(seen: Seen) -> Callable[[Change[Any]], Iterable[ObjectKey]]:
    """All purposes that keep warm clusters: profiles decide what these should look like."""

    def mapped(_change: Change[Any]) -> Iterable[ObjectKey]:
        return [purpose_key(name) for name, spec in seen.catalogue.purposes.items() if spec.warm]

    return mapped


def _best_first(cluster: Cluster) -> tuple[bool, str, ObjectKey]:
    """Ready ones, then the oldest."""
    ready = cluster.status is not None and is_true(cluster.status.conditions, READY)
    return not ready, cluster.metadata.creation_timestamp, key_of(cluster)
