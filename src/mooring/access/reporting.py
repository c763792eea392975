"""Events about access requests: what is to read in ``kubectl describe`` beside the status."""

from __future__ import annotations

from mooring.access.reasons import REFUSALS
from mooring.api.access import AccessRequest, AccessRequestStatus
from mooring.runtime import Recorder


class Reporter:
    """Tells an event when a request is refused, and when its time is over. That all is well is told by its provider."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def tell(self, request: AccessRequest, status: AccessRequestStatus) -> None:
        """``request`` is as it was before it got this status."""
        old = request.status
        if status.reason in REFUSALS and (old is None or (old.phase, old.reason) != (status.phase, status.reason)):
            self._tell(request, status.reason, status.message, warning=True)

    def ended(self, request: AccessRequest) -> None:
        self._tell(request, "Expired", f"The ttl of {request.spec.ttl} is over: the request deletes itself.")

    def freed(self, request: AccessRequest) -> None:
        note = "Its Cluster and the provider of that are gone: the finalizer that nobody else would remove is removed."
        self._tell(request, "Abandoned", note)

    def _tell(self, request: AccessRequest, reason: str, note: str, *, warning: bool = False) -> None:
        api = request.API
        self._recorder.tell(
            request, api.api_version, api.kind, reason=reason, action="Preparing", note=note, warning=warning
        )
