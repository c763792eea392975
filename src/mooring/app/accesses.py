"""What people do with access requests: create them, wait for what comes, rotate, revoke and delete."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import yaml

from mooring.access.plan import judges_itself
from mooring.api.access import AccessRequest
from mooring.api.clusters import ClusterProfile
from mooring.api.conditions import READY, found
from mooring.api.kinds import Document
from mooring.api.marks import (
    GRANT_FINALIZER,
    OPERATION_ANNOTATION,
    OPERATION_REVOKE,
    OPERATION_ROTATE,
    PROFILE_LABEL,
)
from mooring.api.requests import RequestPhase
from mooring.api.texts import printable
from mooring.app.explaining import not_installed, plainly
from mooring.app.requests import refused
from mooring.app.rights_texts import permissions_of, role_refs_of
from mooring.app.settings import SettingError
from mooring.app.waiting import NotGranted, Told, states
from mooring.kube import Client, MergePatch, ObjectKey, typed, untyped
from mooring.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound, ServerError

API: Final = AccessRequest.API
REQUESTS: Final = typed(AccessRequest)
PLAIN: Final = plainly(AccessRequest)
SECRETS: Final = untyped(plural="secrets", kind="Secret")
_SETTLING, _PAUSE = 30.0, 0.5  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be asked for, as it was said on the command line."""

    cluster: str = ""
    request: str = ""
    rules: Sequence[str] = ()
    roles: Sequence[str] = ()
    ttl: str = ""
    lifetime: str = ""

    def document(self, namespace: str, name: str | None) -> Document:
        """The request, ready to be created; the server judges the rest."""
        spec: Document = {"token": self._token()}
        for field, text in (("clusterRef", self.cluster), ("requestRef", self.request)):
            if text:
                spec[field] = _reference(text, namespace)
        if self.ttl:
            spec["ttl"] = self.ttl
        metadata: Document = {"namespace": namespace}
        metadata |= (
            {"name": name} if name else {"generateName": f"{(self.cluster or self.request).rpartition('/')[2]}-"}
        )
        return {"apiVersion": API.api_version, "kind": API.kind, "metadata": metadata, "spec": spec}

    def _token(self) -> Document:
        said = {
            "permissions": permissions_of(self.rules),
            "roleRefs": role_refs_of(self.roles),
            "lifetime": self.lifetime,
        }
        return {field: value for field, value in said.items() if value}


def _reference(text: str, namespace: str) -> Document:
    where, slash, name = text.rpartition("/")
    return {"name": name, "namespace": where if slash else namespace}


async def create(client: Client, document: Document) -> Document:
    """Create it; as the server has it now."""
    deadline = time.monotonic() + _SETTLING
    while True:
        try:
            return await client.create(PLAIN, document)
        except (AlreadyExists, Invalid, NotFound) as error:
            raise refused(client, AccessRequest, document, error) from None
        except ServerError as error:
            # A server that has just learned our kinds takes some seconds until its admission policies know them, too.
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > deadline:
                raise
        await asyncio.sleep(_PAUSE)


async def named(client: Client, key: ObjectKey) -> AccessRequest:
    """The request of this name, or a sentence for the one who mistyped it."""
    try:
        return await client.get(REQUESTS, key.name, namespace=key.namespace)
    except NotFound as error:
        if "could not find" in error.message:
            raise not_installed(client, AccessRequest) from None
        raise SettingError(
            f"There is no accessrequest {key.name!r} in the namespace {key.namespace!r}; 'mooring access list -A' "
            f"shows those there are."
        ) from None


async def delete(client: Client, key: ObjectKey) -> str:
    """Delete a request; its uid if it stays for a while, nothing if it is gone."""
    request = await named(client, key)
    try:
        left = await client.delete(REQUESTS, key.name, namespace=key.namespace, uid=request.metadata.uid)
    except (NotFound, Conflict):  # somebody else was faster
        return ""
    return "" if left is None else left.metadata.uid


async def rotate(client: Client, key: ObjectKey) -> str:
    """Have the token replaced by a new one; the uid of the request."""
    return await _operate(client, key, OPERATION_ROTATE)


async def revoke(client: Client, key: ObjectKey) -> str:
    """Have all tokens refused, and no new one given out."""
    return await _operate(client, key, OPERATION_REVOKE)


async def restore(client: Client, key: ObjectKey) -> str:
    """Grant again what was revoked."""
    return await _operate(client, key, None)


