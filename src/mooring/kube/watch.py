"""A watch that survives: whatever fault comes, the reader's picture ends up equal to the server's state.

List, then watch from the list's revision, with bookmarks. Then, by fault:

- the server ends the watch in good order: go on from the last revision;
- `410 Gone`, as an answer or inside the stream: list again;
- silence for three bookmark periods: nobody is there, or we wait for a revision that the server does not have
  yet (below): list again;
- the connection breaks: go on from the last revision, after asking the server which one it is at. If that is
  behind ours, its store was set back (a restore), and a watch from our revision would stay silent until it
  catches up (seen on a real server: no events, no bookmarks, no error): list again;
- the server cannot be reached again at the first try: it was away, and may have come back with another past,
  which a number cannot always tell: list again.

Guarantees: events of one object come in the server's order. A line that was cut is not an event. Cancelling, or
closing the iterator, closes the connection at once. Assumptions: revisions are numbers that grow, as etcd's are;
where they are not, every break lists again. Caveats: between a break and the next event the picture is old;
`Interrupted` says so. A store that was set back and has overtaken our revision before a cut is noticed, without
ever having been away for us, goes unseen.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypedDict, TypeVar, cast

import msgspec

from mooring.kube.answers import error_from_status
from mooring.kube.client import Client
from mooring.kube.decoding import decoders_for
from mooring.kube.errors import BadAnswer, Gone, KubeError, NoAnswer, ServerError, Timeout, Unreachable
from mooring.kube.events import (
    Added,
    Bookmark,
    Changed,
    Deleted,
    Event,
    Failure,
    Interrupted,
    Mark,
    Modified,
    Relisted,
    Undecodable,
    Wire,
)
from mooring.kube.lists import Known
from mooring.kube.objects import revision_of
from mooring.kube.resources import Resource
from mooring.kube.streams import Blocks
from mooring.kube.timeouts import Backoff

T = TypeVar("T")

# How long the server keeps one watch open; spread, so that many watches do not end together.
_SHORTEST, _LONGEST = 300, 600
# A watch that ends in good order sooner than this, and without a word, is a fault all the same.
_TOO_SHORT = 5.0


async def watching(
    client: Client,
    resource: Resource[T],
    *,
    namespace: str | None = None,
    label_selector: str | None = None,
    field_selector: str | None = None,
    known: Known[T] | None = None,
) -> AsyncGenerator[Event[T], None]:
    """The events of a collection, without end; the first (unless an `Interrupted`) is a `Relisted`.

    Raises only what waiting cannot mend: a selector that is none, a kind that cannot be watched. A reader
    that stops early closes it: `async with contextlib.aclosing(watching(...)) as events`. A reader that says what
    it has (`known`) gets that back in a `Relisted`, where it is equal, and so never holds everything twice.
    """
    watch = _Watch(client, resource, namespace, label_selector, field_selector, known)
    backoff = Backoff(first=0.1, longest=30.0)
    while True:
        try:
            if await watch.must_list():
                yield await watch.listed()
            async with watch.opened() as blocks:
                watch.began()
                async for block in blocks:
                    events, fault = watch.read(block)
                    for event in events:
                        yield event
                    if fault is not None:
                        raise fault
                    backoff.reset()
                watch.ended()
            continue
        except KubeError as error:
            if error.terminal:
                raise
            watch.broke(error)
            trouble = Interrupted(error, backoff.next_pause())
        yield trouble
        await asyncio.sleep(trouble.pause)


class _Selectors(TypedDict):
    label_selector: str | None
    field_selector: str | None


class _Watch(Generic[T]):
    """What is known of the course of one watch, and what follows from it."""

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        namespace: str | None,
        label_selector: str | None,
        field_selector: str | None,
        known: Known[T] | None,
    ) -> None:
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._selectors: _Selectors = {"label_selector": label_selector, "field_selector": field_selector}
        self._known = known
        self._path = resource.path(namespace=namespace)
        self._decoders = decoders_for(resource)
        self._revision = ""  # empty: only a list can tell where to go on
        self._doubtful = False  # broken since the last word: is the server's past still ours?
        self._began: float | None = None
        self._heard = False

    async def must_list(self) -> bool:
        if self._revision and self._doubtful:
            if _behind(await self._server_revision(), self._revision):
                return True
            self._doubtful = False
        return not self._revision

    async def listed(self) -> Relisted[T]:
        asked = time.monotonic()
        listing = await self._client.list(
            self._resource, namespace=self._namespace, whole=False, known=self._known, **self._selectors
        )
        self._revision, self._doubtful = listing.resource_version, False
        return Relisted(listing.items, listing.resource_version, listing.undecodable, asked)

    def opened(self) -> AbstractAsyncContextManager[Blocks]:
        self._began, self._heard = None, False
        return self._client.watch_stream(
            self._resource,
            resource_version=self._revision,
            namespace=self._namespace,
            seconds=random.randint(_SHORTEST, _LONGEST),  # noqa: S311
            **self._selectors,
        )

    def began(self) -> None:
        self._began = time.monotonic()

    def read(self, block: bytes) -> tuple[Sequence[Event[T]], KubeError | None]:
        """What a block tells the reader, and the fault that ends the watch after it, if there is one."""
        self._heard = True
        said = self._decoders.lines(block)
        if _CHANGES.issuperset(map(type, said)):
            # Nearly always: nothing has to be looked at one by one.
            return cast("Sequence[Event[T]]", said), self._advanced(said)
        fault = None
        for index, word in enumerate(said):
            fault = self._fault(word)
            if fault is not None:
                said = said[: index + 1]
                break
        told: list[Event[T]] = [word for word in said if not isinstance(word, (Bookmark, Failure))]
        return told, self._advanced(said) or fault

    def _fault(self, word: object) -> KubeError | None:
        if isinstance(word, Failure):
            return error_from_status(word.object, verb="WATCH", path=self._path)
        if isinstance(word, Undecodable) and word.key is None:
            # An unreadable line without a name: something changed, and only a list can tell what.
            self._revision = ""
            return BadAnswer(f"a line that cannot be read: {word.error}", verb="WATCH", path=self._path)
        return None

    def _advanced(self, said: Sequence[Wire[T] | Undecodable]) -> KubeError | None:
        # One look per block is enough: its words are in the order of their revisions.
        for word in reversed(said):
            if isinstance(word, Bookmark):
                revision = word.object.metadata.resource_version
            elif isinstance(word, (Changed, Deleted)):
                revision = revision_of(word.object)
            else:
                continue
            return self._moved_to(revision)
        return None

    def _moved_to(self, revision: str) -> KubeError | None:
        if not revision or not self._revision:
            return None
        if _behind(revision, self._revision):
            self._revision = ""
            return Unreachable("the server's revisions went back", verb="WATCH", path=self._path)
        self._revision = revision
        return None

    def ended(self) -> None:
        """The server closed in good order; raises if it did so before the watch was one."""
        lived = time.monotonic() - (self._began or 0.0)
        if not self._heard and lived < _TOO_SHORT:
            raise Unreachable("the server ended the watch at once", verb="WATCH", path=self._path)

    def broke(self, error: KubeError) -> None:
        """Decide where to go on after this fault."""
        established = self._began is not None
        self._began = None
        if isinstance(error, (Gone, Timeout)):
            self._revision = ""
        elif established:
            self._doubtful = True
        elif isinstance(error, (NoAnswer, ServerError)):
            self._revision = ""  # it was away: see above

    async def _server_revision(self) -> str:
        # With the same selectors, since we may not be allowed to ask for more. One try only: if it takes more, the
        # server was away, and a list is due anyway.
        labels, fields = self._selectors["label_selector"], self._selectors["field_selector"]
        parameters = {"limit": 1, "labelSelector": labels or None, "fieldSelector": fields or None}
        body = await self._client.raw(
            "GET", self._path, parameters=parameters, accept="application/json", patiently=False
        )
        try:
            return msgspec.json.decode(body, type=_Revised).metadata.resource_version
        except msgspec.MsgspecError as error:
            raise BadAnswer(f"not a list: {error}", verb="GET", path=self._path) from error


class _Revised(msgspec.Struct):
    metadata: Mark


_CHANGES = frozenset({Added, Modified, Deleted})


def _behind(server: str, ours: str) -> bool:
    """Whether the server's revision is older than ours; also when that cannot be known."""
    try:
        return int(server) < int(ours)
    except ValueError:
        return True
