"""What a watch tells. Some of it comes decoded straight from the wire, and is a msgspec Struct for that.

`Relisted` replaces the reader's picture at once; `Changed` and `Deleted` alter it; `Undecodable` and
`Interrupted` tell what the reader cannot see for a while. `picture` keeps a picture by them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from mooring.kube.answers import Status
from mooring.kube.errors import KubeError
from mooring.kube.objects import ObjectKey

T = TypeVar("T")


class Changed(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="CHANGED"):
    """The object is there, and this is how it looks now: added or modified."""

    object: T


class Added(Changed[T], frozen=True, tag_field="type", tag="ADDED"):
    """A `Changed` for an object that the server says is new to this watch."""


class Modified(Changed[T], frozen=True, tag_field="type", tag="MODIFIED"):
    """A `Changed` for an object that was there before."""


class Deleted(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="DELETED"):
    """The object is gone, or no longer fits the selector; this is how it looked last."""

    object: T


@dataclass(frozen=True, slots=True)
class Undecodable:
    """An object that is there (or, with `deleted`, was) but does not read as the type that was asked for.

    `key` is None when not even its name could be read; a `Relisted` follows then.
    """

    key: ObjectKey | None
    error: str
    deleted: bool = False
    revision: str = ""  # its resourceVersion, where it was told by a watch


@dataclass(frozen=True, slots=True)
class Relisted(Generic[T]):
    """All there is, as of `resource_version`. What the reader knew and is not here was deleted meanwhile.

    It counts even when `resource_version` is lower than one seen before: then the server's store was set
    back.
    """

    items: Sequence[T]
    resource_version: str
    undecodable: Sequence[Undecodable] = ()
    # When it was asked for, by time.monotonic(): a write that was answered later may not be in it yet.
    asked: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The server cannot be heard; what is known may be old. The watch goes on by itself after `pause` s."""

    error: KubeError
    pause: float


Event = Relisted[T] | Changed[T] | Deleted[T] | Undecodable | Interrupted


class Mark(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a bookmark's metadata that counts."""

    resource_version: str = ""


class Marked(msgspec.Struct, frozen=True):
    metadata: Mark = Mark()


class Bookmark(msgspec.Struct, frozen=True, tag_field="type", tag="BOOKMARK"):
    """On the wire only: the watch is alive, and nothing before this revision is missing."""

    object: Marked


class Failure(msgspec.Struct, frozen=True, tag_field="type", tag="ERROR"):
    """On the wire only: the server ends the watch, and says why."""

    object: Status


Wire = Added[T] | Modified[T] | Deleted[T] | Bookmark | Failure
