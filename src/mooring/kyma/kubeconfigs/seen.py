"""What the face sees: requests, the AccessRequests that answer them, and Secrets without what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from mooring.api.access import AccessRequest
from mooring.api.kinds import Metadata
from mooring.api.kyma import KubeconfigRequest
from mooring.entry.entrants import ENTRANT_LABEL
from mooring.kube import Bare, ObjectKey, metadata_of, typed, untyped
from mooring.runtime import Manager, Store

# On Secrets that we write: the uid of the request that they are for.
REQUEST_LABEL: Final = "mooring.dev/kubeconfig-request"

WHOLE_SECRETS: Final = untyped(plural="secrets", kind="Secret")
# What comes back of what we write is looked at no further than the metadata.
SECRETS: Final = replace(metadata_of(WHOLE_SECRETS), metadata_only=False)

_OWNER: Final = "kyma-owner"  # stores are shared with other rooms, and so are the names of indexes


class Seen:
    """Made once for a manager."""

    def __init__(self, manager: Manager) -> None:
        self.requests: Store[KubeconfigRequest] = manager.store(typed(KubeconfigRequest))
        self.access: Store[AccessRequest] = manager.store(typed(AccessRequest))
        # Where providers put what they give out.
        self.credentials: Store[Bare] = manager.store(metadata_of(WHOLE_SECRETS), label_selector=ENTRANT_LABEL)
        self.copies: Store[Bare] = manager.store(
            metadata_of(WHOLE_SECRETS), label_selector=REQUEST_LABEL, indexes={_OWNER: _owner}
        )

    def copies_of(self, request: KubeconfigRequest) -> list[Bare]:
        """The Secrets that we wrote for a request."""
        found = self.copies.by(_OWNER, request.metadata.uid)
        return [one for one in found if owns(request, one.metadata)]


def owns(request: KubeconfigRequest, metadata: Metadata) -> bool:
    """Whether an object was made for this very request."""
    place = metadata.namespace == request.metadata.namespace
    return place and any(one.controller and one.uid == request.metadata.uid for one in metadata.owner_references)


def request_of(metadata: Metadata) -> Iterable[ObjectKey]:
    """The request that an object says it was made for."""
    api = KubeconfigRequest.API
    owners = [one for one in metadata.owner_references if (one.kind, one.api_version) == (api.kind, api.api_version)]
    return [ObjectKey(metadata.namespace, one.name) for one in owners]


def _owner(secret: Bare) -> Iterable[str]:
    return (secret.metadata.labels.get(REQUEST_LABEL, ""),)
