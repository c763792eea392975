"""What wakes the face: changes mapped to the KubeconfigRequests for which they may make a difference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mooring.api.access import AccessRequest
from mooring.api.kyma import KubeconfigRequest
from mooring.kube import Bare, Change, ObjectKey
from mooring.kyma.kubeconfigs.seen import Seen, request_of
from mooring.runtime.predicates import Predicate, annotations_changed, any_of, asked_for


class Wakes:
    """The mappers."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def access_to_request(self, change: Change[AccessRequest]) -> Iterable[ObjectKey]:
        there = change.after or change.before
        return () if there is None else request_of(there.metadata)

    def credentials_to_request(self, change: Change[Bare]) -> Iterable[ObjectKey]:
        """Credentials that were renewed, or are gone: by the AccessRequest that they belong to."""
        there = change.after or change.before
        if there is None:
            return ()
        places = [
            ObjectKey(there.metadata.namespace, one.name)
            for one in there.metadata.owner_references
            if one.kind == AccessRequest.API.kind
        ]
        owners = [owner for place in places if (owner := self._seen.access.get(place)) is not None]
        return [key for owner in owners for key in request_of(owner.metadata)]

    def copy_to_request(self, change: Change[Bare]) -> Iterable[ObjectKey]:
        there = change.after or change.before
        return () if there is None else request_of(there.metadata)


def _status_lost(change: Change[KubeconfigRequest]) -> bool:
    before, after = change.before, change.after
    return before is not None and after is not None and before.status is not None and after.status is None


# What of a request is worth a look at it.
request_asks: Final[Predicate] = any_of(asked_for, annotations_changed, _status_lost)
