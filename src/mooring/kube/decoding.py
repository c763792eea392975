"""Decoders for JSON from the wire, made once per type: of an object, of a page of a list, of watch lines.

One object that does not fit its type must not hide the others: pages and runs are decoded whole, which is
fast, and only when that fails piece by piece, which tells the misfits.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from mooring.kube.events import Added, Bookmark, Deleted, Failure, Modified, Undecodable, Wire
from mooring.kube.objects import ObjectKey
from mooring.kube.resources import Resource

T = TypeVar("T")


class PageMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, Generic[T]):
    items: list[T] | None = None
    metadata: PageMeta = PageMeta()


class _LooseMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _LooseObject(msgspec.Struct):
    metadata: _LooseMeta = msgspec.field(default_factory=_LooseMeta)


class _LooseLine(msgspec.Struct):
    type: str
    object: _LooseObject


_LOOSE_PAGE: msgspec.json.Decoder[_Page[msgspec.Raw]] = msgspec.json.Decoder(_Page[msgspec.Raw])
_LOOSE_OBJECT = msgspec.json.Decoder(_LooseObject)
_LOOSE_LINE = msgspec.json.Decoder(_LooseLine)


class Decoders(Generic[T]):
    """The decoders for the objects of one type."""

    def __init__(self, decode_as: type[T]) -> None:
        of: Any = decode_as  # a type that is only known here is more than annotations can say
        self.object: msgspec.json.Decoder[T] = msgspec.json.Decoder(of)
        self._page: msgspec.json.Decoder[_Page[T]] = msgspec.json.Decoder(_Page[of])
        self._line: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
            Added[of] | Modified[of] | Deleted[of] | Bookmark | Failure
        )

    def page(self, body: bytes) -> tuple[list[T], list[Undecodable], PageMeta]:
        """The objects of one page; raises msgspec.MsgspecError if it is no page at all."""
        try:
            page = self._page.decode(body)
        except msgspec.MsgspecError:
            loose = _LOOSE_PAGE.decode(body)
            fitting, misfits = self._sorted_out(loose.items or [])
            return fitting, misfits, loose.metadata
        return page.items or [], [], page.metadata

    def lines(self, block: bytes) -> list[Wire[T] | Undecodable]:
        """What a block of whole lines says, in order."""
        try:
            return self._line.decode_lines(block)
        except msgspec.MsgspecError:
            return [self._one(line) for line in block.split(b"\n") if line.strip()]

    def _sorted_out(self, items: list[msgspec.Raw]) -> tuple[list[T], list[Undecodable]]:
        fitting: list[T] = []
        misfits: list[Undecodable] = []
        for raw in items:
            try:
                fitting.append(self.object.decode(raw))
            except msgspec.MsgspecError as error:
                misfits.append(Undecodable(_key_within(raw), str(error)))
        return fitting, misfits

    def _one(self, line: bytes) -> Wire[T] | Undecodable:
        try:
            said: Wire[T] = self._line.decode(line)
            return said
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return _poisoned(line, str(error))


def _poisoned(line: bytes, error: str) -> Undecodable:
    try:
        loose = _LOOSE_LINE.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Undecodable(None, error)
    deleted, revision = loose.type == "DELETED", loose.object.metadata.resource_version
    return Undecodable(_key(loose.object), error, deleted=deleted, revision=revision)


def _key_within(raw: msgspec.Raw) -> ObjectKey | None:
    try:
        return _key(_LOOSE_OBJECT.decode(raw))
    except msgspec.MsgspecError:
        return None


def _key(loose: _LooseObject) -> ObjectKey | None:
    meta = loose.metadata
    return ObjectKey(meta.namespace, meta.name) if meta.name else None


_MADE: dict[Any, Decoders[Any]] = {}


def decoders_for(resource: Resource[T]) -> Decoders[T]:
    """The decoders for this resource's objects; making them takes long, so they are kept."""
    made: Decoders[T] | None = _MADE.get(resource.decode_as)
    if made is None:
        made = _MADE[resource.decode_as] = Decoders(resource.decode_as)
    return made
