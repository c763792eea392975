"""Preparing access requests: find out which cluster is meant, judge whether the request may enter, and label it.

One write prepares a request: the labels that make its provider answer it, and the reference to its cluster, guarded by
the revision that was looked at. What keeps a request from being prepared stands in its status. Stopped anywhere, the
next run looks at the same things and comes to the same end.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.access.leaving import Leaving
from mooring.access.lifetimes import time_left, timestamp
from mooring.access.plan import Answer, judged_answer, marks_for, unresolved_answer
from mooring.access.reasons import Reason
from mooring.access.reporting import Reporter
from mooring.access.seen import Seen
from mooring.access.status import status_of
from mooring.api.access import AccessRequest
from mooring.api.marks import OPERATION_ANNOTATION, OPERATION_RECONCILE
from mooring.api.requests import RequestPhase
from mooring.entry.creators import verdict_on
from mooring.entry.resolving import Target, Unresolved, resolved
from mooring.kube import ObjectKey, Resource, typed
from mooring.kube.errors import BadAnswer, Conflict, Invalid, InvalidName, NotFound
from mooring.runtime import Manager, Outcome, Writer

_WAY = 4  # what can be missing on the way from a request to its profile, and be there after all


class AccessReconciler:
    """The reconciler of AccessRequests, as far as it is not their provider's."""

    def __init__(self, manager: Manager, seen: Seen) -> None:
        self._seen = seen
        self._clock = manager.clock
        self._client = manager.client
        self._access = Writer(manager.client, typed(AccessRequest), seen.access)
        self._reporter = Reporter(manager.recorder)
        self._leaving = Leaving(manager, seen, self._reporter)

    async def reconcile(self, key: ObjectKey) -> Outcome:
        request = self._seen.access.get(key)
        if request is None:
            return Outcome.await_change()
        try:
            return await self._looked_at(request)
        except NotFound:
            self._seen.access.deleted(request)
            return Outcome.await_change()

    async def _looked_at(self, request: AccessRequest) -> Outcome:
        request = await self._noticed(request)
        if request.metadata.deleting:
            await self._leaving.leave(request)
            return Outcome.await_change()
        begun, left = self._clock.elapsed(), time_left(request, self._clock.now())
        if left is not None and left <= 0:
            return await self._end(request)
        await self._prepare(request)
        if left is None:
            return Outcome.await_change()
        return Outcome.requeue(after=left - (self._clock.elapsed() - begun))

    async def _prepare(self, request: AccessRequest) -> None:
        target = await self._target(request)
        if isinstance(target, Unresolved):
            labelled_for = self._seen.profile_labelled(request)
            await self._tell(request, unresolved_answer(request, target, labelled_for=labelled_for))
            return
        verdict = await verdict_on(self._client, request, target)
        answer: Answer | None
        try:
            marked = await self._marked(request, target) if verdict.allowed else request
        except Invalid as error:
            marked, answer = request, _not_accepted(error)
        else:
            answer = judged_answer(marked, target, verdict)
        if answer is not None:
            await self._tell(marked, answer)

    async def _target(self, request: AccessRequest) -> Target | Unresolved:
        """What the request leads to. That something is missing on the way is said only after the server said so."""
        for _ in range(_WAY):
            target = resolved(request, self._seen.sources)
            if isinstance(target, Target) or target.missing is None or not await self._is_there(*target.missing):
                return target
        return target

    async def _is_there(self, resource: Resource[Any], key: ObjectKey) -> bool:
        """Whether the server has what the store has not heard of; then the store has it, too."""
        try:
            there = await self._client.get(resource, key.name, namespace=key.namespace or None)
        except (NotFound, InvalidName, BadAnswer):  # the last: somebody's object that cannot be read
            return False
        self._seen.store_of(resource).wrote(there)
        return True

    # -- writing ------------------------------------------------------------------------------------------------

    async def _marked(self, request: AccessRequest, target: Target) -> AccessRequest:
        marks = marks_for(request, target)
        metadata = msgspec.structs.replace(request.metadata, labels=marks.labels)
        spec = msgspec.structs.replace(request.spec, cluster_ref=marks.cluster_ref)
        return await self._access.save(
            request, msgspec.structs.replace(request, metadata=metadata, spec=spec), guarded=True
        )

    async def _tell(self, request: AccessRequest, answer: Answer) -> None:
        status = status_of(request, answer, now=timestamp(self._clock.now()))
        if status is request.status:
            return
        # Guarded, so that what its provider has just written is looked at first.
        await self._access.save(request, msgspec.structs.replace(request, status=status), guarded=True)
        self._reporter.tell(request, status)

    async def _noticed(self, request: AccessRequest) -> AccessRequest:
        """Take the word to look at it now away again."""
        if request.metadata.annotations.get(OPERATION_ANNOTATION) != OPERATION_RECONCILE:
            return request
        annotations = {
            name: value for name, value in request.metadata.annotations.items() if name != OPERATION_ANNOTATION
        }
        metadata = msgspec.structs.replace(request.metadata, annotations=annotations)
        return await self._access.save(request, msgspec.structs.replace(request, metadata=metadata))

    async def _end(self, request: AccessRequest) -> Outcome:
        """Its time is over, by what we know: a longer ttl that came meanwhile changes the revision."""
        try:
            await self._access.delete(request, guarded=True)
        except Conflict:
            return Outcome.requeue(after=0.1)
        self._reporter.ended(request)
        return Outcome.await_change()


def _not_accepted(error: Invalid) -> Answer:
    """The server does not take the marks: a profile or provider whose name is too long for a label, say."""
    return Answer(
        phase=RequestPhase.DENIED,
        reason=Reason.NOT_ACCEPTED,
        message=f"The API server refuses the labels or the reference that the request needs: {error}",
    )
