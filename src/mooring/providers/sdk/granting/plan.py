"""What is to be done about an AccessRequest, as a function of what is seen. The time comes in as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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

# Seconds. A token that was issued later than now was issued by another clock, which tells nothing about its end.
_SKEW: Final = 300.0
# Whoever asks for less gets this much: else there would be nothing to do but to replace tokens.
_LEAST: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """All that the decision depends on."""

    request: AccessRequest
    cluster: Cluster
    verdict: Verdict
    record: Record | None
    door: Door | None  # None: what is asked for cannot be made
    trouble: str = ""  # why it cannot
    gaps: bool = False  # because the cluster does not serve what the rules speak of
    suspect: bool = False  # somebody saw that the door is not whole
    spoiled: bool = False  # somebody has changed the kubeconfig
    now: float = 0.0

    @property
    def valid(self) -> Record | None:
        """The record, if it is of this cluster, and not of an earlier one of the same name."""
        return self.record if self.record is not None and self.record.cluster == self.cluster.metadata.uid else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shut:
    """Close the door, if there is one, and tell why."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing can be done now; what changes wakes us. ``void``: the kubeconfig that is there leads nowhere."""

    reason: str
    message: str
    void: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Have the door as it should be, and a token for it."""

    fresh: bool = False  # nothing was ever made
    mend: bool = False  # something was, and may differ
    issue: bool = False  # a new token is needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """These tokens have had their time. It comes before all else, because all else may fail."""

    issues: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """All is as it should be, until ``until`` (seconds since the epoch; None: until something changes)."""

    until: float | None = None


Step = Shut | Wait | Open | Retire | Rest


def next_step(sight: Sight) -> Step:
    """The next thing to do."""
    request, record = sight.request, sight.valid
    if not sight.verdict.allowed:
        return Shut(reason=sight.verdict.reason, message=sight.verdict.message)
    if _operation(request) == OPERATION_REVOKE:
        return Shut(reason=Reason.REVOKED, message="Access was revoked; take the annotation away to grant it again.")
    if sight.door is None:
        return Shut(reason=Reason.UNFIT, message=sight.trouble)
    if sight.cluster.metadata.deleting:
        return Wait(reason=Reason.CLUSTER_NOT_READY, message="The cluster is being deleted.")
    if record is None:
        return _beginning(sight, sight.door)
    due = _due(record, sight.now)
    if due:
        return Retire(issues=due)
    mend = sight.suspect or record.door != sight.door.fingerprint
    issue = bool(sight.door.account) and _needs_token(sight, record)
    if mend or issue or sight.spoiled or _is_old(sight, record):
        return Open(mend=mend, issue=issue)
    return Rest(until=next_look(request, record))


def _beginning(sight: Sight, door: Door) -> Step:
    """Nothing is written down: nothing was made, or we were stopped before it was written, or it was lost."""
    if not _can_be_entered(sight.cluster):
        message = "The cluster is not ready yet."
        return Wait(reason=Reason.CLUSTER_NOT_READY, message=message, void=sight.record is not None)
    fresh = GRANT_FINALIZER not in sight.request.metadata.finalizers and not sight.suspect
    return Open(fresh=fresh, mend=not fresh, issue=bool(door.account))


def is_entered(request: AccessRequest, cluster: Cluster) -> bool:
    """Whether the cluster can be, and has to be, looked into for this request."""
    if _operation(request) == OPERATION_REVOKE or cluster.metadata.deleting:
        return False
    return _can_be_entered(cluster) or GRANT_FINALIZER in request.metadata.finalizers


def lifetime_of(request: AccessRequest) -> float:
    """How long a token shall live, in seconds."""
    wish = request.spec.token
    if wish is None or not wish.lifetime:
        return USUAL
    try:
        asked = seconds_of(wish.lifetime)
    except ValueError:
        return USUAL  # the server lets no such text through
    return max(asked, _LEAST) if asked > 0 else USUAL


def _operation(request: AccessRequest) -> str:
    return request.metadata.annotations.get(OPERATION_ANNOTATION, "")


def _due(record: Record, now: float) -> list[str]:
    """Tokens that must end: the one before after its grace, and any at the end of its life.

    Servers issue none for less than ten minutes, so one may still work when its time is over.
    """
    due = [record.retiring] if record.retiring and now >= record.retire_at else []
    return [*due, record.issue] if record.issue and now >= record.expires else due


def _needs_token(sight: Sight, record: Record) -> bool:
    """None yet, one that is due or for another life, one that somebody wants replaced or has spoiled, or one for an
    address that is no longer true."""
    request, now = sight.request, sight.now
    return (
        not record.issue
        or sight.spoiled
        or _operation(request) == OPERATION_ROTATE
        or record.lifetime != lifetime_of(request)
        or _has_moved(sight.cluster, record)
        or now >= renewal_due(request.metadata.uid, created=record.created, expires=record.expires)
        or now < record.created - _SKEW
    )


def _is_old(sight: Sight, record: Record) -> bool:
    """Whether it tells what was true before."""
    return record.generation != sight.request.metadata.generation or _has_moved(sight.cluster, record)


def _has_moved(cluster: Cluster, record: Record) -> bool:
    return record.server != address_of(cluster, record.server)


def next_look(request: AccessRequest, record: Record) -> float | None:
    """When something is to be done about a grant that is as it should be, in seconds since the epoch."""
    times = [record.retire_at] if record.retiring else []
    if record.issue:
        times.append(renewal_due(request.metadata.uid, created=record.created, expires=record.expires))
    return min(times, default=None)


def address_of(cluster: Cluster, otherwise: str) -> str:
    """Where an entrant finds the cluster."""
    return (cluster.status.api_server if cluster.status is not None else "") or otherwise


def _can_be_entered(cluster: Cluster) -> bool:
    return cluster.status is not None and is_true(cluster.status.conditions, READY)
