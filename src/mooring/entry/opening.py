"""Bringing a cluster to where a door is as it should be: no less, and no more.

A door that was never made is made without a look, so that it costs as many calls as it has objects. One that may be
there is looked at first: what differs is put right, and what belongs to it no longer is removed.

An object of the same name that does not carry the entrant's marks is never taken over, and never deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypeVar

from mooring.entry.doors import Document, Door
from mooring.entry.entrants import Entrant
from mooring.entry.resources import NAMESPACES, PARTS
from mooring.kube import Client, Object, ObjectKey, key_of
from mooring.kube.errors import AlreadyExists, Conflict, NotFound

# What makes an object what it is; the rest is the server's.
_CONTENTS: Final = ("rules", "roleRef", "subjects")

T = TypeVar("T")

Part = tuple[str, ObjectKey]


class NotOurs(Exception):
    """Something of that name is in the cluster already, and belongs to somebody else."""


class NamespaceMissing(Exception):
    """A namespace is not in the cluster, and must not be made."""


async def together(*deeds: Awaitable[T]) -> list[T]:
    """Do them at once; what went wrong is raised when none of them is under way any more."""
    ends = await asyncio.gather(*deeds, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if not isinstance(end, BaseException)]


async def make(client: Client, door: Door) -> None:
    """Make a door that was never made. What is there all the same, because we were stopped, is found and put right."""
    account = [one for one in door.objects if one["kind"] == "ServiceAccount"]
    rest = [one for one in door.objects if one["kind"] != "ServiceAccount"]
    # The account first: a binding to nobody does no harm, but a door that cannot be opened is told from a whole one.
    for stage in (account, rest):
        await together(*(_ensure(client, door, one) for one in stage))


async def mend(client: Client, door: Door) -> bool:
    """Bring a door that may be there to where it should be; tells whether anything was written."""
    there = await parts_of(client, door.entrant)
    wanted = {_part(one): one for one in door.objects}
    wrong = [one for part, one in wanted.items() if not (part in there and _is_so(there[part], one))]
    await together(*(_ensure(client, door, one) for one in wrong))
    leftovers = [part for part in there if part not in wanted]
    await remove(client, {part: there[part] for part in leftovers})
    return bool(wrong or leftovers)


async def parts_of(client: Client, entrant: Entrant) -> dict[Part, Object]:
    """Everything in the cluster that carries the entrant's marks."""
    listings = await together(*(client.list(resource, label_selector=entrant.selector) for resource in PARTS.values()))
    # Objects in a list do not say their kind.
    return {(kind, key_of(one)): one for kind, listing in zip(PARTS, listings, strict=True) for one in listing.items}


async def remove(client: Client, parts: Mapping[Part, Object]) -> None:
    """Delete these very objects, in the order in which rights end first."""
    for kind, resource in PARTS.items():
        await together(*(_delete(client, resource, key, one) for (of, key), one in parts.items() if of == kind))


async def _delete(client: Client, resource: Any, key: ObjectKey, one: Object) -> None:
    try:
        await client.delete(resource, key.name, namespace=key.namespace or None, uid=one["metadata"]["uid"])
    except (NotFound, Conflict):
        return  # it is gone, or another one has come in its place, which was not looked at


async def _ensure(client: Client, door: Door, document: Document) -> None:
    resource, key = PARTS[document["kind"]], key_of(document)
    try:
        await _create(client, door, document)
    except AlreadyExists:
        stored = await client.get(resource, key.name, namespace=key.namespace or None)
        if not door.entrant.owns(stored):
            raise NotOurs(_told(document, key)) from None
        if _is_so(stored, document):
            return
        if stored.get("roleRef") != document.get("roleRef"):
            # What a binding is bound to cannot be changed.
            await _delete(client, resource, key, stored)
            await _create(client, door, document)
            return
        metadata = {**stored["metadata"], **{name: document["metadata"][name] for name in ("labels", "annotations")}}
        await client.replace(resource, {**stored, **document, "metadata": metadata})


async def _create(client: Client, door: Door, document: Document) -> None:
    resource, namespace = PARTS[document["kind"]], key_of(document).namespace
    try:
        await client.create(resource, document)
    except NotFound:
        if not namespace:
            raise
        await _make_namespace(client, door, namespace)
        await client.create(resource, document)


async def _make_namespace(client: Client, door: Door, name: str) -> None:
    if not door.namespaces.get(name, False):
        raise NamespaceMissing(
            f"There is no namespace {name!r} in the cluster, and it is not to be made; make it, or ask for a "
            f"permission there without disableAutomaticNamespaceCreation."
        )
    try:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    except AlreadyExists:
        return  # somebody was quicker


def _is_so(stored: Object, wanted: Document) -> bool:
    """Whether it is as wanted. Servers leave out what is empty."""
    return all((stored.get(field) or None) == (wanted.get(field) or None) for field in _CONTENTS)


def _part(document: Document) -> Part:
    return document["kind"], key_of(document)


def _told(document: Document, key: ObjectKey) -> str:
    where = f" in the namespace {key.namespace!r}" if key.namespace else ""
    return (
        f"The cluster has a {document['kind']} {key.name!r}{where} already, which was not made for this request; "
        f"ask for another name, or none."
    )
