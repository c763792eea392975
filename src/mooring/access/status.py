"""The status of a request, as far as preparation writes it: one function for each condition.

A refusal is in ``Ready``, and in ``Stalled`` while it is a denial. When we have nothing more against a request, both
are taken away: whether it is ready is then told by its provider, and upstream's tell it by the phase alone.
"""

from __future__ import annotations

import dataclasses

import msgspec

from mooring.access.plan import Answer
from mooring.access.reasons import OURS, REFUSALS
from mooring.api.access import AccessRequest, AccessRequestStatus
from mooring.api.conditions import READY, STALLED, Condition, Truth, found, with_condition, without_condition
from mooring.api.requests import RequestPhase

Conditions = tuple[Condition, ...]

_LONGEST = 4_096  # characters of a message; it may quote another, and the server has a limit


def status_of(request: AccessRequest, answer: Answer, *, now: str) -> AccessRequestStatus:
    """The status with what is known now; the very same object if nothing in it changes."""
    answer = dataclasses.replace(answer, message=answer.message[:_LONGEST])
    old = request.status
    generation = request.metadata.generation
    conditions: Conditions = old.conditions if old is not None else ()
    conditions = _ready(conditions, answer, generation=generation, now=now)
    conditions = _stalled(conditions, answer, generation=generation, now=now)
    denied = answer.phase is RequestPhase.DENIED
    new = AccessRequestStatus(
        observed_generation=generation,
        phase=answer.phase,
        reason=answer.reason,
        message=answer.message,
        last_reconcile_time="" if old is None else old.last_reconcile_time,
        # What is denied has no credentials: its provider takes them back.
        secret_ref=None if old is None or denied else old.secret_ref,
        conditions=conditions,
    )
    if new == old:
        return old
    return msgspec.structs.replace(new, last_reconcile_time=now)


def _ready(conditions: Conditions, answer: Answer, *, generation: int, now: str) -> Conditions:
    if answer.reason in REFUSALS:
        return with_condition(
            conditions, READY, Truth.FALSE, reason=answer.reason, message=answer.message, generation=generation, now=now
        )
    return _without_our(conditions, READY)


def _stalled(conditions: Conditions, answer: Answer, *, generation: int, now: str) -> Conditions:
    if answer.phase is not RequestPhase.DENIED:
        return _without_our(conditions, STALLED)
    return with_condition(
        conditions, STALLED, Truth.TRUE, reason=answer.reason, message=answer.message, generation=generation, now=now
    )


def _without_our(conditions: Conditions, kind: str) -> Conditions:
    """The conditions without ours of this type; what a provider says stays."""
    there = found(conditions, kind)
    return without_condition(conditions, kind) if there is not None and there.reason in OURS else conditions
