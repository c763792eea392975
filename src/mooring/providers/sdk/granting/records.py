"""What is remembered of a grant: an annotation on the Secret with its kubeconfig, so that both come and go together."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.marks import PROVIDER_LABEL
from mooring.api.names import LONGEST_NAME, shortened
from mooring.entry.entrants import ENTRANT_LABEL
from mooring.kube import Bare

GRANT_ANNOTATION: Final = "mooring.dev/grant"
_ENDING: Final = ".kubeconfig"


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which token was given out, until when, and for which door. Times are seconds since the epoch."""

    door: str  # its fingerprint
    server: str
    generation: int = 0
    issue: str = ""  # the Secret in the cluster that the token lives with; empty where there is no token
    created: float = 0.0
    expires: float = 0.0
    retiring: str = ""  # the issue before, which still works …
    retire_at: float = 0.0  # … until then


_read = msgspec.json.Decoder(Record).decode


def record_in(secret: Bare | None, request: AccessRequest) -> Record | None:
    """The record on a Secret of this request; None for anything else, also if somebody has spoiled it."""
    if secret is None or not belongs_to(secret, request):
        return None
    try:
        return _read(secret.metadata.annotations.get(GRANT_ANNOTATION, ""))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def belongs_to(secret: Bare, request: AccessRequest) -> bool:
    return any(owner.uid == request.metadata.uid for owner in secret.metadata.owner_references)


def secret_name(request: AccessRequest) -> str:
    """As upstream's providers call it."""
    return f"{shortened(request.metadata.name, LONGEST_NAME - len(_ENDING))}{_ENDING}"


def secret_for(request: AccessRequest, record: Record, kubeconfig: dict[str, Any], *, provider: str) -> dict[str, Any]:
    """The Secret with a kubeconfig, owned by its request."""
    metadata, api = request.metadata, request.API
    owner = {
        "apiVersion": api.api_version,
        "kind": api.kind,
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    times = {"creationTimestamp": str(int(record.created)), "expirationTimestamp": str(int(record.expires))}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": secret_name(request),
            "namespace": metadata.namespace,
            "labels": {PROVIDER_LABEL: provider, ENTRANT_LABEL: metadata.uid},
            "annotations": {GRANT_ANNOTATION: annotation_of(record)},
            "ownerReferences": [owner],
        },
        "type": "Opaque",
        "stringData": {"kubeconfig": msgspec.yaml.encode(kubeconfig).decode(), **(times if record.issue else {})},
    }


def annotation_of(record: Record) -> str:
    return msgspec.json.encode(record).decode()
