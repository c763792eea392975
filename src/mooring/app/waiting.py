"""Waiting by watching: until a request is granted and its cluster ready, or until an object is gone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TypeVar

from mooring.api.conditions import READY, found, is_true
from mooring.api.kinds import Kind
from mooring.api.requests import ClusterRequest, RequestPhase
from mooring.api.texts import printable
from mooring.app.explaining import REQUESTS
from mooring.app.settings import SettingError
from mooring.kube import Changed, Client, Deleted, Interrupted, ObjectKey, Relisted, Resource, watching

K = TypeVar("K", bound=Kind)

Told = Callable[[str], None]


class NotGranted(SettingError):
    """The wait ended in another way than was hoped for."""


async def until_ready(client: Client, key: ObjectKey, uid: str, *, told: Told) -> ClusterRequest:
    """Wait until the request is granted and its cluster is ready; ``told`` hears each step."""
    async with states(client, REQUESTS, key, uid, standing, told) as seen:
        async for request in seen:
            if request is None:
                raise NotGranted(f"The clusterrequest {key} was deleted while it was waited for.")
            status = request.status
            if status is not None and status.phase == RequestPhase.DENIED:
                said = f"The clusterrequest {key} is denied ({status.reason}). {status.message}"
                raise NotGranted(printable(said).rstrip())
            if status is not None and status.phase == RequestPhase.GRANTED and is_true(status.conditions, READY):
                return request
    raise AssertionError("a watch does not end")  # pragma: no cover


async def until_gone(
    client: Client, resource: Resource[K], key: ObjectKey, uid: str, *, standing: Callable[[K], str], told: Told
) -> None:
    """Wait until the object is gone, and all that it waits for; ``told`` hears where it stands meanwhile."""
    async with states(client, resource, key, uid, standing, told) as seen:
        async for one in seen:
            if one is None:
                return


def states(
    client: Client, resource: Resource[K], key: ObjectKey, uid: str, standing: Callable[[K], str], told: Told
) -> contextlib.aclosing[AsyncGenerator[K | None, None]]:
    """The object as it changes; None when it is gone. ``told`` hears where it stands, whenever that changes."""
    return contextlib.aclosing(_states(client, resource, key, uid, standing, told))


async def _states(
    client: Client, resource: Resource[K], key: ObjectKey, uid: str, standing: Callable[[K], str], told: Told
) -> AsyncGenerator[K | None, None]:
    selector = f"metadata.name={key.name}"
    before = ""
    async with contextlib.aclosing(
        watching(client, resource, namespace=key.namespace, field_selector=selector)
    ) as events:
        async for event in events:
            match event:
                case Relisted():
                    thing = next(iter(event.items), None)
                case Changed():
                    thing = event.object
                case Deleted():
                    thing = None
                case Interrupted():
                    told(f"The server cannot be asked at the moment: {event.error}")
                    continue
                case _:
                    continue
            if thing is None or thing.metadata.uid != uid:
                yield None
                continue
            now = standing(thing)
            if now != before:
                told(now)
            before = now
            yield thing


def standing(request: ClusterRequest) -> str:
    """Where it stands, in one line."""
    status = request.status
    if request.metadata.deleting:
        said = status.message or status.reason if status is not None else ""
        return f"Leaving{f': {said}' if said else ''}"
    if status is None:
        return "Pending: no answer yet"
    if status.phase == RequestPhase.GRANTED:
        where = f" {status.cluster.namespace}/{status.cluster.name}" if status.cluster is not None else ""
        ready = found(status.conditions, READY)
        if ready is not None and ready.status == "True":
            return f"Granted:{where} is ready"
        why = f" ({ready.message or ready.reason})" if ready is not None else ""
        return f"Granted:{where} is not ready yet{why}"
    return f"{status.phase} ({status.reason}): {status.message}" if status.reason else status.phase


@contextlib.asynccontextmanager
async def patience(seconds: float | None, message: Callable[[], str]) -> AsyncIterator[None]:
    """A limit to the wait inside of it; with None, there is none."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise NotGranted(message()) from None
