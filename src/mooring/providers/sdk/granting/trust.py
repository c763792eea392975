"""Which identity providers a cluster is to trust: those of all requests that it has granted, told to its provider.

Guarantees:
    The provider always hears the whole list, so that one that nobody asks for any more is forgotten without any memory.
    What is remembered here only spares questions.
    Whoever comes later cannot pass for a user of one who was there before: names of users and groups that two identity
    providers give never begin alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakValueDictionary

from mooring.api.access import AccessRequest, OidcAccess
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import CREATOR_ANNOTATION, GRANT_FINALIZER, OPERATION_ANNOTATION, OPERATION_REVOKE
from mooring.entry.doors import groups_prefix, username_prefix
from mooring.entry.opening import together
from mooring.kube import ObjectKey, key_of
from mooring.providers.sdk.asking import ProviderFailed, asked
from mooring.providers.sdk.granting.making import Visit
from mooring.providers.sdk.granting.reasons import Answered, Reason
from mooring.providers.sdk.granting.seen import AccessSeen
from mooring.providers.sdk.ordering import last_order_of
from mooring.providers.sdk.provider import Issuer, Refused
from mooring.providers.sdk.status import version_in
from mooring.runtime import TryAgain

# What begins so is kept for the servers' and for our own programs.
_OWN: Final = {"system:": "Kubernetes", "mooring:": "Mooring"}


@dataclass(frozen=True, slots=True)
class _Told:
    """What a provider was last told, when, and by address why one was not trusted yet."""

    issuers: Sequence[Issuer]
    troubles: Mapping[str, str]
    begun: float

    def answers(self, issuers: Sequence[Issuer], url: str, *, since: float) -> bool:
        """Whether there is no need to ask again: it was trusted, or somebody has asked since.

        So many who wait for issuers that do not answer hold up nobody for longer than one of them.
        """
        return list(self.issuers) == list(issuers) and (url not in self.troubles or self.begun >= since)


class Trust:
    """For one instance of a provider. ``wake`` hears of requests whose identity provider is trusted no longer."""

    def __init__(self, seen: AccessSeen, wake: Callable[[ObjectKey], None]) -> None:
        self._seen = seen
        self._wake = wake
        # One list at a time for each cluster, or an older one could come last.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._told: dict[str, _Told] = {}  # by the cluster's uid
        self._known: dict[str, str] = {}  # by the uid of a request: its creator, who may enter, as of the last look
        self._leaving: set[str] = set()  # uids of requests that were taken back, and may not be let go of yet

    async def establish(self, visit: Visit) -> None:
        """Have the request's identity provider trusted; returns when it is. Costs nothing while it is."""
        if visit.request.spec.oidc is None:
            await self._forget_former(visit)
        else:
            self._leaving.discard(visit.request.metadata.uid)
            await self._establish(visit, issuer_of(visit.request.spec.oidc))

    async def _establish(self, visit: Visit, mine: Issuer) -> None:
        come = _now()
        async with self._turn(visit.cluster):
            others = await self._requests(visit.cluster, visit.profile, but=visit.request.metadata.uid)
            issuers = accepted([*others, visit.request])
            why = clash(mine, issuers)
            told = self._told.get(visit.cluster.metadata.uid)
            if told is not None and told.answers(issuers, mine.url, since=come):
                troubles = told.troubles
            else:
                troubles = await self._tell(visit.cluster, visit.profile, issuers)
        if why:
            raise Answered(Reason.ISSUER, why)
        if mine.url in troubles:
            raise Answered(Reason.ISSUER, f"spec.oidc.issuer: {troubles[mine.url]}")

    async def withdraw(self, visit: Visit) -> None:
        """Have it forgotten, if nobody else asks for it; returns when it is."""
        if visit.request.spec.oidc is None:
            await self._forget_former(visit)
            return
        self._leaving = {uid for uid in self._leaving if self._seen.of_uid(uid)} | {visit.request.metadata.uid}
        await self._look(visit.cluster, visit.profile)

    async def look_again(self, cluster: Cluster, profile: ClusterProfile) -> None:
        """Have the cluster trust whom it should, whatever was true before: what creators may do, too."""
        here = {one.metadata.uid for one in self._seen.by_cluster(key_of(cluster))}
        self._known = {
            uid: creator for uid, creator in self._known.items() if uid not in here and self._seen.of_uid(uid)
        }
        await self._look(cluster, profile)

    async def _look(self, cluster: Cluster, profile: ClusterProfile) -> None:
        try:
            async with self._turn(cluster):
                await self._tell(cluster, profile, accepted(await self._requests(cluster, profile)))
        except Answered as answer:
            if not answer.denied:  # who cannot trust anybody need not forget anybody
                raise

    async def _forget_former(self, visit: Visit) -> None:
        """A request for a token may have been one for an identity provider before."""
        before = self._told.get(visit.cluster.metadata.uid)
        if before is None:
            return
        if list(before.issuers) != accepted(await self._requests(visit.cluster, visit.profile)):
            await self._look(visit.cluster, visit.profile)

    def _turn(self, cluster: Cluster) -> asyncio.Lock:
        return self._turns.setdefault(cluster.metadata.uid, asyncio.Lock())

    async def _requests(self, cluster: Cluster, profile: ClusterProfile, *, but: str = "") -> list[AccessRequest]:
        """All whose identity provider is to be trusted. Anybody can write our finalizer, so each is judged, too."""
        found = [one for one in self._seen.by_cluster(key_of(cluster)) if self._stands(one, but)]
        may = await together(*(self._may(one, cluster, profile) for one in found))
        return [one for one, is_allowed in zip(found, may, strict=True) if is_allowed]

    async def _may(self, request: AccessRequest, cluster: Cluster, profile: ClusterProfile) -> bool:
        """Whether it may enter. What its creator may do is asked once, and again when somebody looks now and then: else
        each request would cost as many questions as there are requests."""
        verdict = await self._seen.judged(request, cluster, profile)
        if not verdict.ask_creator:
            return verdict.allowed
        uid, creator = request.metadata.uid, request.metadata.annotations.get(CREATOR_ANNOTATION, "")
        if self._known.get(uid) == creator:
            return True
        if not (await self._seen.creators_say(request, cluster)).allowed:
            self._wake(key_of(request))  # to close its door, if there is one
            return False
        self._known[uid] = creator
        return True

    def _stands(self, request: AccessRequest, but: str) -> bool:
        """Whether it was granted, or nearly: our finalizer is there, and nobody has taken access back."""
        metadata = request.metadata
        return (
            request.spec.oidc is not None
            and metadata.uid != but
            and metadata.uid not in self._leaving
            and not metadata.deleting
            and GRANT_FINALIZER in metadata.finalizers
            and metadata.annotations.get(OPERATION_ANNOTATION) != OPERATION_REVOKE
        )

    async def _tell(self, cluster: Cluster, profile: ClusterProfile, issuers: list[Issuer]) -> Mapping[str, str]:
        """Gives, by address, why one of them is not trusted yet."""
        provider: Any = self._seen.sdk.provider
        begun, before = _now(), self._told.pop(cluster.metadata.uid, None)
        try:
            order = last_order_of(cluster, profile, self._seen.sdk, running=version_in(cluster.metadata))
            troubles = dict(await asked(provider, provider.oidc(order, issuers)))
        except Refused as error:
            raise Answered(Reason.NO_OIDC, str(error), denied=True) from None
        except (ProviderFailed, TryAgain) as error:
            raise Answered(Reason.CANNOT_ENTER, str(error)) from None
        found = {one.url: troubles[one.name] for one in issuers if one.name in troubles}
        if issuers:
            self._told[cluster.metadata.uid] = _Told(issuers, found, begun)
        # Those that were in trouble before come again by themselves.
        self._alarm(cluster, found.keys() - (before.troubles.keys() if before is not None else set()))
        return found

    def _alarm(self, cluster: Cluster, addresses: Iterable[str]) -> None:
        """Some may be resting that were trusted until now."""
        for one in self._seen.by_cluster(key_of(cluster)) if addresses else ():
            if one.spec.oidc is not None and one.spec.oidc.issuer in addresses:
                self._wake(key_of(one))


