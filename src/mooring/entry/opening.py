"""Bringing a cluster to where a door is as it should be: no less, and no more.

A door that was never made is made without a look, so that it costs as many calls as it has objects. One that may be
there is looked at first: what differs is put right, and what belongs to it no longer is removed.

An object of the same name that does not carry the entrant's marks is never taken over, and never deleted.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Iterable, Mapping
from typing import Final, TypeVar

from mooring.entry.doors import Document, Door
from mooring.entry.entrants import Entrant
from mooring.entry.resources import NAMESPACES, PARTS
from mooring.kube import Client, Object, ObjectKey, Resource, key_of
from mooring.kube.errors import AlreadyExists, Conflict, NotFound

# What makes an object what it is; the rest is the server's. An aggregationRule would fill a role with others' rights.
_CONTENTS: Final = ("rules", "aggregationRule", "roleRef", "subjects")
_BINDINGS: Final = ("ClusterRoleBinding", "RoleBinding")
# How often an object is looked at again that somebody else changes at the same time.
_TRIES: Final = 4

T = TypeVar("T")

Part = tuple[str, ObjectKey]


class NotOurs(Exception):
    """Something of that name is in the cluster already, and belongs to somebody else."""


class NamespaceMissing(Exception):
    """A namespace is not in the cluster, and must not be made."""


class Unsettled(Exception):
    """Something of ours is just being removed, or changed by somebody else; it will be different in a moment."""


async def together(*deeds: Awaitable[T]) -> list[T]:
    """Do them at once; what went wrong is raised when none of them is under way any more."""
    ends = await asyncio.gather(*deeds, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if not isinstance(end, BaseException)]


async def make(client: Client, door: Door) -> None:
    """Make a door that was never made. What is there all the same, because we were stopped, is found and put right."""
    await _bring(client, door, door.objects, seen={})


async def mend(client: Client, door: Door) -> bool:
    """Bring a door that may be there to where it should be; tells whether anything was written.

    Whatever else goes wrong: rights that were withdrawn end.
    """
    there = await parts_of(client, door.entrant)
    wanted = {_part(one): one for one in door.objects}
    wrong = {part: one for part, one in wanted.items() if not (part in there and _is_so(there[part], one))}
    leftovers = {part: one for part, one in there.items() if part not in wanted}
    try:
        await _bring(client, door, wrong.values(), seen=there)
    except Exception:
        await remove(
            client, leftovers | {part: there[part] for part in wrong if part in there and part[0] in _BINDINGS}
        )
        raise
    await remove(client, leftovers)
    return bool(wrong or leftovers)


async def withdraw(client: Client, door: Door) -> None:
    """Remove whatever is there and is not as the door wants it: rights that were withdrawn end. It makes nothing."""
    there = await parts_of(client, door.entrant)
    wanted = {_part(one): one for one in door.objects}
    await remove(client, {part: one for part, one in there.items() if not _is_wanted(part, one, wanted)})


async def parts_of(client: Client, entrant: Entrant) -> dict[Part, Object]:
    """Everything in the cluster that carries the entrant's marks."""
    return await parts_selected(client, entrant.selector)


async def parts_selected(client: Client, selector: str) -> dict[Part, Object]:
    """Everything in the cluster that doors are made of, as far as its labels are selected."""
    listings = await together(*(client.list(resource, label_selector=selector) for resource in PARTS.values()))
    # Objects in a list do not say their kind.
    return {(kind, key_of(one)): one for kind, listing in zip(PARTS, listings, strict=True) for one in listing.items}


def is_whole(door: Door, parts: Mapping[Part, Object]) -> bool:
    """Whether these are the parts of the door, all of them as they should be, and no others."""
    wanted = {_part(one): one for one in door.objects}
    return wanted.keys() == parts.keys() and all(_is_so(parts[part], one) for part, one in wanted.items())


