"""Writes, patiently and many at a time.

Guarantee: whoever is interrupted waits for the writes that are under way; none is given up halfway, and none begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from mooring.clusterctl.applying import persistently
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.move.progress import MANAGER
from mooring.kube import Client, MergePatch, Object, Resource
from mooring.kube.errors import Conflict, Invalid, NotFound

T = TypeVar("T")

AT_ONCE: Final = 32


async def each(items: Iterable[T], deed: Callable[[T], Awaitable[None]], *, at_once: int = AT_ONCE) -> None:
    """Do it to each, some at a time. After a failure no further one is begun; all failures are told."""
    left = iter(items)
    failures: list[BaseException] = []
    stopping = False

    async def work() -> None:
        nonlocal stopping
        for item in left:
            try:
                await deed(item)
            except BaseException as error:
                failures.append(error)
                stopping = True
            if stopping:
                return

    workers = [asyncio.create_task(work()) for _ in range(at_once)]
    try:
        await asyncio.shield(asyncio.gather(*workers))
    except asyncio.CancelledError:
        stopping = True
        await asyncio.wait(workers)
        raise
    if len(failures) > 1 and all(isinstance(one, ClusterctlError) for one in failures):
        raise ClusterctlError("; ".join(dict.fromkeys(map(str, failures))))
    if failures:
        raise failures[0]


async def change(
    client: Client, resource: Resource[T], name: str, patch: Object, *, namespace: str, what: str
) -> T | None:
    """Merge a patch into the object with the uid that the patch names: None if it is gone, or another one by now.

    A resourceVersion in the patch that is no longer true is a Conflict.
    """
    conflict: Conflict | None = None

    async def deed() -> T | None:
        nonlocal conflict
        try:
            return await client.patch(
                resource, name, MergePatch(patch), namespace=namespace or None, field_manager=MANAGER
            )
        except NotFound:
            return None
        except Conflict as error:
            if "resourceVersion" not in patch["metadata"]:
                if "uid" in error.message.lower():
                    return None
                raise
            conflict = error
            return None
        except Invalid as error:
            if any(cause.field == "metadata.uid" for cause in error.causes):
                return None
            raise

    found = await persistently(deed, what=what)
    if conflict is not None:
        raise conflict
    return found


async def remove(client: Client, resource: Resource[T], name: str, *, namespace: str, uid: str, what: str) -> T | None:
    """Delete the object with this uid: what is left of it, if something holds it."""

    async def deed() -> T | None:
        try:
            return await client.delete(resource, name, namespace=namespace or None, uid=uid)
        except NotFound:
            return None
        except Conflict:
            return None  # another object of the same name, which is not ours to delete

    return await persistently(deed, what=what)
