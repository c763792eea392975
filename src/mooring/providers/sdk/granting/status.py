"""The status of an AccessRequest, as far as its provider writes it: granted, waiting, or denied, and why."""

from __future__ import annotations

import msgspec

from mooring.api.access import AccessRequest, AccessRequestStatus
from mooring.api.conditions import READY, Truth, with_condition
from mooring.api.references import LocalReference
from mooring.api.requests import RequestPhase
from mooring.providers.sdk.granting.reasons import Reason
from mooring.providers.sdk.granting.records import secret_name
from mooring.providers.sdk.scrubbing import scrubbed

_LONGEST_MESSAGE = 4_096


def granted(request: AccessRequest, *, now: str) -> AccessRequestStatus:
    """The credentials are there, and open what was asked for."""
    return _told(
        request,
        RequestPhase.GRANTED,
        Truth.TRUE,
        Reason.GRANTED,
        "",
        now,
        secret=LocalReference(name=secret_name(request)),
    )


def pending(request: AccessRequest, reason: str, message: str, *, now: str) -> AccessRequestStatus:
    """Not yet, or not at the moment. What was given out before stays where it is."""
    old = request.status
    secret = old.secret_ref if old is not None else None
    phase = RequestPhase.GRANTED if secret is not None else RequestPhase.PENDING
    return _told(request, phase, Truth.FALSE, reason, message, now, secret=secret)


def denied(request: AccessRequest, reason: str, message: str, *, now: str) -> AccessRequestStatus:
    """No; and what was given out before is void."""
    return _told(request, RequestPhase.DENIED, Truth.FALSE, reason, message, now, secret=None)


def _told(
    request: AccessRequest,
    phase: RequestPhase,
    ready: Truth,
    reason: str,
    message: str,
    now: str,
    *,
    secret: LocalReference | None,
) -> AccessRequestStatus:
    old, generation = request.status, request.metadata.generation
    message = scrubbed(message)[:_LONGEST_MESSAGE]
    conditions = with_condition(
        old.conditions if old is not None else (),
        READY,
        ready,
        reason=reason,
        message=message,
        generation=generation,
        now=now,
    )
    new = AccessRequestStatus(
        observed_generation=generation,
        phase=phase.value,
        reason=reason,
        message=message,
        last_reconcile_time="" if old is None else old.last_reconcile_time,
        secret_ref=secret,
        conditions=conditions,
    )
    if old is not None and new == old:
        return old
    return msgspec.structs.replace(new, last_reconcile_time=now)
