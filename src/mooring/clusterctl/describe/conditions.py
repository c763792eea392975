"""The conditions of an object, wherever it keeps them, in one form.

Cluster API's own kinds have today's conditions in ``status.conditions`` and those of v1beta1 in
``status.deprecated.v1beta1.conditions``. Providers' kinds may be anywhere on the way from one to the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from mooring.kube import Object

AVAILABLE: Final = "Available"
READY: Final = "Ready"
UP_TO_DATE: Final = "UpToDate"
REMEDIATION_ALLOWED: Final = "RemediationAllowed"
# For these, True is the state that wants to be looked at.
NEGATIVE: Final = frozenset({"Paused", "Deleting", "RollingOut", "ScalingUp", "ScalingDown", "Updating", "Remediating"})
_NO_REASON: Final = "NoReasonReported"
_STATUSES: Final = frozenset({"True", "False", "Unknown"})
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. Only those of v1beta1 have a severity."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    severity: str = ""
    since: datetime | None = None

    @property
    def state(self) -> tuple[str, str, str]:
        """What two conditions must have in common to say the same."""
        return self.status, self.severity, self.reason

    @property
    def is_true(self) -> bool:
        return self.status == "True"

    @property
    def is_quiet(self) -> bool:
        """Whether it is as it should be, and has nothing to add."""
        unwanted = "True" if self.type in NEGATIVE else "False"
        return self.status not in ("Unknown", unwanted) and not self.message


def found(conditions: Iterable[Condition], kind: str) -> Condition | None:
    return next((one for one in conditions if one.type == kind), None)


def earlier(one: Condition, other: Condition | None) -> Condition:
    """The first, without words, and since the earlier of the two times."""
    times = [each.since for each in (one, other) if each is not None and each.since is not None]
    return replace(one, message="", since=min(times, default=None))


def core_conditions(thing: Object) -> tuple[Condition, ...]:
    """Of one of Cluster API's own kinds."""
    return tuple(replace(_read(one), severity="") for one in _list_at(thing, "status", "conditions") or ())


def foreign_conditions(thing: Object) -> tuple[Condition, ...]:
    """Of a provider's kind: the newest place that is filled counts. One condition that is none spoils them all."""
    listed = _list_at(thing, "status", "v1beta2", "conditions")
    if listed is None:
        listed = _list_at(thing, "status", "conditions")
    if not all(map(_is_condition, listed or ())):
        return ()
    # A provider that is still at v1beta1 has severities there; today they mean nothing.
    read = (replace(_read(one), severity="") for one in listed or ())
    return tuple(one if one.reason else replace(one, reason=_NO_REASON) for one in read)


def old_conditions(thing: Object, *, foreign: bool) -> tuple[Condition, ...]:
    """Those of v1beta1. A provider that never left v1beta1 has them in the first place."""
    listed = _list_at(thing, "status", "deprecated", "v1beta1", "conditions")
    if foreign and (listed is None or not all(map(_has_time, listed))):
        listed = _list_at(thing, "status", "conditions") or []
        if not all(map(_has_time, listed)):
            return ()
    return tuple(_read(one) for one in listed or ())


def _is_condition(one: Mapping[str, Any]) -> bool:
    return bool(one.get("type")) and one.get("status") in _STATUSES and _has_time(one)


def _has_time(one: Mapping[str, Any]) -> bool:
    """Whether its time can be read; it need not have one."""
    written = one.get("lastTransitionTime")
    return not written or _time(written) is not None


def _list_at(thing: Object, *path: str) -> list[Mapping[str, Any]] | None:
    value: Any = thing
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    if not isinstance(value, list):
        return None
    return [one for one in value if isinstance(one, Mapping)]


def _read(one: Mapping[str, Any]) -> Condition:
    text = {key: value for key in _FIELDS if isinstance(value := one.get(key), str)}
    return Condition(
        text.get("type", ""),
        text.get("status", ""),
        text.get("reason", ""),
        text.get("message", ""),
        text.get("severity", ""),
        _time(text.get("lastTransitionTime")),
    )


_FIELDS: Final = ("type", "status", "reason", "message", "severity", "lastTransitionTime")


def _time(written: object) -> datetime | None:
    """As RFC 3339 has it; None for anything else."""
    if not isinstance(written, str) or not _RFC3339.fullmatch(written):
        return None
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None
