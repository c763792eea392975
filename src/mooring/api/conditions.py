"""Conditions in the form of ``metav1.Condition``, and what they add up to for *kstatus*.

kstatus is how ``kubectl wait``, Flux and Argo CD read any object: it is current when its status speaks of its present
generation and ``Ready`` is True, and it has failed when ``Stalled`` is True. Everything here is a function of values:
the time comes in as text, as the server writes it, and a condition keeps its time until its status changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final

from mooring.api.kinds import Metadata, Part, share
from mooring.api.references import Time
from mooring.api.schema import about

READY: Final = "Ready"
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"

_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


class Truth(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Part, frozen=True, kw_only=True):
    """One observation about the object, with the time of its last change."""

    type: Annotated[
        str,
        about(
            "What is observed, in CamelCase, such as Ready; may have a domain in front.",
            max_length=316,
            pattern=_TYPE,
        ),
    ]
    status: Annotated[Truth, about("Whether it holds: True, False, or Unknown if that cannot be told.")]
    last_transition_time: Annotated[Time, about("When the status of this condition last changed.")]
    reason: Annotated[
        str,
        about("Why, as one CamelCase word for programs.", min_length=1, max_length=1024, pattern=_REASON),
    ]
    message: Annotated[str, about("Why, in a sentence for people. May be empty.", max_length=32_768)]
    observed_generation: Annotated[
        int,
        about(
            """The metadata.generation that this was observed on. If it is behind the object's, the condition speaks of
            an older spec.""",
            format="int64",
            minimum=0,
        ),
    ] = 0

    def __post_init__(self) -> None:
        share(self, "type", "reason", "last_transition_time")


Conditions = Annotated[
    tuple[Condition, ...],
    about("What is observed about the object, one entry for each type.", list_type="map", list_map_keys=("type",)),
]


def found(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of this type, if it is there."""
    return next((one for one in conditions if one.type == kind), None)


def is_true(conditions: Iterable[Condition], kind: str, *, generation: int | None = None) -> bool:
    """Whether the condition holds; with `generation`, whether it was also observed on that one."""
    one = found(conditions, kind)
    return one is not None and one.status is Truth.TRUE and generation in (None, one.observed_generation)


def with_condition(
    conditions: tuple[Condition, ...],
    kind: str,
    status: Truth,
    *,
    reason: str,
    message: str = "",
    generation: int,
    now: str,
) -> tuple[Condition, ...]:
    """The conditions with this one set. The very same tuple if that changes nothing, so that nothing is written."""
    old = found(conditions, kind)
    since = old.last_transition_time if old is not None and old.status is status else now
    new = Condition(
        type=kind,
        status=status,
        last_transition_time=since,
        reason=reason,
        message=message,
        observed_generation=generation,
    )
    if new == old:
        return conditions
    if old is None:
        return (*conditions, new)
    return tuple(new if one is old else one for one in conditions)


def without_condition(conditions: tuple[Condition, ...], kind: str) -> tuple[Condition, ...]:
    """The conditions without those of this type."""
    if found(conditions, kind) is None:
        return conditions
    return tuple(one for one in conditions if one.type != kind)


def with_ready(
    conditions: tuple[Condition, ...],
    parts: Iterable[str],
    *,
    generation: int,
    now: str,
    reason: str = "AllGood",
    message: str = "",
) -> tuple[Condition, ...]:
    """The conditions with ``Ready`` as the sum of others: True if all are, else what the worst of them says.

    False is worse than Unknown, and of two that are equally bad the first counts. A part that is missing is Unknown.
    """
    worst: tuple[Truth, str, str] = (Truth.TRUE, reason, message)
    for kind in parts:
        one = found(conditions, kind)
        if one is None:
            said = (Truth.UNKNOWN, f"{kind}Unknown", f"{kind} has not been observed yet")
        else:
            said = (one.status, one.reason, one.message or f"{kind} is {one.status}")
        if _badness(said[0]) > _badness(worst[0]):
            worst = said
    status, why, text = worst
    return with_condition(conditions, READY, status, reason=why, message=text, generation=generation, now=now)


def _badness(status: Truth) -> int:
    return (Truth.TRUE, Truth.UNKNOWN, Truth.FALSE).index(status)


class KStatus(StrEnum):
    """What kstatus makes of an object."""

    CURRENT = "Current"
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    TERMINATING = "Terminating"


def kstatus(metadata: Metadata, *, observed_generation: int | None, conditions: Iterable[Condition]) -> KStatus:
    """How ``kubectl wait --for=…``, Flux and Argo CD would call the state of this object."""
    known = tuple(conditions)
    if metadata.deleting:
        return KStatus.TERMINATING
    if observed_generation is not None and observed_generation != metadata.generation:
        return KStatus.IN_PROGRESS
    if is_true(known, RECONCILING):
        return KStatus.IN_PROGRESS
    if is_true(known, STALLED):
        return KStatus.FAILED
    ready = found(known, READY)
    return KStatus.CURRENT if ready is None or ready.status is Truth.TRUE else KStatus.IN_PROGRESS
