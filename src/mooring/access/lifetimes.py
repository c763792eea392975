"""How long access is needed: ``spec.ttl``, counted from the creation of the request. Pure: the time is a value."""

from __future__ import annotations

import datetime

from mooring.api.access import AccessRequest
from mooring.api.durations import seconds_of


def time_left(request: AccessRequest, now: datetime.datetime) -> float | None:
    """Seconds until the request ends, not positive when it is over; None: it does not end.

    A ttl that cannot be read, or is no time at all, ends nothing: such a request is denied instead.
    """
    try:
        ttl = seconds_of(request.spec.ttl) if request.spec.ttl else 0.0
        born = datetime.datetime.fromisoformat(request.metadata.creation_timestamp)
        ends = born + datetime.timedelta(seconds=ttl)
    except (ValueError, OverflowError):
        return None
    return (ends - now).total_seconds() if ttl > 0 else None


def timestamp(moment: datetime.datetime) -> str:
    """A moment as Kubernetes writes it."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
