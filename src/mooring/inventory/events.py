"""Events of an object: what happened to it lately, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_AT_MOST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happened, perhaps several times."""

    last: str
    count: int
    warning: bool
    reason: str
    note: str
    by: str


def recent(events: Iterable[Mapping[str, Any]], *, at_most: int = _AT_MOST) -> tuple[Happening, ...]:
    """The latest of these events (``events.k8s.io/v1``, as plain data)."""
    # Times of the server are of one form up to the second, and sort as text.
    happenings = sorted(map(_happening, events), key=lambda one: one.last, reverse=True)
    return tuple(happenings[:at_most])


def _happening(event: Mapping[str, Any]) -> Happening:
    # Old clients write the core API's fields, which this one calls deprecated.
    series = event.get("series") or {}
    last = series.get("lastObservedTime") or event.get("eventTime") or event.get("deprecatedLastTimestamp")
    source = event.get("deprecatedSource") or {}
    return Happening(
        last=last or event["metadata"].get("creationTimestamp") or "",
        count=series.get("count") or event.get("deprecatedCount") or 1,
        warning=event.get("type") == "Warning",
        reason=event.get("reason") or "",
        note=event.get("note") or "",
        by=event.get("reportingController") or source.get("component") or "",
    )
