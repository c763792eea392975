"""The Secret beside an AccessRequest: the kubeconfig for its owner, and our record of the grant."""

from __future__ import annotations

from typing import Any

from mooring.api.access import AccessRequest
from mooring.kube import Bare, Client, MergePatch, ObjectKey
from mooring.kube.errors import AlreadyExists, Conflict, NotFound
from mooring.providers.sdk.granting.reasons import Answered, Reason
from mooring.providers.sdk.granting.records import (
    GRANT_ANNOTATION,
    Record,
    annotation_of,
    belongs_to,
    record_in,
    secret_for,
    secret_name,
)
from mooring.providers.sdk.granting.seen import SECRETS, AccessSeen


class Keeper:
    """Reads from the store, writes to the platform."""

    def __init__(self, client: Client, seen: AccessSeen) -> None:
        self._client = client
        self._seen = seen

    def record(self, request: AccessRequest) -> Record | None:
        """What is remembered of the grant; None if there is none, or its Secret is gone."""
        return record_in(self._there(request), request)

    def check(self, request: AccessRequest) -> None:
        """Refuse before anything is made, if the name is taken by somebody whom our watch shows."""
        there = self._there(request)
        if there is not None and not belongs_to(there, request):
            raise _taken(request)

    async def write(self, request: AccessRequest, record: Record, kubeconfig: dict[str, Any]) -> None:
        """Create it, or put it in place of the one that is there and ours."""
        document = secret_for(request, record, kubeconfig, provider=self._seen.sdk.name)
        if self._there(request) is None:
            try:
                self._seen.secrets.wrote(await self._client.create(SECRETS, document))
            except AlreadyExists:
                await self._own(request)
            else:
                return
        await self._patch(request, document)

    async def note(self, request: AccessRequest, record: Record) -> None:
        """Write down what has changed about the grant, and leave the kubeconfig as it is."""
        await self._patch(request, {"metadata": {"annotations": {GRANT_ANNOTATION: annotation_of(record)}}})

    async def remove(self, request: AccessRequest) -> None:
        there = self._there(request)
        if there is None or not belongs_to(there, request):
            return
        name, namespace = there.metadata.name, there.metadata.namespace
        try:
            await self._client.delete(SECRETS, name, namespace=namespace, uid=there.metadata.uid)
        except (NotFound, Conflict):
            return
        self._seen.secrets.deleted(there)

    def _there(self, request: AccessRequest) -> Bare | None:
        return self._seen.secrets.get(ObjectKey(request.metadata.namespace, secret_name(request)))

    async def _own(self, request: AccessRequest) -> None:
        """One is there that the store does not have: our own of a moment ago, or somebody else's."""
        found = await self._client.get(SECRETS, secret_name(request), namespace=request.metadata.namespace)
        if not belongs_to(found, request):
            raise _taken(request)

    async def _patch(self, request: AccessRequest, body: dict[str, Any]) -> None:
        patch, namespace = MergePatch(body), request.metadata.namespace
        self._seen.secrets.wrote(await self._client.patch(SECRETS, secret_name(request), patch, namespace=namespace))


def _taken(request: AccessRequest) -> Answered:
    return Answered(
        Reason.NOT_OURS,
        f"There is a Secret {secret_name(request)} in this namespace already, which is not this request's; "
        f"delete it, or name the request otherwise.",
    )