async def remove(client: Client, parts: Mapping[Part, Object]) -> None:
    """Delete these very objects, in the order in which rights end first. Unsettled if one of them is not gone."""
    left: list[str] = []
    for kind, resource in PARTS.items():
        keys = {key: one for (of, key), one in parts.items() if of == kind}
        gone = await together(*(_delete(client, resource, key, one) for key, one in keys.items()))
        left += [f"{kind} {str(key)!r}" for key, is_gone in zip(keys, gone, strict=True) if not is_gone]
    if left:
        raise Unsettled(f"Deleted, but not gone yet, or made anew by somebody: {', '.join(left)}; see its finalizers.")


async def _delete(client: Client, resource: Resource[Object], key: ObjectKey, one: Object) -> bool:
    """Whether it is gone. Another one that has come in its place was not looked at, and stays."""
    try:
        held = await client.delete(resource, key.name, namespace=key.namespace or None, uid=one["metadata"]["uid"])
    except NotFound:
        return True
    except Conflict:
        return False
    return held is None


async def _bring(client: Client, door: Door, documents: Iterable[Document], *, seen: Mapping[Part, Object]) -> None:
    """Accounts and roles, then bindings: those are never made to an account that turned out to be another's, and
    servers look a role up before somebody who is not all-powerful may bind it."""
    ordered = sorted(documents, key=lambda one: one["kind"] in _BINDINGS)
    for _, stage in itertools.groupby(ordered, key=lambda one: one["kind"] in _BINDINGS):
        await together(*(_ensure(client, door, one, seen.get(_part(one))) for one in stage))


async def _ensure(client: Client, door: Door, document: Document, seen: Object | None) -> None:
    """See to it that an object is as wanted, from what was seen of it."""
    resource, key = PARTS[document["kind"]], key_of(document)
    for _ in range(_TRIES):
        if seen is None and await _create(client, door, document):
            return
        try:
            if seen is None:
                seen = await client.get(resource, key.name, namespace=key.namespace or None)
            if await _put_right(client, door, seen, document):
                return
        except (NotFound, Conflict):
            pass  # somebody removed or changed it between two of our calls
        seen = None
    raise Unsettled(f"Somebody else is changing {_named(document)}, again and again.")


async def _put_right(client: Client, door: Door, stored: Object, document: Document) -> bool:
    """Whether it is as wanted now. If not, it is out of the way, and can be created."""
    resource = PARTS[document["kind"]]
    if not door.entrant.owns(stored):
        raise NotOurs(
            f"The cluster has {_named(document)} already, which was not made for this request; "
            f"ask for another name, or none."
        )
    if stored["metadata"].get("deletionTimestamp"):
        raise Unsettled(f"The cluster is deleting {_named(document)}, and it must be gone first; see its finalizers.")
    if _is_so(stored, document):
        return True
    if stored.get("roleRef") != document.get("roleRef"):
        # What a binding is bound to cannot be changed.
        await _delete(client, resource, key_of(document), stored)
        return False
    metadata = {**stored["metadata"], **{name: document["metadata"][name] for name in ("labels", "annotations")}}
    await client.replace(resource, {**document, "metadata": metadata})
    return True


async def _create(client: Client, door: Door, document: Document) -> bool:
    """Whether there was none."""
    resource, namespace = PARTS[document["kind"]], key_of(document).namespace
    try:
        try:
            await client.create(resource, document)
        except NotFound as error:
            if error.details.get("kind") != "namespaces":
                raise  # such as of the role, which servers look up for those who may not bind every one
            await _make_namespace(client, door, namespace)
            await client.create(resource, document)
    except AlreadyExists:
        return False
    return True


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


def _is_wanted(part: Part, stored: Object, wanted: Mapping[Part, Document]) -> bool:
    return part in wanted and _is_so(stored, wanted[part])


def _is_so(stored: Object, wanted: Document) -> bool:
    """Whether it is as wanted, and to stay. Servers leave out what is empty."""
    is_kept = not stored["metadata"].get("deletionTimestamp")
    return is_kept and all((stored.get(field) or None) == (wanted.get(field) or None) for field in _CONTENTS)


def _part(document: Document) -> Part:
    return document["kind"], key_of(document)


def _named(document: Document) -> str:
    key = key_of(document)
    return f"the {document['kind']} {key.name!r}" + (f" in the namespace {key.namespace!r}" if key.namespace else "")
