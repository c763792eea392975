"""What scheduling sees of the world: the stores it reads, and the two views of them that decisions are made on.

The catalogue is made anew after one of its sources changed, when it is next asked for; the fleet is kept cluster by
cluster. Which requests wait, and for what, is noted here in the moment in which it is decided: what comes later wakes
them, however long their status takes to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from mooring.api.access import AccessRequest
from mooring.api.claims import claimants
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import WARM_LABEL
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.api.selectors import matches
from mooring.kube import Change, ObjectKey, typed
from mooring.runtime import Manager, Store
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION, Configuration
from mooring.scheduling.fleet import Fleet


class WaitsFor(Enum):
    """What must change before a request can be answered better."""

    RULES = "purposes, profiles, equivalences or the configuration"
    SEATS = "those, or a seat in a shared cluster"
    CLUSTERS = "those, or any cluster, or the end of one"


class Seen:
    """Made once for a manager; everybody in scheduling shares it."""

    def __init__(self, manager: Manager, configuration: Configuration = DEFAULT_CONFIGURATION) -> None:
        self._configuration = configuration
        self.requests: Store[ClusterRequest] = manager.store(typed(ClusterRequest), indexes={"uid": by_uid})
        self.grants: Store[ClusterRequestGrant] = manager.store(typed(ClusterRequestGrant))
        self.clusters: Store[Cluster] = manager.store(
            typed(Cluster), indexes={"claimant": by_claimant, "warm": by_warm_purpose}
        )
        self.access: Store[AccessRequest] = manager.store(typed(AccessRequest), indexes={"request": by_request})
        self.purposes: Store[Purpose] = manager.store(typed(Purpose))
        self.profiles: Store[ClusterProfile] = manager.store(typed(ClusterProfile))
        self.equivalences: Store[TraitEquivalence] = manager.store(typed(TraitEquivalence))
        self.providers: Store[ClusterProvider] = manager.store(typed(ClusterProvider))
        self.waiting: dict[ObjectKey, WaitsFor] = {}
        self.leaving: dict[ObjectKey, set[ObjectKey]] = {}  # by cluster: the requests in deletion that wait for its end
        self.seat_fell_free: Callable[[], None] = _nobody_listens
        self.fleet = Fleet()
        self._catalogue: Catalogue | None = None
        self.clusters.subscribe(self._cluster_changed, cleared=self._begin_anew)
        for rules in self.rules:
            rules.subscribe(self._rules_changed, cleared=self._forget_catalogue)

    @property
    def rules(self) -> tuple[Store[Any], ...]:
        """The stores that the catalogue is made from."""
        return (self.purposes, self.profiles, self.equivalences, self.providers)

    @property
    def catalogue(self) -> Catalogue:
        if self._catalogue is None:
            self._catalogue = Catalogue(
                purposes=self.purposes,
                profiles=self.profiles,
                equivalences=self.equivalences,
                providers=self.providers,
                configuration=self._configuration,
            )
            self.fleet.sort_by(labels=self._catalogue.labels, by_namespace=self._catalogue.by_namespace)
        return self._catalogue

    def configure(self, configuration: Configuration) -> None:
        """Go on with another configuration. Who asks for it wakes the requests that wait."""
        self._configuration = configuration
        self._forget_catalogue()

    def is_ours(self, request: ClusterRequest) -> bool:
        """Whether the configuration leaves this request to us."""
        selector = self._configuration.requests
        return selector is None or matches(selector, request.metadata.labels)

    def held_by(self, uid: str) -> list[Cluster]:
        """The clusters that carry a claim of this request."""
        return self.clusters.by("claimant", uid)

    def waiting_for(self, what: WaitsFor) -> Iterable[ObjectKey]:
        """The requests that a change of this may help."""
        if what is WaitsFor.RULES:
            return tuple(self.waiting)
        helped = {WaitsFor.CLUSTERS, what}
        return tuple(key for key, needs in self.waiting.items() if needs in helped)

    def _cluster_changed(self, change: Change[Cluster]) -> None:
        if change.after is None:
            self.fleet.remove(change.key)
        else:
            self.fleet.put(change.after)

    def _rules_changed(self, _change: Change[Any]) -> None:
        self._forget_catalogue()

    def _forget_catalogue(self) -> None:
        self._catalogue = None

    def _begin_anew(self) -> None:
        self.fleet.clear()
        self.waiting.clear()
        self.leaving.clear()


def _nobody_listens() -> None:
    """Nothing is woken before there are controllers."""


def by_uid(request: ClusterRequest) -> Iterable[str]:
    return (request.metadata.uid,)


def by_claimant(cluster: Cluster) -> Iterable[str]:
    """The uids of the requests that hold the cluster."""
    return claimants(cluster.metadata)


def by_warm_purpose(cluster: Cluster) -> Iterable[str]:
    """The purpose that an unclaimed cluster is kept ready for."""
    purpose = cluster.metadata.labels.get(WARM_LABEL)
    return (purpose,) if purpose and not claimants(cluster.metadata) else ()


def by_request(access: AccessRequest) -> Iterable[ObjectKey]:
    """The request whose cluster the access is for, if it names one."""
    reference = access.spec.request_ref
    if reference is None:
        return ()
    return (ObjectKey(reference.namespace or access.metadata.namespace, reference.name),)
