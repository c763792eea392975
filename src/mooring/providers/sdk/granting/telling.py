"""What is written on an AccessRequest itself: our finalizer, its status, and that we have heard what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mooring.api.access import AccessRequest, AccessRequestStatus
from mooring.api.marks import GRANT_FINALIZER, OPERATION_ANNOTATION, OPERATION_RECONCILE, OPERATION_ROTATE
from mooring.kube import key_of, typed
from mooring.kube.errors import Conflict, NotFound
from mooring.providers.sdk.granting.seen import AccessSeen
from mooring.runtime import Manager, TryAgain, Writer, with_finalizer, without_finalizer
from mooring.runtime.clock import timestamp

_TRIES = 4  # of a write that others keep coming before

Telling = Callable[..., AccessRequestStatus]


class Teller:
    """For one instance of a provider."""

    def __init__(self, manager: Manager, seen: AccessSeen) -> None:
        self._seen = seen
        self._client = manager.client
        self._clock = manager.clock
        self._writer = Writer(manager.client, typed(AccessRequest), seen.requests)

    async def held(self, request: AccessRequest) -> AccessRequest:
        """With our finalizer on it: nothing is made before."""
        finalizers = with_finalizer(request.metadata.finalizers, GRANT_FINALIZER)
        if finalizers == request.metadata.finalizers:
            return request
        return await self._writer.save(request, _with(request, finalizers=finalizers), guarded=True)

    async def let_go(self, request: AccessRequest) -> None:
        there = self._there(request)
        if there is None:
            return
        finalizers = without_finalizer(there.metadata.finalizers, GRANT_FINALIZER)
        try:
            await self._writer.save(there, _with(there, finalizers=finalizers), guarded=True)
        except NotFound:
            self._seen.requests.deleted(there)

    async def noticed(self, request: AccessRequest) -> None:
        """Take the word away again that was heard on it: to look at it, or to rotate. Another word stays."""
        heard = request.metadata.annotations.get(OPERATION_ANNOTATION)
        there = self._there(request) if heard in (OPERATION_RECONCILE, OPERATION_ROTATE) else None
        for _ in range(_TRIES):
            if there is None or there.metadata.annotations.get(OPERATION_ANNOTATION) != heard:
                return
            others = {name: text for name, text in there.metadata.annotations.items() if name != OPERATION_ANNOTATION}
            try:
                # Guarded: somebody may just be saying "revoke".
                await self._writer.save(there, _with(there, annotations=others), guarded=True)
            except Conflict:
                there = await self._look(request)
            else:
                return
        raise TryAgain("others keep changing it")

    async def tell(self, request: AccessRequest, how: Telling, *words: str, **more: Any) -> None:
        """Write down where it stands. Nothing new, nothing written."""
        there = self._there(request)
        for _ in range(_TRIES):
            if there is None:
                return
            told = how(there, *words, now=timestamp(self._clock.now()), **more)
            if told is there.status:
                return
            try:
                # Guarded: what somebody else has just written would stay in part, where it agrees with what was there.
                await self._writer.save(there, msgspec.structs.replace(there, status=told), guarded=True)
            except Conflict:
                there = await self._look(request)
            else:
                return
        raise TryAgain("others keep changing it")

    def _there(self, request: AccessRequest) -> AccessRequest | None:
        there = self._seen.requests.get(key_of(request))
        return there if there is not None and there.metadata.uid == request.metadata.uid else None

    async def _look(self, request: AccessRequest) -> AccessRequest | None:
        metadata = request.metadata
        try:
            found = await self._client.get(typed(AccessRequest), metadata.name, namespace=metadata.namespace)
        except NotFound:
            return None
        self._seen.requests.wrote(found)
        return found if found.metadata.uid == metadata.uid else None


def _with(request: AccessRequest, **fields: Any) -> AccessRequest:
    return msgspec.structs.replace(request, metadata=msgspec.structs.replace(request.metadata, **fields))
