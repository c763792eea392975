"""Scheduling on a manager: its controllers, what wakes them, and what they may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.api.kinds import CLUSTERS_GROUP
from mooring.api.requests import RequestPhase
from mooring.kube import key_of
from mooring.runtime import Controller, Manager, Source
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION, Configuration
from mooring.scheduling.desk import Desk
from mooring.scheduling.reconciler import RequestReconciler
from mooring.scheduling.seen import Seen, WaitsFor
from mooring.scheduling.stale import StaleClaims
from mooring.scheduling.wakes import Wakes, access_to_request, grant_to_request, request_asks
from mooring.scheduling.warm import WarmClusters, cluster_to_purposes, purpose_key, rules_to_purposes

WORKERS = 32

# What scheduling does to objects, for the operator's role; it reads all kinds anyhow.
RIGHTS: list[dict[str, Any]] = [
    {
        "apiGroups": [CLUSTERS_GROUP],
        "resources": ["clusterrequests"],
        "verbs": ["patch", "delete"],
    },
    {"apiGroups": [CLUSTERS_GROUP], "resources": ["clusterrequests/status"], "verbs": ["patch"]},
    # A Grant that blocks nothing, and an owner reference that does not block either: no further rights are needed.
    {"apiGroups": [CLUSTERS_GROUP], "resources": ["clusterrequestgrants"], "verbs": ["create", "delete"]},
    {"apiGroups": [CLUSTERS_GROUP], "resources": ["clusters"], "verbs": ["create", "patch", "delete"]},
    {"apiGroups": [CLUSTERS_GROUP], "resources": ["accessrequests"], "verbs": ["delete"]},
]


def add_scheduling(
    manager: Manager, configuration: Configuration = DEFAULT_CONFIGURATION, *, home: str = "mooring-system"
) -> Callable[[Configuration], None]:
    """Add all controllers of scheduling; the returned function takes another configuration into use.

    ``home`` is the namespace of warm clusters whose purpose names none.
    """
    seen = Seen(manager, configuration)
    desk, wakes = Desk(manager.client, seen), Wakes(seen)
    rules = [Source(store=store, keys=wakes.rules_to_requests) for store in seen.rules]
    requests = Controller(
        "requests",
        RequestReconciler(manager, seen, desk),
        [
            Source(store=seen.requests, when=request_asks),
            Source(store=seen.clusters, keys=wakes.cluster_to_requests),
            Source(store=seen.grants, keys=grant_to_request),
            Source(store=seen.access, keys=access_to_request),
            *rules,
        ],
        workers=WORKERS,
    )
    stale = Controller(
        "stale-claims",
        StaleClaims(manager, seen, desk),
        [Source(store=seen.clusters), Source(store=seen.requests, keys=wakes.lost_claim_to_cluster)],
    )
    warm = Controller(
        "warm-clusters",
        WarmClusters(manager, seen, home=home),
        [
            Source(store=seen.purposes),
            Source(store=seen.clusters, keys=cluster_to_purposes(seen)),
            *(Source(store=store, keys=rules_to_purposes(seen)) for store in (seen.profiles, seen.equivalences)),
        ],
    )
    for controller in (requests, stale, warm):
        manager.add(controller)

    def wake_for_seat() -> None:
        for key in seen.waiting_for(WaitsFor.SEATS):
            requests.enqueue(key)

    seen.seat_fell_free = wake_for_seat

    def configure(new: Configuration) -> None:
        seen.configure(new)
        for request in seen.requests:  # those, too, that were not ours before
            if request.status is None or request.status.phase != RequestPhase.GRANTED:
                requests.enqueue(key_of(request))
        for name in seen.catalogue.purposes:
            warm.enqueue(purpose_key(name))

    return configure
