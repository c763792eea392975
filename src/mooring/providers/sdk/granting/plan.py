"""What is to be done about an AccessRequest, as a function of what is seen. The time comes in as a value."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.conditions import READY, is_true
from mooring.api.durations import seconds_of
from mooring.api.marks import GRANT_FINALIZER, OPERATION_ANNOTATION, OPERATION_REVOKE, OPERATION_ROTATE
from mooring.entry.doors import Door
from mooring.entry.policies import Verdict
from mooring.entry.renewing import renewal_due
from mooring.entry.tokens import USUAL
from mooring.providers.sdk.granting.reasons import Reason
from mooring.providers.sdk.granting.records import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """All that the decision depends on."""

    request: AccessRequest
    cluster: Cluster
    verdict: Verdict
    record: Record | None
    door: Door | None  # None: what is asked for cannot be made
    trouble: str = ""  # why it cannot
    suspect: bool = False  # somebody saw that the door is not whole
    now: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shut:
    """Close the door, if there is one, and tell why. ``told``: somebody else tells it."""

    reason: str
    message: str
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing can be done now; what changes wakes us."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Have the door as it should be, and a token for it."""

    fresh: bool = False  # nothing was ever made
    mend: bool = False  # something was, and may differ
    issue: bool = False  # a new token is needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """The token before the present one has had its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """All is as it should be, until ``until`` (seconds since the epoch; None: until something changes)."""

    until: float | None = None


Step = Shut | Wait | Open | Retire | Rest


def next_step(sight: Sight) -> Step:
    """The next thing to do."""
    request, record = sight.request, sight.record
    if not sight.verdict.allowed:
        return Shut(reason=sight.verdict.reason, message=sight.verdict.message, told=True)
    if _operation(request) == OPERATION_REVOKE:
        return Shut(reason=Reason.REVOKED, message="Access was revoked; take the annotation away to grant it again.")
    if sight.door is None:
        return Shut(reason=Reason.UNFIT, message=sight.trouble)
    if record is None:
        if not _can_be_entered(sight.cluster):
            return Wait(reason=Reason.CLUSTER_NOT_READY, message="The cluster is not ready yet.")
        fresh = GRANT_FINALIZER not in request.metadata.finalizers
        return Open(fresh=fresh, mend=not fresh, issue=bool(sight.door.account))
    mend = sight.suspect or record.door != sight.door.fingerprint
    issue = bool(sight.door.account) and _needs_token(sight, record)
    if mend or issue or record.generation != request.metadata.generation:
        return Open(mend=mend, issue=issue)
    if record.retiring and sight.now >= record.retire_at:
        return Retire()
    return Rest(until=_next_look(request, record))


def lifetime_of(request: AccessRequest) -> float:
    """How long a token shall live, in seconds."""
    wish = request.spec.token
    if wish is None or not wish.lifetime:
        return USUAL
    try:
        asked = seconds_of(wish.lifetime)
    except ValueError:
        return USUAL  # the server lets no such text through
    return asked if asked > 0 else USUAL


def _operation(request: AccessRequest) -> str:
    return request.metadata.annotations.get(OPERATION_ANNOTATION, "")


def _needs_token(sight: Sight, record: Record) -> bool:
    """None yet, one that is due, one that somebody wants replaced, or one for an address that is no longer true."""
    if not record.issue or _operation(sight.request) == OPERATION_ROTATE:
        return True
    if record.server != address_of(sight.cluster, record.server):
        return True
    return sight.now >= renewal_due(sight.request.metadata.uid, created=record.created, expires=record.expires)


def _next_look(request: AccessRequest, record: Record) -> float | None:
    times = [record.retire_at] if record.retiring else []
    if record.issue:
        times.append(renewal_due(request.metadata.uid, created=record.created, expires=record.expires))
    return min(times, default=None)


def address_of(cluster: Cluster, otherwise: str) -> str:
    """Where an entrant finds the cluster."""
    return (cluster.status.api_server if cluster.status is not None else "") or otherwise


def _can_be_entered(cluster: Cluster) -> bool:
    return cluster.status is not None and is_true(cluster.status.conditions, READY)
