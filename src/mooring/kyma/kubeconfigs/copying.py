"""The kubeconfig on its way: from the Secret that a provider put it into, to one beside the request if that wants it.

Only a Secret that belongs to the AccessRequest is read, and only one that belongs to the request is written: names in
an object are somebody's word, and this process may read every Secret there is.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import datetime
from typing import Any, Final

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.kinds import owned_by
from mooring.api.kyma import KubeconfigRequest, KubeconfigSecret
from mooring.kube import Client, MergePatch, Object
from mooring.kube.errors import AlreadyExists, Conflict, Invalid, InvalidName, NotFound
from mooring.kyma.kubeconfigs.reasons import Taken
from mooring.kyma.kubeconfigs.seen import REQUEST_LABEL, SECRETS, WHOLE_SECRETS, Seen
from mooring.kyma.kubeconfigs.status import Kubeconfig
from mooring.runtime import TryAgain
from mooring.runtime.clock import timestamp

# The keys of the Secret with credentials, as upstream has them.
_KUBECONFIG, _EXPIRES = "kubeconfig", "expirationTimestamp"
USUAL_KEY: Final = "kubeconfig"


class Copier:
    """Reads what providers wrote, writes what requests want."""

    def __init__(self, client: Client, seen: Seen) -> None:
        self._client = client
        self._seen = seen

    async def fetch(self, access: AccessRequest) -> Kubeconfig | None:
        """What the AccessRequest got; None if there is nothing, or nothing that is its own."""
        reference = access.status.secret_ref if access.status is not None else None
        if reference is None or access.metadata.deleting:
            return None
        secret = await self._get(reference.name, access.metadata.namespace)
        if secret is None or not _is_owned(secret, access.metadata.uid):
            return None
        data = secret.get("data") or {}
        if not data.get(_KUBECONFIG):
            return None
        return Kubeconfig(encoded=str(data[_KUBECONFIG]), expires=_moment(str(data.get(_EXPIRES) or "")))

    async def write(self, request: KubeconfigRequest, place: KubeconfigSecret, kubeconfig: Kubeconfig) -> None:
        """Have it in the Secret that the request names. Taken if that is somebody else's."""
        wanted = secret_for(request, place, kubeconfig)
        there = await self._get(place.name, request.metadata.namespace)
        if there is None:
            await self._create(wanted)
            return
        if not _is_owned(there, request.metadata.uid):
            raise Taken(
                f"spec.secretRef: there is a Secret {place.name} in this namespace already, which is not this "
                f"request's; delete it, or name another."
            )
        if not _looks_like(there, wanted):
            await self._put(there, wanted)

    async def remove_all_but(self, request: KubeconfigRequest, kept: str) -> None:
        """Take away what we wrote for the request elsewhere; with no name, everywhere."""
        for one in self._seen.copies_of(request):
            metadata = one.metadata
            if metadata.name == kept:
                continue
            with contextlib.suppress(NotFound, Conflict):
                await self._client.delete(SECRETS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
            self._seen.copies.deleted(one)

    async def _get(self, name: str, namespace: str) -> Object | None:
        try:
            return await self._client.get(WHOLE_SECRETS, name, namespace=namespace)
        except (NotFound, InvalidName):
            return None

    async def _create(self, wanted: Object) -> None:
        try:
            self._seen.copies.wrote(await self._client.create(SECRETS, wanted))
        except AlreadyExists:
            raise TryAgain("a Secret of this name was just created") from None

    async def _put(self, there: Object, wanted: Object) -> None:
        """In place of what this very Secret holds."""
        metadata = there["metadata"]
        others = {name: None for name in there.get("data") or {} if name not in wanted["data"]}
        body = {"metadata": {**wanted["metadata"], "uid": metadata["uid"]}, "data": {**others, **wanted["data"]}}
        try:
            written = await self._client.patch(
                SECRETS, metadata["name"], MergePatch(body), namespace=metadata["namespace"]
            )
        except Invalid:
            # Somebody has made it immutable.
            await self._client.delete(SECRETS, metadata["name"], namespace=metadata["namespace"], uid=metadata["uid"])
            await self._create(wanted)
        else:
            self._seen.copies.wrote(written)


def secret_for(request: KubeconfigRequest, place: KubeconfigSecret, kubeconfig: Kubeconfig) -> Object:
    """The Secret beside a request, owned by it."""
    metadata = request.metadata
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": place.name,
            "namespace": metadata.namespace,
            "labels": {REQUEST_LABEL: metadata.uid},
            "ownerReferences": [msgspec.to_builtins(owned_by(request, blocking=True))],
        },
        "type": "Opaque",
        "data": {place.key or USUAL_KEY: kubeconfig.encoded},
    }


def _is_owned(secret: Object, uid: str) -> bool:
    return any(one.get("uid") == uid for one in secret["metadata"].get("ownerReferences") or ())


def _looks_like(there: Object, wanted: Object) -> bool:
    labels: dict[str, Any] = there["metadata"].get("labels") or {}
    return bool(there.get("data") == wanted["data"] and wanted["metadata"]["labels"].items() <= labels.items())


def _moment(encoded: str) -> str:
    """Seconds since the epoch, as a Secret holds them, as a time; empty if that is not what it holds."""
    try:
        seconds = float(base64.b64decode(encoded))
        return timestamp(datetime.datetime.fromtimestamp(seconds, datetime.UTC)) if seconds > 0 else ""
    except (ValueError, OverflowError, OSError, binascii.Error):
        return ""
