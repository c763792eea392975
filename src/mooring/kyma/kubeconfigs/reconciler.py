"""The reconciler of KubeconfigRequests.

Writes of an answer, in order: (1) the AccessRequest, owned by the request; (2) the annotations of the request that were
heard; (3) the Secret that the request names, if it names one; (4) the status, with the kubeconfig or without; (5) what
was copied elsewhere before is deleted. Everything is found again by name or by owner, so that a run that was stopped
anywhere is simply run again. Nothing is held: what was made goes with the request, by ownership.
"""

from __future__ import annotations

import datetime
from typing import Final

from mooring.api.access import AccessRequest
from mooring.api.conditions import READY, found
from mooring.api.kyma import REVOKE_ANNOTATION, ROTATE_ANNOTATION, KubeconfigRequest
from mooring.kube import ObjectKey, key_of, typed
from mooring.kube.errors import AlreadyExists, NotFound
from mooring.kyma.kubeconfigs.copying import Copier
from mooring.kyma.kubeconfigs.plan import access_key, asks, belongs_to, heard, new_access, right_access
from mooring.kyma.kubeconfigs.reasons import Reason, Taken
from mooring.kyma.kubeconfigs.seen import Seen
from mooring.kyma.kubeconfigs.status import Answer, Kubeconfig, answer_for, status_of, with_status
from mooring.runtime import Manager, Outcome, TryAgain, Writer
from mooring.runtime.clock import timestamp

# Seconds after which a kubeconfig whose time is over is looked for again.
_LATE: Final = 60.0


class KubeconfigReconciler:
    """Answers each request with an AccessRequest, and shows what that one gets."""

    def __init__(self, manager: Manager, seen: Seen) -> None:
        self._seen = seen
        self._client = manager.client
        self._clock = manager.clock
        self._recorder = manager.recorder
        self._requests = Writer(manager.client, typed(KubeconfigRequest), seen.requests)
        self._access = Writer(manager.client, typed(AccessRequest), seen.access)
        self._copier = Copier(manager.client, seen)

    async def reconcile(self, key: ObjectKey) -> Outcome:
        request = self._seen.requests.get(key)
        if request is None or request.metadata.deleting:
            return Outcome.await_change()
        try:
            return await self._answer(request)
        except NotFound:
            if not await self._is_gone(request):
                raise TryAgain("what belongs to it has just been deleted") from None
            self._seen.requests.deleted(request)
            return Outcome.await_change()

    async def _answer(self, request: KubeconfigRequest) -> Outcome:
        try:
            request, access = await self._passed_on(request)
            kubeconfig = None if asks(request, REVOKE_ANNOTATION) else await self._copier.fetch(access)
            if kubeconfig is not None and request.spec.secret_ref is not None:
                await self._copier.write(request, request.spec.secret_ref, kubeconfig)
        except Taken as error:
            await self._show(request, None, None, Answer(ready=False, reason=Reason.TAKEN, message=str(error)))
            raise TryAgain(str(error)) from None
        answer = answer_for(request, access, kubeconfig, now=self._now())
        await self._show(request, access, kubeconfig, answer)
        if kubeconfig is None or not kubeconfig.expires:
            return Outcome.await_change()
        left = (datetime.datetime.fromisoformat(kubeconfig.expires) - self._clock.now()).total_seconds()
        return Outcome.requeue(after=left if left > 0 else _LATE)

    # -- asking -------------------------------------------------------------------------------------------------

    async def _passed_on(self, request: KubeconfigRequest) -> tuple[KubeconfigRequest, AccessRequest]:
        """The AccessRequest says what the request says, and what was asked for once is asked no more."""
        before = await self._found(request)
        if before.metadata.deleting:
            return request, before  # another one is made when it is gone
        access = await self._access.save(before, right_access(request, before), guarded=True)
        changed = heard(request, before)
        if changed != request:
            if asks(request, ROTATE_ANNOTATION):
                self._tell(request, "Rotating", "Another kubeconfig was asked for.")
            request = await self._requests.save(request, changed, guarded=True)
        return request, access

    async def _found(self, request: KubeconfigRequest) -> AccessRequest:
        """Its AccessRequest; made if there is none."""
        place = access_key(request)
        there = self._seen.access.get(place)
        if there is None:
            try:
                return await self._access.create(new_access(request))
            except AlreadyExists:
                there = await self._client.get(typed(AccessRequest), place.name, namespace=place.namespace)
                self._seen.access.wrote(there)
        if not belongs_to(request, there):
            raise Taken(
                f"There is an AccessRequest {place.name} in this namespace already, which is not this request's; "
                f"delete it, or name this request otherwise."
            )
        return there

    # -- showing ------------------------------------------------------------------------------------------------

    async def _show(
        self, request: KubeconfigRequest, access: AccessRequest | None, kubeconfig: Kubeconfig | None, answer: Answer
    ) -> None:
        if kubeconfig is None:
            # First what can be used: it is void, or soon will be.
            await self._copier.remove_all_but(request, "")
        status = status_of(request, answer, access=access, kubeconfig=kubeconfig, now=self._now())
        if status is not request.status:
            await self._requests.save(request, with_status(request, status))
            self._announce(request, answer)
        wanted = request.spec.secret_ref
        await self._copier.remove_all_but(request, wanted.name if wanted is not None else "")

    def _announce(self, request: KubeconfigRequest, answer: Answer) -> None:
        """``request`` is as it was before. Nothing is told while it waits."""
        before = found(request.status.conditions, READY) if request.status is not None else None
        if answer.reason in (Reason.WAITING, before.reason if before is not None else ""):
            return
        note = "A kubeconfig was issued." if answer.ready else answer.message
        self._tell(request, answer.reason, note, warning=not answer.ready)

    def _tell(self, request: KubeconfigRequest, reason: str, note: str, *, warning: bool = False) -> None:
        api = KubeconfigRequest.API
        self._recorder.tell(
            request, api.api_version, api.kind, reason=reason, action="Issuing", note=note, warning=warning
        )

    async def _is_gone(self, request: KubeconfigRequest) -> bool:
        key = key_of(request)
        try:
            there = await self._client.get(typed(KubeconfigRequest), key.name, namespace=key.namespace)
        except NotFound:
            return True
        return there.metadata.uid != request.metadata.uid

    def _now(self) -> str:
        return timestamp(self._clock.now())
