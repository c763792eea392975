"""A look into each cluster now and then: doors that somebody has damaged, and what nobody remembers.

Doors are not watched: a watch for each kind in each cluster would cost more than all the rest. The look costs a few
lists for each cluster, however many requests enter it.
"""

from __future__ import annotations

import datetime
import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.conditions import READY, is_true
from mooring.entry.entrants import ACCOUNTS, ENTRANT_LABEL, INSTALLATION_LABEL, REQUEST_ANNOTATION
from mooring.entry.looking import parts_selected
from mooring.entry.opening import Part, remove
from mooring.entry.resources import SECRETS
from mooring.entry.tokens import retire
from mooring.kube import Client, KubeError, Object, ObjectKey, key_of, typed
from mooring.kube.errors import NotFound
from mooring.providers.sdk.asking import ProviderFailed
from mooring.providers.sdk.granting.reconciler import Granter
from mooring.providers.sdk.granting.seen import AccessSeen
from mooring.providers.sdk.granting.targets import Targets
from mooring.providers.sdk.provider import Refused
from mooring.runtime import Clock

log = structlog.get_logger(__name__)

PERIOD: Final = 600.0  # seconds between two looks at the same cluster
# A token that was issued a moment ago may be recorded a moment later.
_YOUNG: Final = 600.0


class Sweeper:
    """For one instance of a provider."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        seen: AccessSeen,
        targets: Targets,
        granter: Granter,
        wake: Callable[[ObjectKey], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._seen = seen
        self._targets = targets
        self._granter = granter
        self._wake = wake

    async def run(self) -> None:
        while True:
            await self._clock.sleep(PERIOD * random.uniform(0.9, 1.1))  # noqa: S311
            await self.sweep()

    async def sweep(self) -> None:
        """Look into all clusters that somebody may enter, one after the other."""
        for cluster in list(self._seen.clusters):
            if not cluster.metadata.deleting and self._seen.by_cluster(key_of(cluster)) and _is_ready(cluster):
                try:
                    await self.look(cluster)
                except (KubeError, Refused, ProviderFailed) as error:
                    log.info("a cluster could not be looked into", cluster=str(key_of(cluster)), reason=str(error))

    async def look(self, cluster: Cluster) -> None:
        """Put right, or have put right, what is not as it should be in one cluster."""
        profile = self._seen.sdk.profile_of(cluster)
        if profile is None:
            return
        installation = await self._seen.installation()
        selector = f"{INSTALLATION_LABEL}={installation}"
        async with self._targets.entered(cluster, profile) as target:
            parts = await parts_selected(target, selector)
            secrets = (await target.list(SECRETS, namespace=ACCOUNTS, label_selector=selector)).items
            await self._tend_doors(target, cluster, parts)
            await self._tend_tokens(target, secrets)

    async def _tend_doors(self, target: Client, cluster: Cluster, parts: Mapping[Part, Object]) -> None:
        doors: dict[str, dict[Part, Object]] = defaultdict(dict)
        for part, one in parts.items():
            doors[_entrant_in(one)][part] = one
        known = {one.metadata.uid: one for one in self._seen.by_cluster(key_of(cluster))}
        for uid, request in known.items():
            if await self._granter.is_damaged(request, doors.get(uid, {})):
                self._granter.suspects.add(uid)
                self._wake(key_of(request))
        for uid in doors.keys() - known.keys():
            if await self._is_forgotten(uid, next(iter(doors[uid].values()))):
                await remove(target, doors[uid])

    async def _tend_tokens(self, target: Client, secrets: list[Object]) -> None:
        for one in secrets:
            request = next(iter(self._seen.of_uid(_entrant_in(one))), None)
            if request is not None:
                left_over = one["metadata"]["name"] not in self._granter.issues_of(request) and self._is_old(one)
            else:
                left_over = await self._is_forgotten(_entrant_in(one), one)
            if left_over:
                await retire(target, ACCOUNTS, one["metadata"]["name"])

    async def _is_forgotten(self, uid: str, one: Object) -> bool:
        """Whether its request is gone: asked of the server, because absence in a store is no evidence."""
        namespace, _, name = (one["metadata"].get("annotations") or {}).get(REQUEST_ANNOTATION, "").partition("/")
        if not uid or not namespace or not name:
            return False
        try:
            found = await self._client.get(typed(AccessRequest), name, namespace=namespace)
        except NotFound:
            return True
        return found.metadata.uid != uid

    def _is_old(self, one: Object) -> bool:
        born = datetime.datetime.fromisoformat(one["metadata"]["creationTimestamp"])
        return (self._clock.now() - born).total_seconds() > _YOUNG


def _entrant_in(one: Object) -> str:
    return str((one["metadata"].get("labels") or {}).get(ENTRANT_LABEL, ""))


def _is_ready(cluster: Cluster) -> bool:
    return cluster.status is not None and is_true(cluster.status.conditions, READY)
