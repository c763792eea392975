"""A picture of a collection, kept by the events of a watch, that tells what each event changed.

A relist brings only what is there. The picture knows what was there before, and so tells the deletions that
nobody saw happen: also that of an object whose name is taken again by another one (its uid differs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from mooring.kube.events import Changed, Deleted, Event, Relisted, Undecodable
from mooring.kube.objects import ObjectKey, key_of, revision_of, uid_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One object, before and after. None: it was not there, or no longer is."""

    key: ObjectKey
    before: T | None
    after: T | None


class Picture(Generic[T]):
    """Key to object, as far as the server has told. What cannot be decoded is held by name only."""

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, T] = {}
        self._undecodable: dict[ObjectKey, str] = {}

    @property
    def objects(self) -> Mapping[ObjectKey, T]:
        return self._objects

    @property
    def undecodable(self) -> Mapping[ObjectKey, str]:
        """What is there and cannot be read, with the decoder's complaint."""
        return self._undecodable

    def __len__(self) -> int:
        return len(self._objects)

    def apply(self, event: Event[T]) -> list[Change[T]]:
        """Take an event in; what it changed, deletions first."""
        match event:
            case Relisted():
                return self._replaced(event)
            case Changed(object=thing):
                key = key_of(thing)
                self._undecodable.pop(key, None)
                return list(_changes(key, self._set(key, thing), thing))
            case Deleted(object=thing):
                return self._gone(key_of(thing))
            case Undecodable(key=ObjectKey() as key, error=error, deleted=deleted):
                changes = self._gone(key)
                if not deleted:
                    self._undecodable[key] = error
                return changes
        return []

    def _replaced(self, event: Relisted[T]) -> list[Change[T]]:
        before, self._objects = self._objects, {key_of(thing): thing for thing in event.items}
        self._undecodable = {lost.key: lost.error for lost in event.undecodable if lost.key is not None}
        changes = [Change(key, thing, None) for key, thing in before.items() if key not in self._objects]
        for key, thing in self._objects.items():
            changes += _changes(key, before.get(key), thing)
        return sorted(changes, key=lambda change: change.after is not None)

    def _set(self, key: ObjectKey, thing: T) -> T | None:
        before = self._objects.get(key)
        self._objects[key] = thing
        return before

    def _gone(self, key: ObjectKey) -> list[Change[T]]:
        self._undecodable.pop(key, None)
        before = self._objects.pop(key, None)
        return [] if before is None else [Change(key, before, None)]


def _changes(key: ObjectKey, before: T | None, after: T) -> Iterator[Change[T]]:
    if before is not None and uid_of(before) != uid_of(after):
        yield Change(key, before, None)
        before = None
    if before is None or revision_of(before) != revision_of(after):
        yield Change(key, before, after)
