"""Kyma's face on a manager: its controllers, and what they may do."""

from __future__ import annotations

from typing import Any, Final

from mooring.api.access import AccessRequest
from mooring.api.kyma import KubeconfigRequest
from mooring.kyma.kubeconfigs.reconciler import KubeconfigReconciler
from mooring.kyma.kubeconfigs.seen import Seen
from mooring.kyma.kubeconfigs.wakes import Wakes, request_asks
from mooring.runtime import Controller, Manager, Source

WORKERS: Final = 32

_OURS, _ACCESS = KubeconfigRequest.API, AccessRequest.API
# What the face does to objects, for the operator's role; it reads all our kinds anyhow.
RIGHTS: Final[list[dict[str, Any]]] = [
    {"apiGroups": [_OURS.group], "resources": [_OURS.plural, f"{_OURS.plural}/status"], "verbs": ["patch"]},
    # Some servers want this of whoever makes an object that its owner waits for.
    {"apiGroups": [_OURS.group], "resources": [f"{_OURS.plural}/finalizers"], "verbs": ["update"]},
    {"apiGroups": [_ACCESS.group], "resources": [_ACCESS.plural], "verbs": ["create", "patch"]},
    # Kubeconfigs are copied from where providers put them, and beside the requests if these want it.
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
]


def add_kyma(manager: Manager) -> None:
    """Add the controller that answers KubeconfigRequests."""
    seen = Seen(manager)
    wakes = Wakes(seen)
    manager.add(
        Controller(
            "kyma-kubeconfigs",
            KubeconfigReconciler(manager, seen),
            [
                Source(store=seen.requests, when=request_asks),
                Source(store=seen.access, keys=wakes.access_to_request),
                Source(store=seen.credentials, keys=wakes.credentials_to_request),
                Source(store=seen.copies, keys=wakes.copy_to_request),
            ],
            workers=WORKERS,
        )
    )
