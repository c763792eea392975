"""Events for people: what happened to an object, where ``kubectl describe`` shows it.

Fire and forget: a reconciler never waits for an event, and never fails for one. What repeats within some minutes is
counted on one object instead of being written again; when there is too much to tell, the rest is dropped and counted.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from dataclasses import dataclass
from typing import Any

import structlog

from mooring.kube import Client, KubeError, MergePatch, Object, key_of, uid_of, untyped
from mooring.kube.errors import NotFound
from mooring.runtime.clock import Clock
from mooring.runtime.leader import NotLeader

log = structlog.get_logger(__name__)

EVENTS = untyped(group="events.k8s.io", version="v1", plural="events", kind="Event")

_BACKLOG = 1_000  # with one writer: in a storm, news must not take the server's time from deeds
_SAME_STORY = 360.0  # seconds in which the same news is a repetition
_TELL_REPETITIONS = 60.0  # at most one write per story and minute
_LONGEST_NOTE = 1_024  # bytes: the server's limits
_LONGEST_WORD = 128


@dataclass(slots=True)
class _Story:
    name: str
    namespace: str
    count: int
    told: float
    last: float


@dataclass(frozen=True, slots=True)
class _News:
    about: tuple[str, str, str, str]
    body: Object


class Recorder:
    """Tells events in the background; :meth:`run` is the background."""

    def __init__(self, client: Client, clock: Clock, *, controller: str, instance: str) -> None:
        self._client = client
        self._clock = clock
        self._controller = controller
        self._instance = instance
        self._news: asyncio.Queue[_News] = asyncio.Queue(_BACKLOG)
        self._stories: dict[tuple[str, str, str, str], _Story] = {}
        self._swept = clock.elapsed()
        self.dropped = 0

    def tell(
        self,
        regarding: object,
        api_version: str,
        kind: str,
        *,
        reason: str,
        action: str,
        note: str,
        warning: bool = False,
    ) -> None:
        """Something happened to the object."""
        key, uid = key_of(regarding), uid_of(regarding)
        reference = {"apiVersion": api_version, "kind": kind, "namespace": key.namespace, "name": key.name, "uid": uid}
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": _name(key.name), "namespace": key.namespace or "default"},
            "eventTime": self._timestamp(),
            "reportingController": self._controller,
            "reportingInstance": self._instance[:_LONGEST_WORD],
            "type": "Warning" if warning else "Normal",
            "reason": reason[:_LONGEST_WORD],
            "action": action[:_LONGEST_WORD],
            "note": note.encode()[:_LONGEST_NOTE].decode(errors="ignore"),
            "regarding": reference,
        }
        try:
            self._news.put_nowait(_News((uid, reason, action, note), body))
        except asyncio.QueueFull:
            self.dropped += 1

    async def run(self) -> None:
        """Write what there is to tell, until cancelled."""
        while True:
            news = await self._news.get()
            try:
                await self._write(news)
            except (KubeError, NotLeader) as error:
                log.info("an event was not written", error=str(error))
            except Exception as error:
                log.error("an event was not written", exc_info=error)
            finally:
                self._news.task_done()

    async def flush(self) -> None:
        """Wait until everything has been told."""
        await self._news.join()

    async def _write(self, news: _News) -> None:
        now = self._clock.elapsed()
        story = self._stories.get(news.about)
        if story is None or now - story.last > _SAME_STORY:
            await self._client.create(EVENTS, news.body)
            metadata = news.body["metadata"]
            self._forget_old(now)
            self._stories[news.about] = _Story(metadata["name"], metadata["namespace"], 1, now, now)
            return
        story.count, story.last = story.count + 1, now
        if now - story.told >= _TELL_REPETITIONS or story.count == 2:
            story.told = now
            series = {"series": {"count": story.count, "lastObservedTime": self._timestamp()}}
            try:
                await self._client.patch(EVENTS, story.name, MergePatch(series), namespace=story.namespace)
            except NotFound:
                del self._stories[news.about]  # the server forgets events after a while: tell it anew
                await self._write(news)

    def _forget_old(self, now: float) -> None:
        if now - self._swept < _TELL_REPETITIONS:
            return  # in a burst, a look at all stories for each of them would cost more than telling them
        self._swept = now
        self._stories = {about: story for about, story in self._stories.items() if now - story.last <= _SAME_STORY}

    def _timestamp(self) -> Any:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _name(regarding: str) -> str:
    """A name for an event; an object may have one that an event may not (a colon in that of a role)."""
    begin = re.sub(r"[^a-z0-9.-]", "-", regarding[:200].lower()).strip("-.") or "event"
    return f"{begin}.{uuid.uuid4().hex[:16]}"
