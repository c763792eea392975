"""The status of a KubeconfigRequest: the kubeconfig, and one function for what each condition says. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.conditions import READY, STALLED, Condition, Truth, found, with_condition, without_condition
from mooring.api.kyma import REVOKE_ANNOTATION, KubeconfigRequest, KubeconfigRequestStatus
from mooring.api.marks import GRANT_FINALIZER
from mooring.api.requests import RequestPhase
from mooring.entry.translating import TRANSLATED
from mooring.kyma.kubeconfigs.plan import asks
from mooring.kyma.kubeconfigs.reasons import Reason

Conditions = tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    """A kubeconfig in base64, and when it ends: as text, empty if nobody knows."""

    encoded: str = field(repr=False)
    expires: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Ready says. ``stalled``: it stays so until somebody changes something."""

    ready: bool
    reason: str
    message: str = ""
    stalled: bool = False


def answer_for(
    request: KubeconfigRequest, access: AccessRequest | None, kubeconfig: Kubeconfig | None, *, now: str
) -> Answer:
    """Where the request stands, as its AccessRequest tells it."""
    if asks(request, REVOKE_ANNOTATION):
        return _revoked(access)
    status = None if access is None or access.metadata.deleting else access.status
    if access is None or status is None:
        return Answer(ready=False, reason=Reason.WAITING, message="Access was asked for, and is not answered yet.")
    if status.observed_generation != access.metadata.generation:
        return Answer(ready=False, reason=Reason.WAITING, message="Access is not yet as it is asked for now.")
    # Upstream's providers tell by the phase alone whether it is ready.
    ready = found(status.conditions, READY)
    if status.phase != RequestPhase.GRANTED or (ready is not None and ready.status is not Truth.TRUE):
        reason, message = (status.reason, status.message) if ready is None else (ready.reason, ready.message)
        denied = status.phase == RequestPhase.DENIED
        return Answer(ready=False, reason=reason or Reason.WAITING, message=message, stalled=denied)
    if kubeconfig is None:
        message = f"Access is granted, but the kubeconfig of the AccessRequest {access.metadata.name} is not there."
        return Answer(ready=False, reason=Reason.MISSING, message=message)
    if kubeconfig.expires and kubeconfig.expires <= now:
        return Answer(ready=False, reason=Reason.EXPIRED, message="The kubeconfig was not replaced in time.")
    return Answer(ready=True, reason=Reason.ISSUED)


def _revoked(access: AccessRequest | None) -> Answer:
    word = f"the annotation {REVOKE_ANNOTATION} says so"
    if access is not None and GRANT_FINALIZER in access.metadata.finalizers:
        told = access.status.message if access.status is not None else ""
        return Answer(ready=False, reason=Reason.REVOKING, message=f"Access is being revoked: {word}. {told}".strip())
    message = f"Access is revoked, because {word}; another kubeconfig is issued when it is 'false'."
    return Answer(ready=False, reason=Reason.REVOKED, message=message)


def status_of(
    request: KubeconfigRequest,
    answer: Answer,
    *,
    access: AccessRequest | None,
    kubeconfig: Kubeconfig | None,
    now: str,
) -> KubeconfigRequestStatus:
    """The status with what is known now; the very same object if nothing in it changes."""
    old, generation = request.status, request.metadata.generation
    conditions: Conditions = old.conditions if old is not None else ()
    conditions = _ready(conditions, answer, generation=generation, now=now)
    conditions = _stalled(conditions, answer, generation=generation, now=now)
    conditions = _translated(conditions, access, generation=generation, now=now)
    new = KubeconfigRequestStatus(
        observed_generation=generation,
        expiration_timestamp=kubeconfig.expires if kubeconfig is not None else "",
        kubeconfig=kubeconfig.encoded if kubeconfig is not None and request.spec.secret_ref is None else "",
        conditions=conditions,
    )
    return old if old is not None and new == old else new


def _ready(conditions: Conditions, answer: Answer, *, generation: int, now: str) -> Conditions:
    truth = Truth.TRUE if answer.ready else Truth.FALSE
    return with_condition(
        conditions, READY, truth, reason=answer.reason, message=answer.message, generation=generation, now=now
    )


def _stalled(conditions: Conditions, answer: Answer, *, generation: int, now: str) -> Conditions:
    if not answer.stalled:
        return without_condition(conditions, STALLED)
    return with_condition(
        conditions, STALLED, Truth.TRUE, reason=answer.reason, message=answer.message, generation=generation, now=now
    )


def _translated(conditions: Conditions, access: AccessRequest | None, *, generation: int, now: str) -> Conditions:
    """What became of rules that speak of kinds: the word of whoever opened the door."""
    told = found(access.status.conditions, TRANSLATED) if access is not None and access.status is not None else None
    if told is None:
        return without_condition(conditions, TRANSLATED)
    return with_condition(
        conditions, TRANSLATED, told.status, reason=told.reason, message=told.message, generation=generation, now=now
    )


def with_status(request: KubeconfigRequest, status: KubeconfigRequestStatus) -> KubeconfigRequest:
    return msgspec.structs.replace(request, status=status)
