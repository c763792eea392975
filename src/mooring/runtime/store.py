"""The indexed cache of one kind of object: what reconcilers read instead of asking the server.

Fed by a watch, and told of our own writes, so that whoever wrote sees at least what it wrote:

- an event that is older than what the store holds under the same name is ignored, and so is the answer to a write that
  comes when the watch has told of later revisions already;
- an object that we deleted (for good: its finalizers were gone) leaves a tombstone, so that late news of it does not
  bring it back;
- a relist replaces everything, also when revisions went back, as after a restore. What stays is what we wrote *after*
  the list was asked for, if it is of a later revision than the list: that list cannot know it.

Guarantees: when the watch is quiet, the store equals the server's state, and every index equals a scan. A look-up costs
the same however many objects there are. An object on which an index function fails is skipped and named, like one that
cannot be decoded; a listener that fails keeps nobody else from hearing. Assumptions: one event loop; objects are not
changed by those who read them; revisions are numbers that grow over all objects of the kind, as etcd's are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

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

log = structlog.get_logger(__name__)

_NOTHING: dict[ObjectKey, None] = {}


@dataclass(frozen=True, slots=True)
class _Grave:
    """An object that a write of ours made disappear; what is told of it up to the revision is old."""

    dug: float
    revision: float = math.inf


class Store(Generic[T]):
    """Objects by key, and by whatever the indexes say. ``admits`` tells whether the watch would show an object."""

    def __init__(
        self, indexes: Mapping[str, IndexFunction[T]] | None = None, *, admits: Callable[[T], bool] = lambda _: True
    ) -> None:
        self._admits = admits
        self._objects: dict[ObjectKey, T] = {}
        self._functions = dict(indexes or {})
        # Dicts without values are sets that keep their order, so that the same history gives the same answers.
        self._indexes: dict[str, dict[Hashable, dict[ObjectKey, None]]] = {name: {} for name in self._functions}
        self._undecodable: dict[ObjectKey, str] = {}
        self._written: dict[ObjectKey, float] = {}  # what we wrote and the watch has not confirmed yet
        self._graves: dict[str, _Grave] = {}  # by uid
        self._heard = 0  # the latest revision that the watch has told of
        self._listeners: list[Listener[T]] = []
        self._clearing: list[Callable[[], None]] = []
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
        """The keys of all objects that the index files under this value, as they change: copy before you await."""
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

    def subscribe(self, listener: Listener[T], *, cleared: Callable[[], None] | None = None) -> None:
        """Tell the listener of every change from now on; ``cleared`` is called when the store forgets everything.

        Whoever keeps a book of its own on what it hears needs both.
        """
        self._listeners.append(listener)
        if cleared is not None:
            self._clearing.append(cleared)

    def apply(self, event: Event[T]) -> None:
        """Take in what a watch tells."""
        match event:
            case Relisted():
                self._replace(event)
            case Changed(object=thing):
                self._observe(thing)
            case Deleted(object=thing):
                self._observe_gone(thing)
            case Undecodable(key=ObjectKey() as key):
                self._observe_unreadable(key, event)

    def wrote(self, thing: T) -> None:
        """The server's answer to a write of ours."""
        key, revision = key_of(thing), _number(revision_of(thing))
        if 0 < revision <= self._heard or self._is_buried(thing) or not self._is_news(key, thing):
            return  # the watch was faster, or a later write of ours
        if not self._admits(thing):
            self._bury(key, thing, revision)
            return
        self._put(key, thing)
        if key in self._objects:
            self._written[key] = time.monotonic()

    def deleted(self, thing: T) -> None:
        """We deleted this object, and the server said that it is gone for good."""
        if _number(revision_of(thing)) > self._heard:
            self._graves[uid_of(thing)] = _Grave(time.monotonic())  # the watch is still to tell that it was there
        self._bury(key_of(thing), thing)

    def clear(self) -> None:
        """Forget everything, without a word on single objects: what follows is a relist."""
        self._objects.clear()
        self._undecodable.clear()
        self._written.clear()
        self._graves.clear()
        for filed in self._indexes.values():
            filed.clear()
        self._heard = 0
        self.synced = False
        for cleared in self._clearing:
            try:
                cleared()
            except Exception as error:
                log.error("a store was emptied, and one who listens did not follow", exc_info=error)

    def _observe(self, thing: T) -> None:
        key = key_of(thing)
        self._heard = max(self._heard, _number(revision_of(thing)))
        self._undecodable.pop(key, None)
        if self._is_buried(thing):
            return
        self._graves.pop(uid_of(thing), None)
        if self._is_news(key, thing):
            self._written.pop(key, None)
            self._put(key, thing)

    def _observe_gone(self, thing: T) -> None:
        key = key_of(thing)
        self._heard = max(self._heard, _number(revision_of(thing)))
        self._undecodable.pop(key, None)
        self._graves.pop(uid_of(thing), None)
        if self._is_news(key, thing):
            self._remove(key)

    def _observe_unreadable(self, key: ObjectKey, lost: Undecodable) -> None:
        revision, known = _number(lost.revision), self._objects.get(key)
        self._heard = max(self._heard, revision)
        if known is not None and 0 < revision < _number(revision_of(known)):
            return
        self._remove(key)
        if lost.deleted:
            self._undecodable.pop(key, None)
        else:
            self._undecodable[key] = lost.error

    def _replace(self, event: Relisted[T]) -> None:
        listed = {key_of(thing): thing for thing in event.items}
        self._heard = _number(event.resource_version)
        self._graves = {uid: grave for uid, grave in self._graves.items() if grave.dug >= event.asked}
        self._written = {key: when for key, when in self._written.items() if self._outlasts(key, when, event)}
        self._undecodable = {lost.key: lost.error for lost in event.undecodable if lost.key is not None}
        for key in [key for key in self._objects if key not in listed and key not in self._written]:
            self._remove(key)
        for key, thing in listed.items():
            if key not in self._written and not self._is_buried(thing):
                self._put(key, thing)
        self.synced = True

    def _outlasts(self, key: ObjectKey, when: float, event: Relisted[T]) -> bool:
        """Whether what we wrote is later than the list. Time tells an old list from a store that was set back."""
        return when >= event.asked and _number(revision_of(self._objects[key])) > _number(event.resource_version)

    def _is_news(self, key: ObjectKey, thing: T) -> bool:
        known = self._objects.get(key)
        return known is None or _number(revision_of(known)) <= _number(revision_of(thing))

    def _is_buried(self, thing: T) -> bool:
        grave = self._graves.get(uid_of(thing)) if self._graves else None
        return grave is not None and _number(revision_of(thing)) <= grave.revision

    def _bury(self, key: ObjectKey, thing: T, revision: float = math.inf) -> None:
        known = self._objects.get(key)
        if known is not None and uid_of(known) == uid_of(thing):
            self._graves[uid_of(thing)] = _Grave(time.monotonic(), revision)
            self._remove(key)

    # -- keeping the books --------------------------------------------------------------------------------------

    def _put(self, key: ObjectKey, thing: T) -> None:
        before = self._objects.get(key)
        if before is not None:
            if uid_of(before) != uid_of(thing):
                self._remove(key)
                before = None
            elif revision_of(before) == revision_of(thing) and before == thing:
                return  # a revision alone may come back with another content, after a restore
        try:
            filed = self._filed(thing)
        except Exception as error:
            log.error("an object cannot be filed and is skipped", key=str(key), exc_info=error)
            self._remove(key)
            self._undecodable[key] = f"{type(error).__name__}: {error}"
            return
        self._undecodable.pop(key, None)
        self._objects[key] = thing
        self._file(key, self._filed(before), filed)
        self._tell(Change(key, before, thing))

    def _remove(self, key: ObjectKey) -> None:
        self._written.pop(key, None)
        before = self._objects.pop(key, None)
        if before is not None:
            self._file(key, self._filed(before), self._filed(None))
            self._tell(Change(key, before, None))

    def _filed(self, thing: T | None) -> dict[str, set[Hashable]]:
        """By index, the values that an object is filed under."""
        return {name: set() if thing is None else set(function(thing)) for name, function in self._functions.items()}

    def _file(self, key: ObjectKey, before: dict[str, set[Hashable]], after: dict[str, set[Hashable]]) -> None:
        for name, filed in self._indexes.items():
            old, new = before[name], after[name]
            for value in old - new:
                entries = filed[value]
                del entries[key]
                if not entries:
                    del filed[value]
            for value in new - old:
                filed.setdefault(value, {})[key] = None

    def _tell(self, change: Change[T]) -> None:
        for listener in self._listeners:
            try:
                listener(change)
            except Exception as error:
                log.error("a change was not understood by one who listens", key=str(change.key), exc_info=error)


def _number(revision: str) -> int:
    """A revision to compare; 0 for what is none."""
    return int(revision) if revision.isdecimal() else 0
