"""The status of an AccessRequest, as far as its provider writes it: granted, waiting, or denied, and why."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.api.access import AccessRequest, AccessRequestStatus
from mooring.api.conditions import READY, STALLED, Condition, Truth, with_condition, without_condition
from mooring.api.references import LocalReference
from mooring.api.requests import RequestPhase
from mooring.entry.policies import Denial
from mooring.entry.translating import TRANSLATED
from mooring.providers.sdk.granting.reasons import Reason
from mooring.providers.sdk.granting.records import secret_name
from mooring.providers.sdk.scrubbing import scrubbed

_LONGEST_MESSAGE = 4_096
_JUDGEMENTS = frozenset(Denial)


def granted(request: AccessRequest, *, now: str, translated: str = "") -> AccessRequestStatus:
    """The credentials are there, and open what was asked for. ``translated``: what its rules were taken for."""
    secret = LocalReference(name=secret_name(request))
    return _told(
        request, RequestPhase.GRANTED, Truth.TRUE, Reason.GRANTED, "", now, secret=secret, translated=translated
    )


def pending(request: AccessRequest, reason: str, message: str, *, now: str, has_secret: bool) -> AccessRequestStatus:
    """Not yet, or not at the moment. What was given out before stays where it is, if it is there."""
    secret = LocalReference(name=secret_name(request)) if has_secret else None
    phase = RequestPhase.GRANTED if has_secret else RequestPhase.PENDING
    return _told(request, phase, Truth.FALSE, reason, message, now, secret=secret)


def denied(request: AccessRequest, reason: str, message: str, *, now: str) -> AccessRequestStatus:
    """No; and what was given out before is void. Whoever prepares requests judges them, too, and may have said so."""
    old = request.status
    if old is not None and reason in _JUDGEMENTS and _says(old, request, reason):
        return old
    return _told(request, RequestPhase.DENIED, Truth.FALSE, reason, message, now, secret=None)


def _says(old: AccessRequestStatus, request: AccessRequest, reason: str) -> bool:
    current = old.observed_generation == request.metadata.generation and old.secret_ref is None
    return current and (old.phase, old.reason) == (RequestPhase.DENIED, reason)


def _told(
    request: AccessRequest,
    phase: RequestPhase,
    ready: Truth,
    reason: str,
    message: str,
    now: str,
    *,
    secret: LocalReference | None,
    translated: str | None = None,
) -> AccessRequestStatus:
    old, generation = request.status, request.metadata.generation
    message = scrubbed(message)[:_LONGEST_MESSAGE]
    words: dict[str, Any] = {"reason": reason, "message": message, "generation": generation, "now": now}
    conditions = with_condition(old.conditions if old is not None else (), READY, ready, **words)
    # Those who prepare requests say this one, too: it goes with the phase, whoever writes it.
    if phase is RequestPhase.DENIED:
        conditions = with_condition(conditions, STALLED, Truth.TRUE, **words)
    else:
        conditions = without_condition(conditions, STALLED)
    if translated is not None:
        conditions = _translated(conditions, translated, generation=generation, now=now)
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


def _translated(
    conditions: tuple[Condition, ...], translated: str, *, generation: int, now: str
) -> tuple[Condition, ...]:
    """What rules that speak of kinds were taken for."""
    if not translated:
        return without_condition(conditions, TRANSLATED)
    message = translated[:_LONGEST_MESSAGE]
    return with_condition(
        conditions, TRANSLATED, Truth.TRUE, reason=Reason.TRANSLATED, message=message, generation=generation, now=now
    )
