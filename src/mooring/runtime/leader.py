"""Leader election on a Lease: of many processes one works, and it stops writing before another may begin.

    t0            renewed: the moment *before* the renewing request was sent
    t0 + 10 s     deadline: from here on the guard refuses every write of ours, when it is about to be sent
    t0 + 15 s     the others, who saw the lease unchanged for 15 s by their own clocks, may take it

Time is ``Clock.elapsed`` (CLOCK_BOOTTIME): a frozen process or a closed laptop has missed its deadline when it wakes
up, and the guard sees that at the next write, before anything else had a chance to notice.

A new leader begins with empty stores: what it works on was listed after it got the lease. A write that left before the
deadline and arrives late is refused by its precondition, or does no harm (DESIGN: claims are compare-and-swap).

The lease has a client, and so connections, of its own: a flood of other requests must not keep it from being renewed.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import structlog

from mooring.kube import Client, KubeError, Object, untyped
from mooring.kube.errors import AlreadyExists, Conflict, NotFound
from mooring.runtime.clock import Clock

log = structlog.get_logger(__name__)

LEASES = untyped(group="coordination.k8s.io", version="v1", plural="leases", kind="Lease")


class NotLeader(Exception):
    """This process may not write: it does not hold the lease, or could not renew it in time."""


class LeadershipLost(Exception):
    """The lease could not be renewed in time, or somebody else has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """Seconds. A leader that cannot renew for ``deadline`` stops writing; others wait for ``duration``."""

    name: str = "mooring"
    namespace: str = "mooring-system"
    duration: int = 15
    deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.retry < self.deadline < self.duration:
            raise ValueError(
                f"a lease needs retry < deadline < duration, not {self.retry}, {self.deadline}, {self.duration}"
            )


class Leader:
    """This process as a candidate, and as the leader."""

    def __init__(self, client: Client, settings: LeaseSettings, clock: Clock, *, identity: str) -> None:
        self.identity = identity
        self._client = client
        self._settings = settings
        self._clock = clock
        self._deadline: float | None = None
        self._lease: Object | None = None  # as we last wrote it
        self._seen: tuple[str, str, str] | None = None  # holder, renewal and transitions, as last seen ...
        self._seen_at = 0.0  # ... since when unchanged, by our own clock ...
        self._seen_for = 0.0  # ... and how long it holds from then on

    @property
    def leading(self) -> bool:
        return self._deadline is not None and self._clock.elapsed() < self._deadline

    def guard(self) -> None:
        """Refuse a write unless the lease is ours and fresh. Asked when the write is about to be sent."""
        if not self.leading:
            raise NotLeader(f"{self.identity} does not hold the lease {self._settings.name} any more")

    async def acquire(self) -> None:
        """Wait until the lease is ours."""
        while True:
            try:
                if await self._try_to_take():
                    log.info("leading", lease=self._settings.name, identity=self.identity)
                    return
            except KubeError as error:
                log.warning("the lease cannot be read or written", error=str(error))
            await self._clock.sleep(self._settings.retry * random.uniform(0.8, 1.2))  # noqa: S311

    async def keep(self) -> None:
        """Renew the lease for as long as that works; ends with :class:`LeadershipLost`."""
        while True:
            await self._clock.sleep(self._settings.retry)
            if not self.leading:
                raise self._lost("it could not be renewed in time")
            try:
                await self._renew()
            except KubeError as error:
                log.warning("the lease was not renewed; trying again", error=str(error))

    async def release(self) -> None:
        """Give the lease back, so that the next leader need not wait. Nothing may be written after this."""
        lease, self._lease = self._lease, None
        was_leading, self._deadline = self.leading, None
        if lease is None or not was_leading:
            return
        spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            async with asyncio.timeout(self._settings.deadline):
                await self._client.replace(LEASES, {**lease, "spec": spec})
        except (KubeError, TimeoutError) as error:
            log.info("the lease was not given back; it runs out by itself", error=str(error))

    async def _try_to_take(self) -> bool:
        name, namespace = self._settings.name, self._settings.namespace
        begun = self._clock.elapsed()
        try:
            lease = await self._client.get(LEASES, name, namespace=namespace)
        except NotFound:
            # Somebody deleted it, perhaps; whoever had it may not have noticed yet.
            if not self._has_run_out():
                return False
            return await self._write(self._first_lease(), begun)
        if not self._may_take(lease.get("spec") or {}):
            return False
        return await self._write({**lease, "spec": self._spec(lease.get("spec") or {})}, begun)

    def _may_take(self, spec: dict[str, Any]) -> bool:
        holder = spec.get("holderIdentity") or ""
        seen = (holder, str(spec.get("renewTime")), str(spec.get("leaseTransitions")))
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock.elapsed()
            self._seen_for = float(spec.get("leaseDurationSeconds") or self._settings.duration)
        return self._has_run_out()

    def _has_run_out(self) -> bool:
        """Whether the lease, as last seen, keeps nobody from taking it any more."""
        free = self._seen is None or self._seen[0] in ("", self.identity)
        return free or self._clock.elapsed() >= self._seen_at + self._seen_for

    async def _renew(self) -> None:
        begun, lease = self._clock.elapsed(), self._lease
        if lease is None:
            raise self._lost("it was given back")
        remaining = max(0.1, (self._deadline or begun) - begun)
        try:
            async with asyncio.timeout(remaining):
                if not await self._write({**lease, "spec": self._spec(lease["spec"])}, begun):
                    await self._look_who_has_it()
        except TimeoutError:
            log.warning("the lease was not renewed; trying again", error="no answer in time")

    async def _look_who_has_it(self) -> None:
        """After a conflict: an answer of ours may have been lost, or somebody else has the lease."""
        try:
            lease = await self._client.get(LEASES, self._settings.name, namespace=self._settings.namespace)
        except NotFound:
            raise self._lost("it was deleted") from None
        if lease["spec"].get("holderIdentity") != self.identity:
            raise self._lost(f"{lease['spec'].get('holderIdentity')!r} has it")
        self._lease = lease

    async def _write(self, lease: Object, begun: float) -> bool:
        """Write the lease as ours; False if somebody was faster."""
        exists = "resourceVersion" in lease["metadata"]
        try:
            self._lease = await (self._client.replace if exists else self._client.create)(LEASES, lease)
        except (Conflict, AlreadyExists):
            return False
        except NotFound:
            if not exists:
                raise  # there is no namespace to put it into
            return False
        self._deadline = begun + self._settings.deadline
        return True

    def _lost(self, why: str) -> LeadershipLost:
        self._deadline, self._lease = None, None
        return LeadershipLost(f"The lease {self._settings.namespace}/{self._settings.name} is lost: {why}.")

    def _first_lease(self) -> Object:
        metadata = {"name": self._settings.name, "namespace": self._settings.namespace}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": self._spec({})}

    def _spec(self, before: dict[str, Any]) -> dict[str, Any]:
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        ours = before.get("holderIdentity") == self.identity
        transitions = int(before.get("leaseTransitions") or 0)
        return {
            **before,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._settings.duration,
            "acquireTime": before.get("acquireTime") if ours else now,
            "renewTime": now,
            "leaseTransitions": transitions if ours or not before else transitions + 1,
        }
