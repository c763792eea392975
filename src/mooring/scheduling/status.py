"""The status of a request, as a function of what was found out: one function for each condition.

``Ready`` is True while the request is granted and its cluster is ready; ``Stalled`` is there only while it is denied;
``Expiring`` only from some time before its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from mooring.api.clusters import Cluster
from mooring.api.conditions import READY, STALLED, Condition, Truth, found, with_condition, without_condition
from mooring.api.references import ObjectReference
from mooring.api.requests import ClusterRequest, ClusterRequestStatus, RequestPhase
from mooring.kube import ObjectKey
from mooring.runtime.clock import timestamp
from mooring.scheduling.lifetimes import Life
from mooring.scheduling.reasons import Reason

EXPIRING = "Expiring"
Conditions = tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Where a request stands."""

    phase: RequestPhase
    reason: Reason
    message: str
    cluster: ObjectKey | None = None
    prefix: str = ""


def status_of(
    request: ClusterRequest, answer: Answer, *, cluster: Cluster | None, life: Life, now: str
) -> ClusterRequestStatus:
    """The status with what is known now; the very same object if nothing in it changes."""
    old = request.status
    generation = request.metadata.generation
    known: Conditions = old.conditions if old is not None else ()
    conditions = _ready(known, answer, cluster, generation=generation, now=now)
    conditions = _stalled(conditions, answer, generation=generation, now=now)
    conditions = _expiring(conditions, life, generation=generation, now=now)
    new = ClusterRequestStatus(
        observed_generation=generation,
        phase=answer.phase,
        reason=answer.reason,
        message=answer.message,
        last_reconcile_time="" if old is None else old.last_reconcile_time,
        cluster=_reference(answer.cluster) or (old.cluster if old is not None else None),
        conditions=conditions,
    )
    if new == old:
        return old
    return msgspec.structs.replace(new, last_reconcile_time=now)


def _ready(conditions: Conditions, answer: Answer, cluster: Cluster | None, *, generation: int, now: str) -> Conditions:
    status, reason, message = _readiness(answer, cluster)
    return with_condition(conditions, READY, status, reason=reason, message=message, generation=generation, now=now)


def _readiness(answer: Answer, cluster: Cluster | None) -> tuple[Truth, str, str]:
    if answer.phase is not RequestPhase.GRANTED or answer.reason is not Reason.GRANTED:
        return Truth.FALSE, answer.reason, answer.message
    ready = None if cluster is None or cluster.status is None else found(cluster.status.conditions, READY)
    if cluster is not None and cluster.metadata.deleting:
        return Truth.FALSE, Reason.CLUSTER_TERMINATING, f"The cluster {answer.cluster} is being deleted."
    if ready is None:
        return Truth.FALSE, Reason.CLUSTER_NOT_READY, f"The cluster {answer.cluster} has not been made yet."
    if ready.status is Truth.TRUE:
        return Truth.TRUE, Reason.CLUSTER_READY, f"The cluster {answer.cluster} is ready."
    why = f": {ready.message}" if ready.message else f" ({ready.reason})."
    return Truth.FALSE, Reason.CLUSTER_NOT_READY, f"The cluster {answer.cluster} is not ready{why}"


def _stalled(conditions: Conditions, answer: Answer, *, generation: int, now: str) -> Conditions:
    if answer.phase is not RequestPhase.DENIED:
        return without_condition(conditions, STALLED)
    return with_condition(
        conditions, STALLED, Truth.TRUE, reason=answer.reason, message=answer.message, generation=generation, now=now
    )


def _expiring(conditions: Conditions, life: Life, *, generation: int, now: str) -> Conditions:
    if not life.ending or life.ends is None:
        return without_condition(conditions, EXPIRING)
    message = (
        f"The request ends at {timestamp(life.ends)}, and gives its cluster back then. "
        f"To keep it, raise spec.ttl ('mooring request extend')."
    )
    return with_condition(
        conditions, EXPIRING, Truth.TRUE, reason="TimeToLive", message=message, generation=generation, now=now
    )


def _reference(key: ObjectKey | None) -> ObjectReference | None:
    return None if key is None else ObjectReference(name=key.name, namespace=key.namespace)
