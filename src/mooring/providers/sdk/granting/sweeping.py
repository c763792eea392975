"""A look into each cluster now and then: doors that somebody has damaged, and what nobody remembers.

Doors are not watched: a watch for each kind in each cluster would cost more than all the rest. The look costs a few
lists for each cluster, however many requests enter it.
"""

from __future__ import annotations

import asyncio
import datetime
import random
from collections.abc import Callable, Collection, Mapping
from typing import Final

import structlog

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.conditions import READY, is_true
from mooring.api.marks import GRANT_FINALIZER
from mooring.entry.entrants import ACCOUNTS, INSTALLATION_LABEL
from mooring.entry.opening import Part, Unsettled, is_whole, parts_selected, remove
from mooring.entry.resources import SECRETS
from mooring.entry.tokens import retire
from mooring.kube import Client, KubeError, Object, ObjectKey, key_of
from mooring.providers.sdk.asking import ProviderFailed
from mooring.providers.sdk.granting.keeping import Keeper
from mooring.providers.sdk.granting.making import door_of
from mooring.providers.sdk.granting.reasons import Answered
from mooring.providers.sdk.granting.reconciler import Granter
from mooring.providers.sdk.granting.seen import AccessSeen, by_entrant, entrant_in, request_in
from mooring.providers.sdk.granting.targets import Targets
from mooring.providers.sdk.granting.translations import in_its_words, wants_translation
from mooring.providers.sdk.granting.trust import Trust
from mooring.providers.sdk.provider import Refused
from mooring.runtime import Clock, TryAgain

log = structlog.get_logger(__name__)

PERIOD: Final = 600.0  # seconds between two looks at the same cluster
# Clusters that nobody enters are looked into in each so many rounds: something may be left of who did.
_RARELY: Final = 6
_AT_ONCE: Final = 8
# A token that was issued a moment ago, by whoever was here before us, may be recorded a moment later.
_YOUNG: Final = 600.0


class Sweeper:
    """For one instance of a provider."""

    def __init__(
        self,
        clock: Clock,
        seen: AccessSeen,
        keeper: Keeper,
        targets: Targets,
        granter: Granter,
        trust: Trust,
        wake: Callable[[ObjectKey], None],
    ) -> None:
        self._clock = clock
        self._seen = seen
        self._keeper = keeper
        self._targets = targets
        self._granter = granter
        self._trust = trust
        self._wake = wake
        self._rounds = 0

    async def run(self) -> None:
        while True:
            await self._clock.sleep(PERIOD * random.uniform(0.9, 1.1))  # noqa: S311
            await self.sweep()

    async def sweep(self) -> None:
        """Look into all clusters of ours, a few at a time: one that does not answer takes its time."""
        thorough = self._rounds % _RARELY == 0
        self._rounds += 1
        clusters = iter([one for one in self._seen.clusters if self._is_looked_into(one, thorough=thorough)])

        async def work() -> None:
            for cluster in clusters:
                try:
                    await self.look(cluster)
                except (KubeError, Refused, ProviderFailed, TryAgain, Unsettled, Answered) as error:
                    log.info("a cluster could not be looked into", cluster=str(key_of(cluster)), reason=str(error))

        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))

    def _is_looked_into(self, cluster: Cluster, *, thorough: bool) -> bool:
        if cluster.metadata.deleting or cluster.status is None or not is_true(cluster.status.conditions, READY):
            return False
        return thorough or bool(self._seen.by_cluster(key_of(cluster)))

    async def look(self, cluster: Cluster) -> None:
        """Put right, or have put right, what is not as it should be in one cluster."""
        profile = self._seen.sdk.profile_of(cluster)
        if profile is None:
            return
        selector = f"{INSTALLATION_LABEL}={await self._seen.installation()}"
        async with self._targets.entered(cluster, profile) as target:
            # Parts last: a door that is made meanwhile is then seen whole, or is under way.
            secrets = (await target.list(SECRETS, namespace=ACCOUNTS, label_selector=selector)).items
            parts = await parts_selected(target, selector)
            await self._tend_doors(target, cluster, parts, [one["metadata"]["name"] for one in secrets])
            await self._tend_tokens(target, secrets)
        # Also if nobody asks for any: somebody may have, whom a hand removed.
        await self._trust.look_again(cluster, profile)

    async def _tend_doors(
        self, target: Client, cluster: Cluster, parts: Mapping[Part, Object], issues: Collection[str]
    ) -> None:
        doors = by_entrant(parts)
        accounts = {one["metadata"]["uid"] for (kind, _), one in parts.items() if kind == "ServiceAccount"}
        known = {one.metadata.uid: one for one in self._seen.by_cluster(key_of(cluster))}
        for uid, request in known.items():
            door = doors.get(uid, {})
            if self._is_disowned(request, door) or await self._is_damaged(request, door, accounts, issues):
                self._granter.suspects.add(uid)
                self._wake(key_of(request))
        for uid in doors.keys() - known.keys():
            if await self._is_forgotten(next(iter(doors[uid].values()))):
                await remove(target, doors[uid])

    def _is_disowned(self, request: AccessRequest, parts: Mapping[Part, Object]) -> bool:
        """Whether there is a door that the request does not own up to: somebody took our finalizer away."""
        is_under_way = request.metadata.uid in self._granter.under_way
        return bool(parts) and GRANT_FINALIZER not in request.metadata.finalizers and not is_under_way

    async def _is_damaged(
        self, request: AccessRequest, parts: Mapping[Part, Object], accounts: Collection[str], issues: Collection[str]
    ) -> bool:
        """Whether what is in the cluster is not what a granted request should have there.

        ``accounts`` are the uids of the accounts there, ``issues`` the names of what tokens live with.
        """
        entrant = await self._seen.entrant(request)
        translated = self._granter.translator.remembered(request)
        if translated is None and wants_translation(request):
            return False  # nobody has asked the cluster yet what is meant
        record, (door, _) = self._keeper.record(request, entrant), door_of(in_its_words(request, translated), entrant)
        if request.metadata.deleting or record is None or door is None or entrant.uid in self._granter.under_way:
            return False
        has_account = not record.account or record.account in accounts
        is_dead = bool(record.issue) and not (record.issue in issues and has_account)
        return is_dead or not is_whole(door, parts)

    async def _tend_tokens(self, target: Client, secrets: list[Object]) -> None:
        for one in secrets:
            uid, name = entrant_in(one), one["metadata"]["name"]
            if uid in self._granter.under_way:
                continue
            request = next(iter(self._seen.of_uid(uid)), None)
            if request is not None:
                record = self._keeper.record(request, await self._seen.entrant(request))
                left_over = (record is None or name not in record.issues) and not self._is_young(one)
            else:
                left_over = await self._is_forgotten(one)
            if left_over:
                await retire(target, ACCOUNTS, name)

    async def _is_forgotten(self, one: Object) -> bool:
        key, uid = request_in(one), entrant_in(one)
        return bool(uid) and key is not None and await self._seen.is_forgotten(uid, key)

    def _is_young(self, one: Object) -> bool:
        """By the cluster's clock and ours: they may differ, so one from the future is not young for ever."""
        born = datetime.datetime.fromisoformat(one["metadata"]["creationTimestamp"])
        return abs((self._clock.now() - born).total_seconds()) < _YOUNG
