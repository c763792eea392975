"""Preparation on a manager: its controller, what wakes it, and what it may do."""

from __future__ import annotations

from typing import Any

from mooring.access.reconciler import AccessReconciler
from mooring.access.seen import Seen
from mooring.access.wakes import Wakes, access_asks
from mooring.api.kinds import CLUSTERS_GROUP
from mooring.entry.creators import RIGHTS as JUDGING_RIGHTS
from mooring.runtime import Controller, Manager, Source

WORKERS = 32

# What preparation does to objects, for the operator's role; it reads all kinds anyhow.
RIGHTS: list[dict[str, Any]] = [
    {"apiGroups": [CLUSTERS_GROUP], "resources": ["accessrequests"], "verbs": ["patch", "delete"]},
    {"apiGroups": [CLUSTERS_GROUP], "resources": ["accessrequests/status"], "verbs": ["patch"]},
    *JUDGING_RIGHTS,
]


def add_access(manager: Manager) -> None:
    """Add the controller that prepares access requests."""
    seen = Seen(manager)
    wakes = Wakes(seen)
    manager.add(
        Controller(
            "access",
            AccessReconciler(manager, seen),
            [
                Source(store=seen.access, when=access_asks),
                Source(store=seen.clusters, keys=wakes.cluster_to_access),
                Source(store=seen.profiles, keys=wakes.profile_to_access),
                Source(store=seen.providers, keys=wakes.provider_to_access),
                Source(store=seen.requests, keys=wakes.request_to_access),
                Source(store=seen.grants, keys=wakes.grant_to_access),
            ],
            workers=WORKERS,
        )
    )
