"""The Secret beside an AccessRequest: the kubeconfig for its owner, and our record of the grant."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from mooring.api.access import AccessRequest
from mooring.entry.entrants import Entrant
from mooring.kube import Bare, Client, MergePatch, ObjectKey, untyped
from mooring.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from mooring.providers.sdk.granting.reasons import Answered, Reason
from mooring.providers.sdk.granting.records import (
    CONTENTS,
    GRANT_ANNOTATION,
    Record,
    annotation_of,
    belongs_to,
    contents_for,
    digest_of,
    record_in,
    secret_for,
    secret_name,
)
from mooring.providers.sdk.granting.seen import SECRETS, AccessSeen

_WHOLE = untyped(plural="secrets", kind="Secret")


class Keeper:
    """Reads from the store, writes to the platform."""

    def __init__(self, client: Client, seen: AccessSeen) -> None:
        self._client = client
        self._seen = seen

    def record(self, request: AccessRequest, entrant: Entrant) -> Record | None:
        """What is remembered of the grant; None if there is none, or its Secret is gone."""
        return record_in(self._there(request), entrant)

    def keeps(self, request: AccessRequest) -> bool:
        """Whether a Secret of this request is there."""
        there = self._there(request)
        return there is not None and belongs_to(there, request.metadata.uid)

    async def is_spoiled(self, request: AccessRequest, entrant: Entrant) -> bool:
        """Whether somebody has changed what the Secret holds. Asked only of one that was touched."""
        if entrant.uid not in self._seen.touched:
            return False
        try:
            whole = await self._client.get(_WHOLE, secret_name(request), namespace=request.metadata.namespace)
        except NotFound:
            return False  # then there is no record, either
        self._seen.touched.discard(entrant.uid)
        record = record_in(msgspec.convert({"metadata": whole["metadata"]}, Bare), entrant)
        return record is not None and digest_of(_decoded(whole.get("data") or {})) != record.digest

    async def check(self, request: AccessRequest, *, ask: bool) -> None:
        """Refuse before anything is made, if the name is taken. The store has only those with our label; ``ask`` looks
        for others."""
        there = self._there(request)
        if there is None and ask:
            try:
                there = await self._client.get(SECRETS, secret_name(request), namespace=request.metadata.namespace)
            except NotFound:
                return
        if there is not None and not belongs_to(there, request.metadata.uid):
            raise _taken(request)

    async def write(self, request: AccessRequest, record: Record, kubeconfig: dict[str, Any]) -> None:
        """Create it, or put it in place of the one that is there and ours."""
        contents = contents_for(record, kubeconfig)
        record = msgspec.structs.replace(record, digest=digest_of(contents))
        document = secret_for(request, record, contents, provider=self._seen.sdk.name)
        there = self._there(request)
        if there is None:
            try:
                return await self._create(document)
            except AlreadyExists:
                there = await self._own(request)
        try:
            await self._patch(there, {**document, "data": {name: None for name in CONTENTS if name not in contents}})
        except Invalid:
            # Somebody has made it immutable.
            await self._delete(there)
            await self._create(document)

    async def note(self, request: AccessRequest, record: Record) -> None:
        """Write down what has changed about the grant, and leave the kubeconfig as it is."""
        there = self._there(request) or await self._own(request)
        await self._patch(there, {"metadata": {"annotations": {GRANT_ANNOTATION: annotation_of(record)}}})

    async def remove(self, request: AccessRequest) -> None:
        there = self._there(request)
        if there is not None and self.keeps(request):
            await self._delete(there)

    def _there(self, request: AccessRequest) -> Bare | None:
        return self._seen.secrets.get(ObjectKey(request.metadata.namespace, secret_name(request)))

    async def _own(self, request: AccessRequest) -> Bare:
        """One is there that the store does not have: our own of a moment ago, or somebody else's."""
        found = await self._client.get(SECRETS, secret_name(request), namespace=request.metadata.namespace)
        if not belongs_to(found, request.metadata.uid):
            raise _taken(request)
        return found

    async def _create(self, document: dict[str, Any]) -> None:
        self._heard(await self._client.create(SECRETS, document))

    async def _patch(self, there: Bare, body: dict[str, Any]) -> None:
        """This very Secret: one that somebody has put in its place meanwhile stays as it is (Conflict)."""
        metadata = there.metadata
        patch = MergePatch({**body, "metadata": {**body["metadata"], "uid": metadata.uid}})
        self._heard(await self._client.patch(SECRETS, metadata.name, patch, namespace=metadata.namespace))

    async def _delete(self, there: Bare) -> None:
        metadata = there.metadata
        try:
            await self._client.delete(SECRETS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
        except (NotFound, Conflict):
            return
        self._seen.secrets.deleted(there)

    def _heard(self, written: Bare) -> None:
        self._seen.own_revisions[written.metadata.uid] = written.metadata.resource_version
        self._seen.secrets.wrote(written)


def _decoded(data: dict[str, str]) -> dict[str, str]:
    try:
        return {name: base64.b64decode(value).decode() for name, value in data.items()}
    except (binascii.Error, UnicodeDecodeError):
        return {}


def _taken(request: AccessRequest) -> Answered:
    return Answered(
        Reason.NOT_OURS,
        f"There is a Secret {secret_name(request)} in this namespace already, which is not this request's; "
        f"delete it, or name the request otherwise.",
    )
