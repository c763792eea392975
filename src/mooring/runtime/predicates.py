"""Which changes wake a controller.

A predicate looks at an object before and after. Creation and disappearance pass the ones that ask what changed, because
everything did. The annotation ``openmcp.cloud/operation`` is heard by every controller: an object with ``ignore`` is
left alone, whatever wakes its controller (``controller`` sees to that); ``reconcile``, or the end of ``ignore``, wakes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mooring.kube import Change

OPERATION = "openmcp.cloud/operation"
RECONCILE, IGNORE = "reconcile", "ignore"

Predicate = Callable[[Change[Any]], bool]


def anything(_change: Change[Any]) -> bool:
    return True


def generation_changed(change: Change[Any]) -> bool:
    """Somebody changed the spec, or it was created, or it is gone. Status updates do not count."""
    return _came_or_went(change) or _field(change.before, "generation") != _field(change.after, "generation")


def deletion_began(change: Change[Any]) -> bool:
    return _came_or_went(change) or (is_deleting(change.after) and not is_deleting(change.before))


def labels_changed(change: Change[Any]) -> bool:
    return _came_or_went(change) or labels_of(change.before) != labels_of(change.after)


def annotations_changed(change: Change[Any]) -> bool:
    return _came_or_went(change) or _map(change.before, "annotations") != _map(change.after, "annotations")


def operation_asked(change: Change[Any]) -> bool:
    """``reconcile`` was set, or ``ignore`` was taken away."""
    before, after = operation_of(change.before), operation_of(change.after)
    return (after == RECONCILE and before != RECONCILE) or (before == IGNORE and after != IGNORE)


def not_ignored(change: Change[Any]) -> bool:
    return not is_ignored(change.after)


def any_of(*predicates: Predicate) -> Predicate:
    return lambda change: any(predicate(change) for predicate in predicates)


def all_of(*predicates: Predicate) -> Predicate:
    return lambda change: all(predicate(change) for predicate in predicates)


# What most controllers want of the objects that they are for.
asked_for: Predicate = all_of(not_ignored, any_of(generation_changed, deletion_began, operation_asked))


def operation_of(thing: object) -> str:
    """What the operation annotation says; empty without one."""
    return _map(thing, "annotations").get(OPERATION, "")


def labels_of(thing: object) -> Mapping[str, str]:
    return _map(thing, "labels")


def is_ignored(thing: object) -> bool:
    return operation_of(thing) == IGNORE


def is_deleting(thing: object) -> bool:
    return bool(_field(thing, "deletionTimestamp", "deletion_timestamp"))


def _came_or_went(change: Change[Any]) -> bool:
    return change.before is None or change.after is None


def _map(thing: object, name: str) -> Mapping[str, str]:
    found = _field(thing, name)
    return found if isinstance(found, Mapping) else {}


def _field(thing: object, name: str, attribute: str | None = None) -> Any:
    """A field of the metadata, of a dict or of a Struct."""
    if isinstance(thing, dict):
        metadata = thing.get("metadata")
        return metadata.get(name) if isinstance(metadata, dict) else None
    return getattr(getattr(thing, "metadata", None), attribute or name, None)
