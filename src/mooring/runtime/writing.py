"""One draft, one patch: how reconcilers write, and how the store learns of it.

A reconciler says what an object should look like; at most one patch of the object and one of its status go out, with
the fields that differ and nothing else. What we do not know of an object is thereby never touched.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from mooring.api.kinds import Kind
from mooring.kube import Client, MergePatch, Object, Resource, key_of, revision_of, uid_of
from mooring.kube.errors import Conflict, Invalid
from mooring.runtime.predicates import is_deleting
from mooring.runtime.store import Store

T = TypeVar("T")

_TRIES = 4  # of a status that others keep changing


class Writer(Generic[T]):
    """Writes objects of one kind, and tells the store."""

    def __init__(self, client: Client, resource: Resource[T], store: Store[T]) -> None:
        self._client = client
        self._resource = resource
        self._store = store
        # A kind of ours says whether its status is a subresource; of the others, all that we write have it so.
        kind = resource.decode_as
        self._status_apart = kind.API.has_status if isinstance(kind, type) and issubclass(kind, Kind) else True

    async def create(self, body: Object) -> T:
        made = await self._client.create(self._resource, body)
        self._store.wrote(made)
        return made

    async def save(self, before: T, after: T, *, guarded: bool = False) -> T:
        """Make ``before`` look like ``after``. ``guarded``: only if nobody has changed it meanwhile (else Conflict).

        A decision that depends on what was seen must be guarded; the guard covers the first of the two patches. An
        object that was deleted and made anew is never written (Conflict, too).
        """
        old, new, status = plain(before), plain(after), {}
        if self._status_apart:
            status = merge_patch(old.pop("status", None) or {}, new.pop("status", None) or {})
        patch = merge_patch(old, new)
        result = before
        if patch:
            result = await self._patch(result, patch, revision=revision_of(result) if guarded else None)
        if status:
            result = await self._patch_status(result, {"status": status}, guarded=guarded and not patch)
        return result

    async def delete(self, thing: T, *, guarded: bool = True, propagation: str | None = None) -> None:
        """Delete this very object; ``guarded``: as it was seen. Finalizers may keep it for a while.

        ``propagation`` tells what becomes of the objects it owns: Background, Foreground or Orphan.
        """
        key = key_of(thing)
        answer = await self._client.delete(
            self._resource,
            key.name,
            namespace=key.namespace or None,
            uid=uid_of(thing),
            resource_version=revision_of(thing) if guarded else None,
            propagation=propagation,
        )
        if answer is not None and uid_of(answer) == uid_of(thing):
            self._store.wrote(answer)  # it waits for its finalizers
        else:
            self._store.deleted(thing)

    async def _patch_status(self, thing: T, patch: Object, *, guarded: bool) -> T:
        """Servers look at the revision in the patch of a status, but not at the uid: so the revision must do."""
        key, revision = key_of(thing), revision_of(thing)
        for _ in range(_TRIES):
            try:
                return await self._patch(thing, patch, "status", revision=revision)
            except Conflict:
                if guarded:
                    raise
                there = await self._client.get(self._resource, key.name, namespace=key.namespace or None)
                if uid_of(there) != uid_of(thing):
                    raise
                revision = revision_of(there)
        return await self._patch(thing, patch, "status", revision=revision)

    async def _patch(self, thing: T, patch: Object, subresource: str | None = None, *, revision: str | None) -> T:
        key = key_of(thing)
        identity: dict[str, Any] = {"uid": uid_of(thing)}
        if revision is not None:
            identity["resourceVersion"] = revision
        body = {**patch, "metadata": {**patch.get("metadata", {}), **identity}}
        try:
            written = await self._client.patch(
                self._resource, key.name, MergePatch(body), namespace=key.namespace or None, subresource=subresource
            )
        except Invalid as error:
            if all(cause.field != "metadata.uid" for cause in error.causes):
                raise
            anew = f"{key} was deleted and made anew"
            raise Conflict(code=409, message=anew, verb=error.verb, path=error.path) from error
        if _was_the_last_finalizer(body) and is_deleting(written) and not self._is_namespace:
            self._store.deleted(written)
        else:
            self._store.wrote(written)
        return written

    @property
    def _is_namespace(self) -> bool:
        """A namespace has finalizers in its spec, too, and so outlives the last one in its metadata."""
        return self._resource.kind == "Namespace" and not self._resource.group


def _was_the_last_finalizer(patch: Object) -> bool:
    """Whether an object that is being deleted is gone after this; its revision stays, so that tells nothing."""
    return "finalizers" in patch["metadata"] and not patch["metadata"]["finalizers"]


def plain(thing: object) -> dict[str, Any]:
    """An object as plain data: a dict as it is, a Struct through its encoder."""
    if isinstance(thing, dict):
        return dict(thing)
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(thing))
    return decoded


def merge_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The JSON merge patch that turns one into the other: what is gone becomes null, lists are replaced whole."""
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            inner = merge_patch(old, value)
            if inner:
                patch[name] = inner
        elif name not in before or old != value:
            patch[name] = value
    return patch


def with_finalizer(finalizers: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The finalizers and this one."""
    return finalizers if name in finalizers else (*finalizers, name)


def without_finalizer(finalizers: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(one for one in finalizers if one != name)