async def _operate(client: Client, key: ObjectKey, word: str | None) -> str:
    request = await named(client, key)
    if request.metadata.deleting:
        raise SettingError(f"The accessrequest {key.name!r} is being deleted; its tokens end with it.")
    if word is not None:
        await _check_heard(client, request, word)
    present = request.metadata.annotations.get(OPERATION_ANNOTATION)
    if word == OPERATION_ROTATE and present == OPERATION_REVOKE:
        raise SettingError(
            f"The accessrequest {key.name!r} is revoked, and has no token to rotate; 'mooring access revoke --undo' "
            f"grants it again."
        )
    if word is None and present != OPERATION_REVOKE:
        raise SettingError(f"The accessrequest {key.name!r} is not revoked.")
    # As it was seen: two people at once must not undo each other's word unawares.
    identity = {"uid": request.metadata.uid, "resourceVersion": request.metadata.resource_version}
    body: dict[str, Any] = {"metadata": {**identity, "annotations": {OPERATION_ANNOTATION: word}}}
    try:
        patched = await client.patch(REQUESTS, key.name, MergePatch(body), namespace=key.namespace)
    except Conflict:
        return await _operate(client, key, word)
    return patched.metadata.uid


async def _check_heard(client: Client, request: AccessRequest, word: str) -> None:
    """Providers that are not made with Mooring's SDK do not know these words, and would go on as if none was said."""
    name = request.metadata.labels.get(PROFILE_LABEL)
    if not name:
        return
    try:
        profile = await client.get(typed(ClusterProfile), name)
    except (NotFound, Forbidden):
        return  # nobody knows
    if not judges_itself(profile):
        raise SettingError(
            f"The provider {profile.spec.provider_ref.name!r} of the cluster does not know the word {word!r}; 'mooring "
            f"access delete {request.metadata.name}' takes access back, and another request gets another token."
        )


# -- waiting --------------------------------------------------------------------------------------------------------


async def until_granted(client: Client, key: ObjectKey, uid: str, *, told: Told) -> AccessRequest:
    """Wait until the credentials are there, as of what is asked for now; ``told`` hears each step."""
    async with states(client, REQUESTS, key, uid, standing, told) as seen:
        async for request in seen:
            if request is None:
                raise NotGranted(f"The accessrequest {key} was deleted while it was waited for.")
            status = request.status
            if status is None or status.observed_generation != request.metadata.generation:
                continue
            if status.phase == RequestPhase.DENIED and not _was_restored(request):
                said = f"The accessrequest {key} is denied ({status.reason}). {status.message}"
                raise NotGranted(printable(said).rstrip())
            if is_usable(request) and OPERATION_ANNOTATION not in request.metadata.annotations:
                return request
    raise AssertionError("a watch does not end")  # pragma: no cover


def _was_restored(request: AccessRequest) -> bool:
    """Whether the status still speaks of a revocation that was undone."""
    revoked = request.metadata.annotations.get(OPERATION_ANNOTATION) == OPERATION_REVOKE
    return request.status is not None and request.status.reason == "Revoked" and not revoked


async def until_revoked(client: Client, key: ObjectKey, uid: str, *, told: Told) -> None:
    """Wait until nothing that was given out opens the cluster any more, but for what it still remembers (10 s)."""
    async with states(client, REQUESTS, key, uid, standing, told) as seen:
        async for request in seen:
            if request is None or _is_taken_back(request):
                return


def _is_taken_back(request: AccessRequest) -> bool:
    """Nothing is given out, and its provider holds it no more. It may stand there for another reason than that it is
    revoked: it may be denied as well, or have never been granted."""
    revoked = request.metadata.annotations.get(OPERATION_ANNOTATION) == OPERATION_REVOKE
    given = request.status is not None and request.status.secret_ref is not None
    return revoked and not given and GRANT_FINALIZER not in request.metadata.finalizers


def is_usable(request: AccessRequest) -> bool:
    status = request.status
    ready = found(status.conditions, READY) if status is not None else None
    return status is not None and status.secret_ref is not None and ready is not None and ready.status == "True"


def standing(request: AccessRequest) -> str:
    """Where it stands, in one line."""
    status = request.status
    if request.metadata.deleting:
        return "Leaving: what was made in the cluster is removed"
    if status is None:
        return "Pending: no answer yet"
    return f"{status.phase} ({status.reason}): {status.message}" if status.message else f"{status.phase}"


async def kubeconfig_of(client: Client, request: AccessRequest) -> Document:
    """The kubeconfig that was given out."""
    reference = request.status.secret_ref if request.status is not None else None
    key = ObjectKey(request.metadata.namespace, request.metadata.name)
    if reference is None:
        raise SettingError(f"The accessrequest {key} has no credentials at the moment: {standing(request)}")
    secret = await client.get(SECRETS, reference.name, namespace=key.namespace)
    try:
        text = base64.b64decode(secret["data"]["kubeconfig"])
        document = yaml.safe_load(text)
    except (KeyError, TypeError, ValueError, binascii.Error, yaml.YAMLError):
        document = None
    if not isinstance(document, dict):
        raise SettingError(f"The Secret {reference.name} of the accessrequest {key} holds no kubeconfig.")
    return document
