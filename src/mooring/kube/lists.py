"""All objects of a kind, page by page, as of one revision.

The pages of one list hang together by a token that the server forgets after some minutes. When it has
forgotten (410), what was read so far is no longer a state that ever was together: the list starts over, and
at last asks for everything in one answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from mooring.kube.decoding import decoders_for
from mooring.kube.errors import BadAnswer, Gone
from mooring.kube.events import Undecodable
from mooring.kube.objects import ObjectKey, key_of
from mooring.kube.resources import Resource

T = TypeVar("T")

PAGE = 500
_STARTS = 4


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A whole collection, as of `resource_version`."""

    items: list[T]
    resource_version: str
    undecodable: Sequence[Undecodable] = ()


# (page size or None for everything, continue token or None for the first page) -> the body of the answer
FetchPage = Callable[[int | None, str | None], Awaitable[bytes]]
# What the reader has under this key already.
Known = Callable[[ObjectKey], T | None]


async def collect(
    fetch: FetchPage, resource: Resource[T], *, path: str, page: int, known: Known[T] | None = None
) -> Listing[T]:
    """The whole list, over as many pages as it takes."""
    for start in range(1, _STARTS + 1):
        size = page if start < _STARTS else None
        try:
            return await _through_all_pages(fetch, resource, path=path, size=size, known=known)
        except Gone:
            if size is None:
                raise
    raise AssertionError("the last start returns or raises")


async def _through_all_pages(
    fetch: FetchPage, resource: Resource[T], *, path: str, size: int | None, known: Known[T] | None
) -> Listing[T]:
    decoders = decoders_for(resource)
    items: list[T] = []
    undecodable: list[Undecodable] = []
    token: str | None = None
    while True:
        body = await fetch(size, token)
        try:
            found, misfits, meta = decoders.page(body)
        except msgspec.MsgspecError as error:
            raise BadAnswer(f"not a list of {resource.kind}: {error}", verb="GET", path=path) from error
        _name_kinds(found, resource)
        items += found if known is None else [_shared(item, known) for item in found]
        undecodable += misfits
        token = meta.continue_ or None
        if token is None:
            return Listing(items, meta.resource_version, undecodable)


def _shared(item: T, known: Known[T]) -> T:
    """What the reader has, if it is equal: who lists again need not hold everything twice."""
    there = known(key_of(item))
    return there if there is not None and there == item else item


def _name_kinds(items: list[T], resource: Resource[T]) -> None:
    # The server leaves kind and apiVersion out of the items of a list; a watch and a get have them. Whoever
    # compares or applies what was listed wants to see the same object.
    api_version, kind = resource.api_version, resource.kind
    for item in items:
        if isinstance(item, dict):
            item.setdefault("apiVersion", api_version)
            item.setdefault("kind", kind)
