"""What is remembered of a grant: an annotation on the Secret with its kubeconfig, so that both come and go together.

The Secret is beside the request, where its owner may write, too. So nothing is believed that could harm anybody else.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import Any, Final

import msgspec

from mooring.api.access import AccessRequest
from mooring.api.kinds import owned_by
from mooring.api.marks import PROVIDER_LABEL
from mooring.api.names import LONGEST_NAME, shortened
from mooring.entry.entrants import ENTRANT_LABEL, Entrant
from mooring.kube import Bare

GRANT_ANNOTATION: Final = "mooring.dev/grant"
_ENDING: Final = ".kubeconfig"
# The keys of the Secret, as upstream has them.
CONTENTS: Final = ("kubeconfig", "creationTimestamp", "expirationTimestamp")


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which token was given out, until when, and for which door. Times are seconds since the epoch."""

    door: str  # its fingerprint
    server: str
    cluster: str = ""  # the uid of the Cluster that it leads into
    generation: int = 0
    digest: str = ""  # of what the Secret holds
    issue: str = ""  # the Secret in the cluster that the token lives with; empty where there is no token
    account: str = ""  # the uid of the account that the token is of
    lifetime: float = 0.0  # as it was asked for
    created: float = 0.0
    expires: float = 0.0
    retiring: str = ""  # the issue before, which still works …
    retire_at: float = 0.0  # … until then

    @property
    def issues(self) -> list[str]:
        """The tokens that may still be in use."""
        return [one for one in (self.issue, self.retiring) if one]


_read = msgspec.json.Decoder(Record).decode


def record_in(secret: Bare | None, entrant: Entrant) -> Record | None:
    """The record on a Secret of this request; None for anything else, also if somebody has spoiled it."""
    if secret is None or not belongs_to(secret, entrant.uid):
        return None
    try:
        record = _read(secret.metadata.annotations.get(GRANT_ANNOTATION, ""))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return record if _is_sane(record, entrant) else None


def _is_sane(record: Record, entrant: Entrant) -> bool:
    """Whether it speaks of this entrant's tokens alone, and of times that can be waited for."""
    form = re.compile(rf"{re.escape(entrant.hash)}-[0-9a-f]{{1,64}}")
    times = (record.lifetime, record.created, record.expires, record.retire_at)
    return all(form.fullmatch(one) for one in record.issues) and all(math.isfinite(one) for one in times)


def belongs_to(secret: Bare, uid: str) -> bool:
    """Whether it is the Secret of the request with this uid: it says so in one way or the other."""
    metadata = secret.metadata
    return metadata.labels.get(ENTRANT_LABEL) == uid or any(one.uid == uid for one in metadata.owner_references)


def secret_name(request: AccessRequest) -> str:
    """As upstream's providers call it."""
    return f"{shortened(request.metadata.name, LONGEST_NAME - len(_ENDING))}{_ENDING}"


def secret_for(request: AccessRequest, record: Record, contents: dict[str, str], *, provider: str) -> dict[str, Any]:
    """The Secret with a kubeconfig, owned by its request."""
    metadata = request.metadata
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": secret_name(request),
            "namespace": metadata.namespace,
            "labels": {PROVIDER_LABEL: provider, ENTRANT_LABEL: metadata.uid},
            "annotations": {GRANT_ANNOTATION: annotation_of(record)},
            "ownerReferences": [msgspec.to_builtins(owned_by(request, blocking=True))],
        },
        "type": "Opaque",
        "stringData": contents,
    }


def contents_for(record: Record, kubeconfig: dict[str, Any]) -> dict[str, str]:
    """What the owner of the request finds in it."""
    text = msgspec.yaml.encode(kubeconfig).decode()
    times = (str(int(record.created)), str(int(record.expires))) if record.issue else ()
    return dict(zip(CONTENTS, (text, *times), strict=False))


def digest_of(contents: dict[str, str]) -> str:
    """Changes when somebody changes what we have written. Keys that others added are theirs."""
    ours = {name: contents.get(name, "") for name in CONTENTS}
    return hashlib.sha256(msgspec.json.encode(ours, order="sorted")).hexdigest()[:16]


def annotation_of(record: Record) -> str:
    return msgspec.json.encode(record).decode()
