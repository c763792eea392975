"""Objects onto a server: one, many, and taking them away; again and again where waiting helps.

An object that is not there is created; one that is there gets our fields merged into it, so that what others have
added stays. Both may be done twice: whoever is killed in between runs again and ends in the same place.

Many objects go in waves (`waves`): what others need comes first, and within a wave order does not matter, so that its
objects go side by side. Neighbours: `mooring.clusterctl.waiting` waits for what becomes of them.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.objects import at, described, group_of, kind_of, name_of, namespace_of, text_at
from mooring.kube import Client, KubeError, MergePatch, Object, Resource, revision_of
from mooring.kube.errors import AlreadyExists, ApiError, Forbidden, Invalid, NotFound, Unauthorized, UnknownKind

T = TypeVar("T")
Progress = Callable[[str], None]

_AT_ONCE: Final = 8
# Pauses of half a second, growing: some two and a half minutes altogether. So long a webhook may need to come up.
_FIRST_PAUSE, _GROWTH, _TRIES = 0.5, 1.5, 13
# A kind that nobody in the same file defines is likely to stay unknown.
_TRIES_FOR_STRANGERS: Final = 5

_WORKLOADS: Final = frozenset({"Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "CronJob", "Pod"})
_INTERCEPTORS: Final = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService"})
# A binding is refused to whoever may not grant everything, and a token is thrown away, as long as these are missing.
_GROUND: Final = frozenset({"ServiceAccount", "Role", "ClusterRole"})


def silent(_: str) -> None:
    """For those who want to hear nothing."""


async def apply_all(client: Client, objects: Iterable[Object], *, replacing: bool = False) -> None:
    """All of them, wave by wave. The first that fails for good ends it, with what is under way finished."""
    for wave in waves(objects):
        await side_by_side([_run(client, run, replacing=replacing) for run in wave])


async def apply_one(client: Client, obj: Object, *, replacing: bool = False) -> None:
    """Create the object, or merge it into what is there; ``replacing`` puts it in the place of that instead."""

    async def deed() -> None:
        await _applied(client, obj, replacing=replacing)

    await persistently(deed, what=f"{described(obj)} cannot be applied")


async def delete_one(client: Client, obj: Object, *, propagation: str | None = None) -> None:
    """Delete the object, if it is still there."""

    async def deed() -> None:
        try:
            resource = await client.resource(text_at(obj, "apiVersion"), kind_of(obj))
            await client.delete(resource, name_of(obj), namespace=_where(resource, obj), propagation=propagation)
        except (NotFound, UnknownKind):
            return

    await persistently(deed, what=f"{described(obj)} cannot be deleted")


async def persistently(deed: Callable[[], Awaitable[T]], *, what: str, tries: int = _TRIES) -> T:
    """Do it until it succeeds, with growing pauses; an error that waiting cannot mend ends it at once."""
    pause, failures = _FIRST_PAUSE, 0
    while True:
        try:
            return await deed()
        except KubeError as error:
            failures += 1
            most = min(tries, _TRIES_FOR_STRANGERS) if isinstance(error, UnknownKind) else tries
            if not waiting_helps(error) or failures >= most:
                raise ClusterctlError(f"{what}: {error}") from error
        await asyncio.sleep(pause * random.uniform(1.0, 1.4))  # noqa: S311 - spreading load, not guarding anything
        pause *= _GROWTH


def waiting_helps(error: KubeError) -> bool:
    """Whether the same call may succeed later: a webhook comes up, a kind gets served, somebody else is done."""
    if isinstance(error, Forbidden):
        return any(cause.reason == "NamespaceTerminating" for cause in error.causes)
    return not error.terminal and not isinstance(error, Unauthorized)


async def side_by_side(deeds: Sequence[Awaitable[None]], *, at_once: int = _AT_ONCE) -> None:
    """All of them, some at a time. The first failure is raised, once nothing is under way any more."""
    seats = asyncio.Semaphore(at_once)
    failed = False

    async def seated(deed: Awaitable[None]) -> None:
        nonlocal failed
        async with seats:
            if failed:
                return
            try:
                await deed
            except BaseException:
                failed = True
                raise

    tasks = [asyncio.ensure_future(seated(deed)) for deed in deeds]
    try:
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    finally:
        for deed in deeds:
            if asyncio.iscoroutine(deed):
                deed.close()  # those that never began
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


def waves(objects: Iterable[Object]) -> list[list[list[Object]]]:
    """The objects in waves. A wave has runs, and a run has the objects of one name, in their order: the last wins."""
    objects = list(objects)
    own = {
        (text_at(one, "spec", "group"), text_at(one, "spec", "names", "kind"))
        for one in objects
        if kind_of(one) == "CustomResourceDefinition"
    }
    found: dict[int, dict[tuple[str, str, str, str], list[Object]]] = {}
    for one in objects:
        key = (group_of(one), kind_of(one), namespace_of(one), name_of(one))
        found.setdefault(_wave(one, own), {}).setdefault(key, []).append(one)
    return [list(found[wave].values()) for wave in sorted(found)]


def _wave(obj: Object, own: set[tuple[str, str]]) -> int:
    """Namespaces; accounts, roles and certificates (whoever brings them to webhooks should know them by then); what
    stands by itself; objects of kinds that came along; programs; and last what listens to everything that is written.
    """
    group, kind = group_of(obj), kind_of(obj)
    if kind == "Namespace":
        return 0
    if (group, kind) in own:
        return 3
    if group == "cert-manager.io" or kind in _GROUND:
        return 1
    if kind in _WORKLOADS:
        return 4
    return 5 if kind in _INTERCEPTORS else 2


async def _run(client: Client, run: Sequence[Object], *, replacing: bool) -> None:
    for one in run:
        await apply_one(client, one, replacing=replacing)


async def _applied(client: Client, obj: Object, *, replacing: bool) -> None:
    resource = await client.resource(text_at(obj, "apiVersion"), kind_of(obj))
    where = _where(resource, obj)
    body = obj if where else _without_namespace(obj)
    try:
        await client.create(resource, body, namespace=where)
    except AlreadyExists:
        await _changed(client, resource, where, body, replacing=replacing)
    except (Forbidden, Invalid) as refusal:
        # Some servers say so of an object that is there, too: a port that it holds itself, a creation that this user
        # may not do, although a change would be allowed.
        await _changed_or(refusal, client, resource, where, body, replacing=replacing)


async def _changed_or(
    refusal: ApiError, client: Client, resource: Resource[Object], where: str | None, body: Object, *, replacing: bool
) -> None:
    try:
        await _changed(client, resource, where, body, replacing=replacing)
    except (NotFound, Forbidden):
        raise refusal from None


async def _changed(
    client: Client, resource: Resource[Object], where: str | None, body: Object, *, replacing: bool
) -> None:
    if not replacing:
        await client.patch(resource, name_of(body), MergePatch(body), namespace=where)
        return
    there = await client.get(resource, name_of(body), namespace=where)
    metadata = {**body["metadata"], "resourceVersion": revision_of(there)}
    await client.replace(resource, {**body, "metadata": metadata}, namespace=where)


def _where(resource: Resource[Object], obj: Object) -> str | None:
    return namespace_of(obj) if resource.namespaced else None


def _without_namespace(obj: Object) -> Object:
    if at(obj, "metadata", "namespace") is None:
        return obj
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "namespace"}}
