"""Clusters that outlive their deletion, because others own them: everything of ours is taken out before we let go."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from typing import Final

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.entry.entrants import ACCOUNTS, INSTALLATION_LABEL
from mooring.entry.opening import Unsettled, parts_selected, remove, together
from mooring.entry.policies import cluster_named
from mooring.entry.resources import SECRETS
from mooring.entry.tokens import retire
from mooring.kube import Client, KubeError, Object, key_of
from mooring.providers.sdk.asking import ProviderFailed
from mooring.providers.sdk.granting.reconciler import Granter
from mooring.providers.sdk.granting.seen import AccessSeen, by_entrant, entrant_in, request_in
from mooring.providers.sdk.granting.targets import Targets
from mooring.providers.sdk.provider import Refused
from mooring.runtime import Clock, TryAgain

# Seconds after which a cluster is let go that cannot be entered any more: its owner may have shut us out.
PATIENCE: Final = 600.0


class StillThere(Exception):
    """Something of ours may be in the cluster. ``given_up``: and it stays there."""

    def __init__(self, message: str, *, given_up: bool) -> None:
        super().__init__(message)
        self.given_up = given_up


class Leaver:
    """For one instance of a provider."""

    def __init__(self, clock: Clock, seen: AccessSeen, targets: Targets, granter: Granter) -> None:
        self._clock = clock
        self._seen = seen
        self._targets = targets
        self._granter = granter

    async def leave(self, cluster: Cluster, profile: ClusterProfile) -> None:
        """Take everything out of a cluster that is being deleted; :class:`StillThere` if that cannot be done."""
        requests = self._seen.by_cluster(key_of(cluster))
        if any(one.metadata.uid in self._granter.under_way for one in requests):
            raise StillThere("A door into the cluster is just being opened.", given_up=False)
        try:
            async with self._targets.entered(cluster, profile) as target:
                await self._clear(target, cluster)
        except (KubeError, Refused, ProviderFailed, Unsettled, TryAgain) as error:
            if requests:  # else hardly anything can be there, and it is not worth waiting for
                raise self._still_there(cluster, str(error), count=len(requests)) from None

    async def _clear(self, target: Client, cluster: Cluster) -> None:
        selector = f"{INSTALLATION_LABEL}={await self._seen.installation()}"
        secrets = (await target.list(SECRETS, namespace=ACCOUNTS, label_selector=selector)).items
        doors = by_entrant(await parts_selected(target, selector))
        samples = {entrant_in(one): one for one in secrets}
        samples |= {uid: next(iter(parts.values())) for uid, parts in doors.items()}
        gone = {uid for uid, one in samples.items() if await self._is_of(uid, one, cluster)}
        await _retired(target, [one for one in secrets if entrant_in(one) in gone])
        for uid in doors.keys() & gone:
            await remove(target, doors[uid])

    async def _is_of(self, uid: str, one: Object, cluster: Cluster) -> bool:
        """Whether a door leads in by this Cluster, or nobody knows it: two Clusters may stand for the same one."""
        request = next(iter(self._seen.of_uid(uid)), None)
        if request is not None:
            return cluster_named(request) == key_of(cluster)
        key = request_in(one)
        return key is not None and await self._seen.is_forgotten(uid, key)

    def _still_there(self, cluster: Cluster, why: str, *, count: int) -> StillThere:
        status = cluster.status
        where = (status.api_server if status is not None else "") or "the cluster"
        since = datetime.datetime.fromisoformat(cluster.metadata.deletion_timestamp)
        given_up = (self._clock.now() - since).total_seconds() > PATIENCE
        left = (
            f"accounts, roles and bindings with the label {INSTALLATION_LABEL} at {where}, and Secrets with it in the "
            f"namespace {ACCOUNTS} there ({count} access requests name this cluster)"
        )
        if given_up:
            return StillThere(f"Left behind, because the cluster cannot be entered: {left}. {why}", given_up=True)
        return StillThere(f"The cluster cannot be entered to remove {left}; tried again. {why}", given_up=False)


async def _retired(target: Client, secrets: Collection[Object]) -> None:
    await together(*(retire(target, ACCOUNTS, one["metadata"]["name"]) for one in secrets))
