"""The granting side on a manager: what wakes it, and what it may do on the platform."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.conditions import READY, found
from mooring.api.marks import GRANT_FINALIZER
from mooring.api.requests import ClusterRequest
from mooring.entry.creators import DENIALS
from mooring.entry.creators import RIGHTS as JUDGING_RIGHTS
from mooring.entry.entrants import ENTRANT_LABEL
from mooring.kube import Bare, Change, ObjectKey, key_of
from mooring.providers.sdk.granting.keeping import Keeper
from mooring.providers.sdk.granting.leaving import Leaver
from mooring.providers.sdk.granting.making import Maker
from mooring.providers.sdk.granting.reconciler import Granter
from mooring.providers.sdk.granting.seen import AccessSeen
from mooring.providers.sdk.granting.sweeping import Sweeper
from mooring.providers.sdk.granting.targets import Targets
from mooring.providers.sdk.granting.trust import Trust
from mooring.providers.sdk.seen import Seen
from mooring.runtime import Controller, Manager, Source
from mooring.runtime.predicates import annotations_changed, any_of, asked_for, labels_changed

WORKERS: Final = 64

_API, _REQUESTS = AccessRequest.API, ClusterRequest.API
RIGHTS: Final[list[dict[str, Any]]] = [
    {"apiGroups": [_API.group], "resources": [_API.plural], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [_API.group], "resources": [f"{_API.plural}/status"], "verbs": ["patch"]},
    {"apiGroups": [_REQUESTS.group], "resources": [_REQUESTS.plural], "verbs": ["get"]},
    # Kubeconfigs are put beside the requests, wherever these are. Whoever may renew them may read them.
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
    # The uid of this namespace tells installations apart.
    {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"]},
    *JUDGING_RIGHTS,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Granting:
    """What others need of it."""

    sweeper: Sweeper
    leaver: Leaver


def add_granting(manager: Manager, sdk: Seen) -> Granting:
    """Answer the AccessRequests for clusters of one instance of a provider."""
    seen = AccessSeen(manager, sdk)
    targets = Targets(sdk, manager.clock)
    trust = Trust(seen, lambda key: controller.enqueue(key))
    keeper = Keeper(manager.client, seen)
    granter = Granter(manager, seen, keeper, Maker(targets, sdk.name), trust)
    wakes = _Wakes(seen)
    controller = Controller(
        f"{sdk.name}-access",
        granter,
        [
            Source(store=seen.requests, when=wakes.request_asks),
            Source(store=seen.secrets, keys=wakes.secret_to_requests),
            Source(store=sdk.clusters, keys=wakes.cluster_to_requests),
            Source(store=sdk.profiles, keys=wakes.profile_to_requests),
        ],
        workers=WORKERS,
    )
    manager.add(controller)
    sweeper = Sweeper(manager.clock, seen, keeper, targets, granter, trust, controller.enqueue)
    manager.background(sweeper.run)

    async def leave() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await targets.close()

    manager.background(leave)
    return Granting(sweeper=sweeper, leaver=Leaver(manager.clock, seen, targets, granter))


class _Wakes:
    """What is worth a look at an access request."""

    def __init__(self, seen: AccessSeen) -> None:
        self._seen = seen

    def request_asks(self, change: Change[AccessRequest]) -> bool:
        asks = any_of(asked_for, labels_changed, annotations_changed, _was_let_go, _status_lost, _was_denied)
        return asks(change)

    def secret_to_requests(self, change: Change[Bare]) -> Iterable[ObjectKey]:
        """A Secret that is gone, or that somebody has laid a hand on."""
        before, after = change.before, change.after
        if before is None:
            return ()
        uids = {one.metadata.labels.get(ENTRANT_LABEL, "") for one in (before, after) if one is not None}
        return [key_of(one) for uid in uids for one in self._seen.of_uid(uid)]

    def cluster_to_requests(self, change: Change[Cluster]) -> Iterable[ObjectKey]:
        before, after = change.before, change.after
        if before is not None and after is not None and _looks(before) == _looks(after):
            return ()
        return [key_of(one) for one in self._seen.by_cluster(change.key)]

    def profile_to_requests(self, change: Change[ClusterProfile]) -> Iterable[ObjectKey]:
        before, after = change.before, change.after
        if before is not None and after is not None and before.spec == after.spec:
            return ()
        clusters = self._seen.clusters.keys_by("profile", change.key.name)
        return [key_of(one) for cluster in clusters for one in self._seen.by_cluster(cluster)]


def _looks(cluster: Cluster) -> object:
    """What a grant depends on: whether it can be entered, where, and who holds it."""
    status, metadata = cluster.status, cluster.metadata
    ready = found(status.conditions, READY) if status is not None else None
    address = status.api_server if status is not None else ""
    return metadata.uid, metadata.finalizers, metadata.deleting, address, ready.status if ready is not None else None


def _status_lost(change: Change[AccessRequest]) -> bool:
    before, after = change.before, change.after
    return before is not None and after is not None and before.status is not None and after.status is None


def _was_denied(change: Change[AccessRequest]) -> bool:
    """Whoever prepares requests has found that the creator may not enter any more, and the door is still open."""
    before, after = change.before, change.after
    return _denial(after) in DENIALS and _denial(before) != _denial(after) and after is not None and _is_held(after)


def _denial(request: AccessRequest | None) -> str:
    return request.status.reason if request is not None and request.status is not None else ""


def _was_let_go(change: Change[AccessRequest]) -> bool:
    """Somebody has taken our finalizer away."""
    before, after = change.before, change.after
    return before is not None and after is not None and _is_held(before) and not _is_held(after)


def _is_held(request: AccessRequest) -> bool:
    return GRANT_FINALIZER in request.metadata.finalizers
