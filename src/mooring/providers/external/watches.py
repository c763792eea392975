"""What wakes those who wait for a kubeconfig: one watch for each Secret that somebody refers to, and for no other.

Guarantees:
    Contents never come here, only the metadata of Secrets. Whoever has read a Secret at one revision is woken when it
    is at another one, or gone; also if that happened before the watch began, or while it was read.

Assumptions:
    Everything happens on one event loop. Users are Clusters and configurations (whose keys have no namespace); the
    latter are asked again and again as long as they are there, so that one who is not heard of any more is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mooring.kube import Bare, Changed, Client, Deleted, Event, ObjectKey, Relisted, metadata_of, watching
from mooring.providers.external.adoption import CLAIMS
from mooring.providers.external.sources import SECRETS

Wake = Callable[[ObjectKey], None]

_NOT_HEARD_OF = 600.0  # seconds


@dataclass(slots=True)
class _Use:
    secret: ObjectKey
    revision: str | None = None  # that it was read at; empty if it was not there, None before the first look
    heard: str | None = None  # the same, by the watch
    since: float = field(default_factory=time.monotonic)


class Watches:
    """Who uses which Secret, and who waits for which claim."""

    def __init__(self) -> None:
        self._uses: dict[ObjectKey, _Use] = {}
        self._waiting: dict[ObjectKey, str] = {}
        self._tasks: dict[ObjectKey, asyncio.Task[None]] = {}
        self._start: Callable[[ObjectKey], asyncio.Task[None]] | None = None  # while somebody listens
        self._wake: Wake = lambda _: None

    @property
    def watched(self) -> set[ObjectKey]:
        """The Secrets that are looked after."""
        return set(self._tasks)

    def use(self, user: ObjectKey, secret: ObjectKey) -> None:
        """From now on the user hears of this Secret, and of no other."""
        known = self._uses.get(user)
        if known is not None and known.secret == secret:
            known.since = time.monotonic()
        else:
            self._uses[user] = _Use(secret)
        self._settle()

    def read(self, user: ObjectKey, revision: str) -> None:
        """The user has seen its Secret at this revision."""
        use = self._uses.get(user)
        if use is None:
            return
        is_first, use.revision = use.revision is None, revision
        if is_first and use.heard not in (None, revision):
            self._wake(user)  # it has changed, or is changing, while it was read

    def wait_for(self, user: ObjectKey, claim: str) -> None:
        """The user is woken when nobody holds the claim any more."""
        self._waiting[user] = claim

    def wait_no_more(self, user: ObjectKey) -> None:
        self._waiting.pop(user, None)

    def forget(self, user: ObjectKey) -> None:
        self._uses.pop(user, None)
        self._waiting.pop(user, None)
        self._settle()

    async def run(self, client: Client, wake: Wake) -> None:
        """Watch, until cancelled."""
        self._wake = wake
        try:
            async with asyncio.TaskGroup() as group:
                self._start = lambda secret: group.create_task(self._watch_secret(client, secret))
                self._settle()
                group.create_task(self._watch_claims(client))
        finally:
            self._start, self._tasks, self._wake = None, {}, lambda _: None

    def _settle(self) -> None:
        """Have a watch for each Secret in use, and end the others."""
        if self._start is None:
            return
        long_ago = time.monotonic() - _NOT_HEARD_OF
        for user in [user for user, use in self._uses.items() if not user.namespace and use.since < long_ago]:
            del self._uses[user]
        wanted = {use.secret for use in self._uses.values()}
        for secret in self._tasks.keys() - wanted:
            self._tasks.pop(secret).cancel()
        for secret in wanted - self._tasks.keys():
            self._tasks[secret] = self._start(secret)

    async def _watch_secret(self, client: Client, secret: ObjectKey) -> None:
        events = watching(
            client,
            metadata_of(SECRETS),
            namespace=secret.namespace,
            field_selector=f"metadata.name={secret.name}",
        )
        async with contextlib.aclosing(events):
            async for event in events:
                revision = _revision(event)
                if revision is not None:
                    self._is_at(secret, revision)

    def _is_at(self, secret: ObjectKey, revision: str) -> None:
        for user, use in list(self._uses.items()):
            if use.secret == secret:
                use.heard = revision
                if use.revision not in (None, revision):
                    self._wake(user)

    async def _watch_claims(self, client: Client) -> None:
        events = watching(client, metadata_of(CLAIMS))
        async with contextlib.aclosing(events):
            async for event in events:
                match event:
                    case Relisted(items=items):
                        self._free(set(self._waiting.values()) - {one.metadata.name for one in items})
                    case Deleted(object=claim):
                        self._free({claim.metadata.name})

    def _free(self, claims: set[str]) -> None:
        for user, claim in list(self._waiting.items()):
            if claim in claims:
                self._wake(user)


def _revision(event: Event[Bare]) -> str | None:
    """Where the Secret is by this event: empty if it is gone, None if the event does not tell."""
    match event:
        case Relisted(items=items):
            return items[0].metadata.resource_version if items else ""
        case Changed(object=secret):
            return secret.metadata.resource_version
        case Deleted():
            return ""
    return None