def _now() -> float:
    return asyncio.get_running_loop().time()


def accepted(requests: Iterable[AccessRequest]) -> list[Issuer]:
    """The identity providers of these requests; of two that cannot be trusted together, the older request's."""
    found: list[Issuer] = []
    for one in sorted(requests, key=lambda one: (one.metadata.creation_timestamp, one.metadata.uid)):
        issuer = issuer_of(one.spec.oidc) if one.spec.oidc is not None else None
        if issuer is not None and not clash(issuer, found) and all(other.url != issuer.url for other in found):
            found.append(issuer)
    return found


def clash(mine: Issuer, others: Iterable[Issuer]) -> str:
    """Why an identity provider cannot be trusted beside the others; empty if it can."""
    for field, prefix in (("usernamePrefix", mine.username_prefix), ("groupsPrefix", mine.groups_prefix)):
        for own, keeper in _OWN.items():
            if prefix.startswith(own):
                return f"spec.oidc.{field} may not begin with '{own}', which {keeper} keeps for itself."
    for other in others:
        if other.url == mine.url:
            if replace(other, name=mine.name) != mine:
                return (
                    f"spec.oidc: another request has this cluster trust {mine.url} already, with another client, other "
                    f"claims or other prefixes; use the same, or another issuer."
                )
        elif other.name == mine.name:
            return f"spec.oidc.name: another identity provider that this cluster trusts is called {mine.name}."
        elif _alike(mine.username_prefix, other.username_prefix) or _alike(mine.groups_prefix, other.groups_prefix):
            return (
                "spec.oidc: with these prefixes, names of its users or groups could be those of another identity "
                "provider that this cluster trusts; choose others (usernamePrefix, groupsPrefix)."
            )
    return ""


def _alike(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def issuer_of(wish: OidcAccess) -> Issuer:
    return Issuer(
        name=wish.name,
        url=wish.issuer,
        client_id=wish.client_id,
        username_claim=wish.username_claim or "sub",
        username_prefix=username_prefix(wish),
        groups_claim=wish.groups_claim or "groups",
        groups_prefix=groups_prefix(wish),
    )
