"""The steps of a grant inside the cluster: the door, the trust that it needs, and a token for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.entry.closing import close
from mooring.entry.doors import Door, Unfit, oidc_door, token_door
from mooring.entry.entrants import ACCOUNTS, Entrant
from mooring.entry.kubeconfigs import oidc_kubeconfig, token_kubeconfig
from mooring.entry.opening import NamespaceMissing, NotOurs, Unsettled, make, mend, together, withdraw
from mooring.entry.renewing import GRACE
from mooring.entry.resources import ACCOUNTS as ACCOUNT_KIND
from mooring.entry.resources import SECRETS
from mooring.entry.tokens import Issued, issue, retire, retire_all_but
from mooring.kube import Client, KubeError, ObjectKey, key_of
from mooring.kube.errors import BadRequest, Invalid, InvalidName, NotFound
from mooring.providers.sdk.asking import ProviderFailed
from mooring.providers.sdk.granting.claims import account_in
from mooring.providers.sdk.granting.plan import Open, address_of, lifetime_of
from mooring.providers.sdk.granting.reasons import Answered, Reason
from mooring.providers.sdk.granting.records import Record
from mooring.providers.sdk.granting.targets import Targets
from mooring.providers.sdk.provider import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request, and where it leads."""

    request: AccessRequest
    cluster: Cluster
    profile: ClusterProfile

    @property
    def key(self) -> ObjectKey:
        return key_of(self.request)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What there is to be written down; without a kubeconfig, the one that is there stays right."""

    record: Record
    kubeconfig: dict[str, Any] | None = field(repr=False)


def door_of(request: AccessRequest, entrant: Entrant) -> tuple[Door | None, str]:
    """The door that is asked for, or why it cannot be made."""
    spec = request.spec
    try:
        if spec.token is not None:
            return token_door(entrant, spec.token), ""
        if spec.oidc is not None:
            return oidc_door(entrant, spec.oidc), ""
    except Unfit as error:
        return None, str(error)
    return None, "Exactly one of spec.token and spec.oidc must be set."


class Maker:
    """Does in clusters what was decided."""

    def __init__(self, targets: Targets, provider: str) -> None:
        self._targets = targets
        self._provider = provider

    async def open(self, step: Open, visit: Visit, door: Door, record: Record | None, *, now: float) -> Made:
        """The door as it should be, and a token if one is needed."""
        async with self.entered(visit) as target:
            if step.fresh or step.mend:
                await _put(target, door, fresh=step.fresh)
            needs_token = step.issue
            if not step.fresh and (step.mend or step.issue):
                is_dead = await _tidied(target, door, record, look_at_account=step.mend)
                needs_token |= is_dead and bool(door.account)
            issued = None
            if needs_token:
                issued = await _issued(target, door, lifetime=lifetime_of(visit.request), now=now)
                if record is not None and record.retiring:
                    # Two at a time: the one before the last has no more grace.
                    await retire(target, ACCOUNTS, record.retiring, entrant=door.entrant)
            new = _record(visit, door, record, issued, server=target.connection.server, now=now)
            return Made(record=new, kubeconfig=self._kubeconfig(visit, new, issued, target.connection.ca))

    async def retire(self, visit: Visit, entrant: Entrant, issues: Iterable[str]) -> None:
        async with self.entered(visit) as target:
            await together(*(retire(target, ACCOUNTS, one, entrant=entrant) for one in issues))

    async def withdraw(self, visit: Visit, door: Door) -> None:
        """Take away what is there and differs from the door, and tokens if it has none."""
        async with self.entered(visit) as target:
            if not door.account:
                await retire_all_but(target, ACCOUNTS, door.entrant, kept=())
            await withdraw(target, door)

    async def close(self, visit: Visit, entrant: Entrant) -> None:
        async with self.entered(visit) as target:
            await close(target, entrant)

    @contextlib.asynccontextmanager
    async def entered(self, visit: Visit) -> AsyncIterator[Client]:
        """A client in the cluster; what goes wrong there is told in words for the requester."""
        try:
            async with self._targets.entered(visit.cluster, visit.profile) as target:
                yield target
        except (Refused, ProviderFailed) as error:
            raise Answered(Reason.CANNOT_ENTER, f"The cluster cannot be entered: {error}") from None
        except (Invalid, InvalidName, BadRequest) as error:
            raise Answered(Reason.REFUSED, f"The cluster refuses what is asked for: {error}", final=True) from None
        except (KubeError, Unsettled) as error:
            raise Answered(Reason.CANNOT_ENTER, f"The cluster did not do it, and is asked again: {error}") from None

    def _kubeconfig(
        self, visit: Visit, record: Record, issued: Issued | None, ca: bytes | None
    ) -> dict[str, Any] | None:
        wish, cluster = visit.request.spec.oidc, visit.cluster.metadata
        if issued is not None:
            return token_kubeconfig(server=record.server, ca=ca, user=self._provider, token=issued.token)
        if wish is None:
            return None
        context = f"{cluster.namespace}--{cluster.name}--{wish.name}"
        return oidc_kubeconfig(server=record.server, ca=ca, wish=wish, context=context)


async def _put(target: Client, door: Door, *, fresh: bool) -> None:
    try:
        if fresh:
            await make(target, door)
        else:
            await mend(target, door)
    except NotOurs as error:
        raise Answered(Reason.NOT_OURS, str(error)) from None
    except NamespaceMissing as error:
        raise Answered(Reason.NAMESPACE_MISSING, str(error)) from None


async def _issued(target: Client, door: Door, *, lifetime: float, now: float) -> Issued:
    try:
        return await issue(target, door, accounts=ACCOUNTS, lifetime=lifetime, now=now)
    except NotFound:
        # The account is gone, or even its namespace: somebody's hand.
        await _put(target, door, fresh=False)
        return await issue(target, door, accounts=ACCOUNTS, lifetime=lifetime, now=now)


async def _tidied(target: Client, door: Door, record: Record | None, *, look_at_account: bool) -> bool:
    """Retire what nobody has written down: whoever was here before us may have been stopped after a token was issued
    and before it was recorded. Tells whether the recorded token is dead, because somebody has removed what it lives
    with."""
    kept = record.issues if record is not None and door.account else []
    listed = await target.list(SECRETS, namespace=ACCOUNTS, label_selector=door.entrant.selector)
    names = [one["metadata"]["name"] for one in listed.items]
    await together(*(retire(target, ACCOUNTS, name) for name in names if name not in kept))
    if record is None or record.issue not in names:
        return True
    if not (look_at_account and door.account and record.account):
        return False
    account = await target.get(ACCOUNT_KIND, door.account, namespace=ACCOUNTS)
    return bool(account["metadata"]["uid"] != record.account)


def _record(visit: Visit, door: Door, old: Record | None, issued: Issued | None, *, server: str, now: float) -> Record:
    new = msgspec.structs.replace(
        old if old is not None and door.account else Record(door="", server=""),
        door=door.fingerprint,
        server=address_of(visit.cluster, server),
        cluster=visit.cluster.metadata.uid,
        generation=visit.request.metadata.generation,
    )
    if issued is None:
        return new
    before = old.issue if old is not None else ""
    return msgspec.structs.replace(
        new,
        issue=issued.issue,
        account=account_in(issued.token),
        lifetime=lifetime_of(visit.request),
        created=issued.created,
        expires=issued.expires,
        retiring=before,
        retire_at=min(now + GRACE, old.expires) if old is not None and before else 0.0,
    )


def without(record: Record, issues: Collection[str]) -> Record:
    """The record when these tokens are no more."""
    if record.retiring in issues:
        record = msgspec.structs.replace(record, retiring="", retire_at=0.0)
    return msgspec.structs.replace(record, issue="") if record.issue in issues else record
