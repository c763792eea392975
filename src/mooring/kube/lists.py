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


async def collect(fetch: FetchPage, resource: Resource[T], *, path: str, page: int) -> Listing[T]:
    """The whole list, over as many pages as it takes."""
    for start in range(1, _STARTS + 1):
        size = page if start < _STARTS else None
        try:
            return await _through_all_pages(fetch, resource, path=path, size=size)
        except Gone:
            if size is None:
                raise
    raise AssertionError("the last start returns or raises")


async def _through_all_pages(fetch: FetchPage, resource: Resource[T], *, path: str, size: int | None) -> Listing[T]:
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
        items += found
        undecodable += misfits
        token = meta.continue_ or None
        if token is None:
            _name_kinds(items, resource)
            return Listing(items, meta.resource_version, undecodable)


def _name_kinds(items: list[T], resource: Resource[T]) -> None:
    # The server leaves kind and apiVersion out of the items of a list; a watch and a get have them. Whoever
    # compares or applies what was listed wants to see the same object.
    api_version, kind = resource.api_version, resource.kind
    for item in items:
        if isinstance(item, dict):
            item.setdefault("apiVersion", api_version)
            item.setdefault("kind", kind)
