"""The clusters there are, as scheduling sees them: by sort, and by seats taken.

Whether a cluster suits an ask depends on a few of its properties, its :class:`Sort`, and there are few sorts however
many clusters there are. So an ask is judged once against each sort, and within the sorts that suit, the strategy finds
the cluster by its seats (see ``racks``).

What was decided and is not yet written counts as well (*assumed*): a seat that a request is about to take, and a
cluster that is about to be made. So workers who decide at the same time do not take the same seat. This is only the
first guard: the law is the guarded write on the Cluster.

Clusters that are being deleted have no seats and no sort; their names are still taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mooring.api.claims import claimants
from mooring.api.clusters import Cluster, Tenancy
from mooring.api.conditions import READY, Truth, found
from mooring.api.marks import KUBERNETES_VERSION_LABEL, WARM_LABEL
from mooring.kube import ObjectKey, key_of
from mooring.scheduling.racks import Rack

_SORTS_AT_LEAST = 256  # before it is worth looking for some that nothing is left of


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sort:
    """What a decision may depend on, beside seats. Compared by identity: the fleet keeps one of each."""

    namespace: str  # empty unless namespaces matter
    profile: str
    version: str  # that it runs, else that it shall run
    tenancy: Tenancy
    purposes: tuple[str, ...]
    labels: Mapping[str, str]  # those that some selector asks for
    healthy: bool
    warm: str  # the purpose that it is kept ready for; empty if it is not


@dataclass(slots=True)
class _Entry:
    cluster: Cluster
    sort: Sort | None  # None while it is being deleted
    claimed: frozenset[str]
    assumed: set[str] = field(default_factory=set)
    drafted: bool = False  # not made yet

    @property
    def count(self) -> int:
        return len(self.claimed | self.assumed) if self.assumed else len(self.claimed)


class Fleet:
    """Fed with clusters one by one; ``edition`` changes when a sort comes or goes."""

    def __init__(self, *, labels: Collection[str] = (), by_namespace: bool = False) -> None:
        """``labels``: the keys that selectors ask for. ``by_namespace``: clusters serve their own namespace only."""
        self._labels = frozenset(labels)
        self._by_namespace = by_namespace
        self.edition = 0
        self._empty()

    def _empty(self) -> None:
        self._entries: dict[ObjectKey, _Entry] = {}
        self._sorts: dict[tuple[object, ...], Sort] = {}
        self._racks: dict[Sort, Rack] = {}
        self._by_purpose: dict[str, dict[Sort, Rack]] = {}
        self._by_profile: dict[str, int] = {}
        self._sweep_at = _SORTS_AT_LEAST
        self.edition += 1

    @classmethod
    def of(cls, clusters: Iterable[Cluster], *, labels: Collection[str] = (), by_namespace: bool = False) -> Fleet:
        fleet = cls(labels=labels, by_namespace=by_namespace)
        for cluster in clusters:
            fleet.put(cluster)
        return fleet

    # -- reading ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Cluster]:
        """All clusters, those that are being deleted and those that are only drafted among them."""
        return (entry.cluster for entry in self._entries.values())

    def get(self, key: ObjectKey) -> Cluster | None:
        entry = self._entries.get(key)
        return None if entry is None else entry.cluster

    def sort_of(self, key: ObjectKey) -> Sort | None:
        entry = self._entries.get(key)
        return None if entry is None else entry.sort

    def taken(self, key: ObjectKey) -> int:
        """How many seats of the cluster are taken, or as good as taken."""
        entry = self._entries.get(key)
        return 0 if entry is None else entry.count

    def racks(self, purpose: str) -> Mapping[Sort, Rack]:
        """The racks of clusters that serve this purpose."""
        return self._by_purpose.get(purpose, {})

    def made_by(self, profile: str) -> int:
        """How many clusters of this profile there are, and are about to be."""
        return self._by_profile.get(profile, 0)

    # -- keeping ------------------------------------------------------------------------------------------------

    def put(self, cluster: Cluster, *, drafted: bool = False) -> None:
        """A cluster as it is now."""
        key = key_of(cluster)
        before = self._entries.get(key)
        entry = _Entry(cluster, self.sorted(cluster), frozenset(claimants(cluster.metadata)), drafted=drafted)
        if before is not None:
            entry.assumed = before.assumed
            self._take_out(key, before)
        self._entries[key] = entry
        self._put_in(key, entry)

    def remove(self, key: ObjectKey) -> None:
        """The cluster is gone. What is assumed of it does not make it come back."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._take_out(key, entry)

    def clear(self) -> None:
        """Forget everything: all clusters will be told anew."""
        self._empty()

    def sort_by(self, *, labels: Collection[str], by_namespace: bool) -> None:
        """Sort all clusters anew, if selectors ask for other labels now, or namespaces begin or cease to matter."""
        if (frozenset(labels), by_namespace) == (self._labels, self._by_namespace):
            return
        self._labels, self._by_namespace = frozenset(labels), by_namespace
        entries = self._entries
        self._empty()
        for key, entry in entries.items():
            entry.sort = self.sorted(entry.cluster)
            self._entries[key] = entry
            self._put_in(key, entry)

    def assume(self, key: ObjectKey, uid: str) -> None:
        """A request is about to take a seat."""
        self._reseat(key, lambda assumed: assumed.add(uid))

    def draft(self, cluster: Cluster, uid: str) -> None:
        """A cluster is about to be made, for this request first."""
        if key_of(cluster) not in self._entries:
            self.put(cluster, drafted=True)
        self.assume(key_of(cluster), uid)

    def settle(self, key: ObjectKey, uid: str) -> None:
        """What was assumed is written, or will not be."""
        self._reseat(key, lambda assumed: assumed.discard(uid))
        entry = self._entries.get(key)
        if entry is not None and entry.drafted and not entry.assumed:
            self.remove(key)

    def _reseat(self, key: ObjectKey, change: Callable[[set[str]], None]) -> None:
        entry = self._entries.get(key)
        if entry is None:
            return
        self._take_out(key, entry)
        change(entry.assumed)
        self._put_in(key, entry)

    def _put_in(self, key: ObjectKey, entry: _Entry) -> None:
        profile = entry.cluster.spec.profile
        self._by_profile[profile] = self._by_profile.get(profile, 0) + 1
        if entry.sort is not None:
            self._rack(entry.sort).add(key, entry.count)

    def _take_out(self, key: ObjectKey, entry: _Entry) -> None:
        profile = entry.cluster.spec.profile
        self._by_profile[profile] -= 1
        if not self._by_profile[profile]:
            del self._by_profile[profile]
        if entry.sort is not None:
            self._racks[entry.sort].remove(key, entry.count)

    def _rack(self, sort: Sort) -> Rack:
        rack = self._racks.get(sort)
        if rack is None:
            rack = self._racks[sort] = Rack()
            for purpose in sort.purposes:
                self._by_purpose.setdefault(purpose, {})[sort] = rack
            self.edition += 1
        return rack

    def _sweep(self) -> None:
        """Forget sorts that nothing is left of, once they are many: versions and labels come and go."""
        if len(self._racks) < self._sweep_at:
            return
        self._racks = {sort: rack for sort, rack in self._racks.items() if rack}
        self._sorts = {known: sort for known, sort in self._sorts.items() if sort in self._racks}
        self._by_purpose = {}
        for sort, rack in self._racks.items():
            for purpose in sort.purposes:
                self._by_purpose.setdefault(purpose, {})[sort] = rack
        self._sweep_at = max(_SORTS_AT_LEAST, 2 * len(self._racks))

    def sorted(self, cluster: Cluster) -> Sort | None:
        """The sort of a cluster, also of one that is not in the fleet; None if it is being deleted."""
        metadata, spec = cluster.metadata, cluster.spec
        if metadata.deleting:
            return None
        namespace = metadata.namespace if self._by_namespace else ""
        version = metadata.labels.get(KUBERNETES_VERSION_LABEL) or spec.kubernetes.version
        labels = tuple(sorted((key, value) for key, value in metadata.labels.items() if key in self._labels))
        warm = metadata.labels.get(WARM_LABEL, "")
        if warm and claimants(metadata):
            warm = ""  # handed over
        purposes = tuple(sorted(set(spec.purposes)))
        known = (namespace, spec.profile, version, spec.tenancy, purposes, labels, is_healthy(cluster), warm)
        sort = self._sorts.get(known)
        if sort is None:
            self._sweep()  # before the new one is noted down: it has no rack yet, and would be forgotten at once
            sort = self._sorts[known] = Sort(
                namespace=namespace,
                profile=spec.profile,
                version=version,
                tenancy=spec.tenancy,
                purposes=purposes,
                labels=dict(labels),
                healthy=is_healthy(cluster),
                warm=warm,
            )
        return sort


def is_healthy(cluster: Cluster) -> bool:
    """False only if its provider says that it is not ready; one that is being made has not been judged yet."""
    ready = found(cluster.status.conditions, READY) if cluster.status is not None else None
    return ready is None or ready.status is not Truth.FALSE
