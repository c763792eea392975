"""The indexed cache of one kind of object: what reconcilers read instead of asking the server.

Fed by a watch, and told of our own writes, so that whoever wrote sees at least what it wrote:

- an event that is older than what the store holds of the same object is ignored;
- an object that we deleted (for good: its finalizers were gone) leaves a tombstone, so that late news of it does not
  bring it back;
- a relist replaces everything, also when revisions went back, as after a restore. Only what we wrote *after* the list
  was asked for stays, because that list cannot know it.

Guarantees: when the watch is quiet, the store equals the server's state, and every index equals a scan. A look-up costs
the same however many objects there are. Assumptions: one event loop; objects are not changed by those who read them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from mooring.kube import (
    Change,
    Changed,
    Deleted,
    Event,
    ObjectKey,
    Relisted,
    Undecodable,
    key_of,
    revision_of,
    uid_of,
)

T = TypeVar("T")

IndexFunction = Callable[[T], Iterable[Hashable]]
Listener = Callable[[Change[T]], None]

_NOTHING: dict[ObjectKey, None] = {}


@dataclass(frozen=True, slots=True)
class _Grave:
    """An object that we deleted."""

    uid: str
    dug: float


class Store(Generic[T]):
    """Objects by key, and by whatever the indexes say."""

    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._objects: dict[ObjectKey, T] = {}
        self._functions = dict(indexes or {})
        # Dicts without values are sets that keep their order, so that the same history gives the same answers.
        self._indexes: dict[str, dict[Hashable, dict[ObjectKey, None]]] = {name: {} for name in self._functions}
        self._undecodable: dict[ObjectKey, str] = {}
        self._written: dict[ObjectKey, float] = {}  # what we wrote and the watch has not confirmed yet
        self._graves: dict[ObjectKey, _Grave] = {}
        self._listeners: list[Listener[T]] = []
        self.synced = False

    def index(self, name: str, function: IndexFunction[T]) -> None:
        """Add an index; the same name must mean the same function for everybody who shares the store."""
        known = self._functions.setdefault(name, function)
        if known is not function:
            raise ValueError(f"the index {name!r} is taken by another function")
        if name not in self._indexes:
            self._indexes[name] = {}
            for key, thing in self._objects.items():
                for value in function(thing):
                    self._indexes[name].setdefault(value, {})[key] = None

    # -- reading ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._objects

    def get(self, key: ObjectKey) -> T | None:
        return self._objects.get(key)

    def keys_by(self, index: str, value: Hashable) -> Collection[ObjectKey]:
        """The keys of all objects that the index files under this value."""
        return self._indexes[index].get(value, _NOTHING).keys()

    def by(self, index: str, value: Hashable) -> list[T]:
        """Those objects."""
        return [self._objects[key] for key in self._indexes[index].get(value, _NOTHING)]

    def values(self, index: str) -> Collection[Hashable]:
        """Everything that the index files something under."""
        return self._indexes[index].keys()

    @property
    def undecodable(self) -> Mapping[ObjectKey, str]:
        """Objects that are there and cannot be read, with the complaint."""
        return self._undecodable

    # -- hearing ------------------------------------------------------------------------------------------------

    def subscribe(self, listener: Listener[T]) -> None:
        """Tell the listener of every change from now on."""
        self._listeners.append(listener)

    def apply(self, event: Event[T]) -> None:
        """Take in what a watch tells."""
        match event:
            case Relisted():
                self._replace(event)
            case Changed(object=thing):
                self._observe(thing)
            case Deleted(object=thing):
                self._observe_gone(thing)
            case Undecodable(key=ObjectKey() as key, error=error, deleted=deleted):
                self._remove(key)
                if not deleted:
                    self._undecodable[key] = error

    def wrote(self, thing: T) -> None:
        """The server's answer to a write of ours."""
        key = key_of(thing)
        if self._is_news(key, thing):
            self._written[key] = time.monotonic()
            self._put(key, thing)

    def deleted(self, thing: T) -> None:
        """We deleted this object, and the server said that it is gone for good."""
        key, uid = key_of(thing), uid_of(thing)
        known = self._objects.get(key)
        if known is not None and uid_of(known) != uid:
            return  # its name has been taken again already
        self._graves[key] = _Grave(uid, time.monotonic())
        self._remove(key)

    def clear(self) -> None:
        """Forget everything, without telling anyone: what follows is a relist."""
        self._objects.clear()
        self._undecodable.clear()
        self._written.clear()
        self._graves.clear()
        for filed in self._indexes.values():
            filed.clear()
        self.synced = False

    def _observe(self, thing: T) -> None:
        key = key_of(thing)
        self._undecodable.pop(key, None)
        grave = self._graves.get(key)
        if grave is not None:
            if grave.uid == uid_of(thing):
                return
            del self._graves[key]
        if self._is_news(key, thing):
            self._written.pop(key, None)
            self._put(key, thing)

    def _observe_gone(self, thing: T) -> None:
        key, uid = key_of(thing), uid_of(thing)
        self._undecodable.pop(key, None)
        grave = self._graves.get(key)
        if grave is not None and grave.uid == uid:
            del self._graves[key]
        known = self._objects.get(key)
        if known is not None and (uid_of(known) == uid or not _newer(known, thing)):
            self._remove(key)

    def _is_news(self, key: ObjectKey, thing: T) -> bool:
        known = self._objects.get(key)
        return known is None or not _newer(known, thing)

    def _replace(self, event: Relisted[T]) -> None:
        listed = {key_of(thing): thing for thing in event.items}
        kept = {key for key, when in self._written.items() if when >= event.asked}
        self._graves = {key: grave for key, grave in self._graves.items() if grave.dug >= event.asked}
        self._written = {key: self._written[key] for key in kept}
        self._undecodable = {lost.key: lost.error for lost in event.undecodable if lost.key is not None}
        for key in [key for key in self._objects if key not in listed and key not in kept]:
            self._remove(key)
        for key, thing in listed.items():
            grave = self._graves.get(key)
            if grave is not None and grave.uid == uid_of(thing):
                continue
            if key not in kept or self._is_news(key, thing):
                self._put(key, thing)
        self.synced = True

    # -- keeping the books --------------------------------------------------------------------------------------

    def _put(self, key: ObjectKey, thing: T) -> None:
        before = self._objects.get(key)
        if before is not None:
            if uid_of(before) != uid_of(thing):
                self._remove(key)
                before = None
            elif revision_of(before) == revision_of(thing):
                return
        self._objects[key] = thing
        self._file(key, before, thing)
        self._tell(Change(key, before, thing))

    def _remove(self, key: ObjectKey) -> None:
        self._written.pop(key, None)
        before = self._objects.pop(key, None)
        if before is not None:
            self._file(key, before, None)
            self._tell(Change(key, before, None))

    def _file(self, key: ObjectKey, before: T | None, after: T | None) -> None:
        for name, function in self._functions.items():
            filed = self._indexes[name]
            old = set() if before is None else set(function(before))
            new = set() if after is None else set(function(after))
            for value in old - new:
                entries = filed[value]
                del entries[key]
                if not entries:
                    del filed[value]
            for value in new - old:
                filed.setdefault(value, {})[key] = None

    def _tell(self, change: Change[T]) -> None:
        for listener in self._listeners:
            listener(change)


def _newer(known: object, thing: object) -> bool:
    """Whether what we know is of the same object and of a later revision."""
    try:
        return uid_of(known) == uid_of(thing) and int(revision_of(known)) > int(revision_of(thing))
    except ValueError:
        return False
