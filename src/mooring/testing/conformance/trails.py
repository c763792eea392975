"""What happens to Clusters: every version of each, in the server's order, from a watch.

A rule such as "never Ready without an address" is about all that ever was to be seen, and not about what is there when
somebody looks. Waiting is waiting for the next version: nothing is polled.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mooring.api.clusters import Cluster
from mooring.api.conditions import READY
from mooring.kube import Changed, Client, Deleted, Object, ObjectKey, Relisted, key_of, revision_of, watching
from mooring.testing.builders import plain_resource_of

T = TypeVar("T")

CLUSTERS = plain_resource_of(Cluster)


@dataclass(eq=False)
class Trail:
    """One Cluster."""

    key: ObjectKey
    own: bool  # of a profile of the provider that is checked
    versions: list[Object] = field(default_factory=list)
    gone: bool = False
    stuck: bool = False  # its end was waited for in vain

    @property
    def latest(self) -> Object:
        return self.versions[-1] if self.versions else {}

    def __str__(self) -> str:
        return f"the Cluster {self.key}"


class Trails:
    """The Clusters that the suite has made."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._followed: dict[ObjectKey, Trail] = {}
        self._news = asyncio.Event()
        self.listening = asyncio.Event()  # from now on, nothing is missed

    @property
    def own(self) -> list[Trail]:
        """Those that the provider is responsible for."""
        return [one for one in self._followed.values() if one.own]

    @property
    def all(self) -> list[Trail]:
        return list(self._followed.values())

    def follow(self, key: ObjectKey, *, own: bool) -> Trail:
        """From now on; to be called before the Cluster is made."""
        return self._followed.setdefault(key, Trail(key, own))

    async def run(self) -> None:
        """Follow them, until cancelled."""
        async with contextlib.aclosing(watching(self._client, CLUSTERS)) as events:
            async for event in events:
                match event:
                    case Relisted(items=items):
                        self._relisted(items)
                        self.listening.set()
                    case Changed(object=cluster):
                        self._changed(cluster)
                    case Deleted(object=cluster):
                        self._gone(key_of(cluster))
                self.tell()

    async def until(self, ask: Callable[[], T | None]) -> T:
        """The first answer that is something; asked again whenever there is news."""
        while True:
            news, answer = self._news, ask()
            if answer:
                return answer
            await news.wait()

    def tell(self) -> None:
        """There is news, of Clusters or of something else that is waited for."""
        self._news.set()
        self._news = asyncio.Event()

    def _relisted(self, items: Any) -> None:
        there = {key_of(one): one for one in items}
        for key, trail in self._followed.items():
            if key in there:
                self._changed(there[key])
            elif trail.versions and not trail.gone:
                trail.gone = True

    def _changed(self, cluster: Object) -> None:
        trail = self._followed.get(key_of(cluster))
        if trail is not None and revision_of(trail.latest or {"metadata": {}}) != revision_of(cluster):
            trail.versions.append(cluster)

    def _gone(self, key: ObjectKey) -> None:
        trail = self._followed.get(key)
        if trail is not None:
            trail.gone = True


# -- reading a Cluster ------------------------------------------------------------------------------------------------


def status_of(cluster: Object) -> Object:
    status = cluster.get("status")
    return status if isinstance(status, dict) else {}


def conditions_of(cluster: Object) -> list[Object]:
    return [one for one in status_of(cluster).get("conditions") or () if isinstance(one, dict)]


def condition_of(cluster: Object, kind: str = READY) -> Object | None:
    return next((one for one in conditions_of(cluster) if one.get("type") == kind), None)


def is_ready(cluster: Object) -> bool:
    """By its condition; a provider that has none is taken by its phase."""
    ready = condition_of(cluster)
    return ready.get("status") == "True" if ready is not None else status_of(cluster).get("phase") == "Ready"


def follows(cluster: Object) -> bool:
    """Whether its status speaks of what is wanted now."""
    observed = status_of(cluster).get("observedGeneration")
    return observed is not None and observed == cluster["metadata"].get("generation")


def finalizers_of(cluster: Object) -> list[str]:
    return list(cluster.get("metadata", {}).get("finalizers") or ())


def labels_of(cluster: Object) -> Object:
    return cluster.get("metadata", {}).get("labels") or {}


def is_deleting(cluster: Object) -> bool:
    return bool(cluster.get("metadata", {}).get("deletionTimestamp"))


def revision(cluster: Object) -> str:
    text: str = cluster.get("metadata", {}).get("resourceVersion", "")
    return text


def in_short(cluster: Object) -> str:
    """How it is, for a person who wonders why something is still waited for."""
    if not cluster:
        return "nothing of it"
    said = [f"phase {status_of(cluster).get('phase')!r}" if status_of(cluster) else "no status"]
    said += [f"{one.get('type')}={one.get('status')} ({one.get('reason')})" for one in conditions_of(cluster)]
    said.append(f"finalizers {', '.join(finalizers_of(cluster)) or 'none'}")
    if is_deleting(cluster):
        said.append("being deleted")
    return ", ".join(said)
