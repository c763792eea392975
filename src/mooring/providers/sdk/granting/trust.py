"""Which identity providers a cluster is to trust: those of all requests that it has granted, told to its provider.

The provider always hears the whole list, so that one that nobody asks for any more is forgotten without any memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

from mooring.api.access import AccessRequest, OidcAccess
from mooring.api.clusters import Cluster
from mooring.api.marks import GRANT_FINALIZER, OPERATION_ANNOTATION, OPERATION_REVOKE
from mooring.entry.doors import groups_prefix, username_prefix
from mooring.kube import key_of
from mooring.providers.sdk.access import responsible_for
from mooring.providers.sdk.asking import ProviderFailed, asked
from mooring.providers.sdk.granting.making import Visit
from mooring.providers.sdk.granting.reasons import Answered, Reason
from mooring.providers.sdk.granting.seen import AccessSeen
from mooring.providers.sdk.ordering import last_order_of
from mooring.providers.sdk.provider import Issuer, Refused
from mooring.providers.sdk.status import version_in


class Trust:
    """For one instance of a provider."""

    def __init__(self, seen: AccessSeen) -> None:
        self._seen = seen
        # One list at a time for each cluster, or an older one could come last.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def establish(self, visit: Visit) -> None:
        """Have the request's identity provider trusted; returns when it is."""
        wish = visit.request.spec.oidc
        if wish is None:
            return
        issuers = dict(self._wanted(visit.cluster))
        mine = issuer_of(wish)
        winner = issuers.setdefault(mine.url, mine)
        if winner != mine:
            raise Answered(
                Reason.ISSUER,
                f"spec.oidc: another request has this cluster trust {mine.url} already, with other settings; "
                f"use the same, or another issuer.",
            )
        troubles = await self._tell(visit, list(issuers.values()))
        if mine.name in troubles:
            raise Answered(Reason.ISSUER, f"spec.oidc.issuer: {troubles[mine.name]}")

    async def withdraw(self, visit: Visit) -> None:
        """Have it forgotten, if nobody else asks for it."""
        issuers = dict(self._wanted(visit.cluster, but=visit.request.metadata.uid))
        try:
            await self._tell(visit, list(issuers.values()))
        except Answered as answer:
            if not answer.denied:  # who cannot trust anybody need not forget anybody
                raise

    def _wanted(self, cluster: Cluster, *, but: str = "") -> Iterator[tuple[str, Issuer]]:
        """By address; of two requests with one address, the older one counts."""
        requests = [one for one in self._seen.by_cluster(key_of(cluster)) if self._counts(one, cluster, but)]
        requests.sort(key=lambda one: (one.metadata.creation_timestamp, one.metadata.uid), reverse=True)
        for one in requests:
            if one.spec.oidc is not None:
                yield one.spec.oidc.issuer, issuer_of(one.spec.oidc)

    def _counts(self, request: AccessRequest, cluster: Cluster, but: str) -> bool:
        """Whether it was granted, or nearly: its finalizer is there, and nobody has taken access back."""
        metadata = request.metadata
        return (
            metadata.uid != but
            and request.spec.oidc is not None
            and not metadata.deleting
            and GRANT_FINALIZER in metadata.finalizers
            and metadata.annotations.get(OPERATION_ANNOTATION) != OPERATION_REVOKE
            and responsible_for(request, self._seen.sdk.name, profile=cluster.spec.profile)
        )

    async def _tell(self, visit: Visit, issuers: list[Issuer]) -> dict[str, str]:
        provider: Any = self._seen.sdk.provider
        cluster = visit.cluster
        turn = self._turns.setdefault(cluster.metadata.uid, asyncio.Lock())
        async with turn:
            try:
                order = last_order_of(cluster, visit.profile, self._seen.sdk, running=version_in(cluster.metadata))
                return dict(await asked(provider, provider.oidc(order, issuers)))
            except Refused as error:
                raise Answered(Reason.NO_OIDC, str(error), denied=True) from None
            except ProviderFailed as error:
                raise Answered(Reason.CANNOT_ENTER, str(error)) from None


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
