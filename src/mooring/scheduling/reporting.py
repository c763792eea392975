"""Events about requests: what a person wants to read in ``kubectl describe`` beside the status."""

from __future__ import annotations

from mooring.api.clusters import Cluster
from mooring.api.conditions import is_true
from mooring.api.requests import ClusterRequest, ClusterRequestStatus, RequestPhase
from mooring.kube import key_of
from mooring.runtime import Recorder
from mooring.runtime.clock import timestamp
from mooring.scheduling.lifetimes import Life
from mooring.scheduling.reasons import Reason
from mooring.scheduling.status import EXPIRING


class Reporter:
    """Tells an event when a request's standing changes, and not when it is only described anew."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def tell(self, request: ClusterRequest, status: ClusterRequestStatus, life: Life) -> None:
        """``request`` is as it was before it got this status."""
        old = request.status
        if old is None or (old.phase, old.reason) != (status.phase, status.reason):
            troubled = status.phase != RequestPhase.GRANTED
            self._tell(request, status.reason, status.message, warning=troubled)
        was_expiring = old is not None and is_true(old.conditions, EXPIRING)
        if is_true(status.conditions, EXPIRING) and not was_expiring and life.ends is not None:
            self._tell(
                request,
                EXPIRING,
                f"The request ends at {timestamp(life.ends)}; raise spec.ttl to keep its cluster.",
                warning=True,
            )

    def claim_lost(self, request: ClusterRequest, cluster: Cluster) -> None:
        """The cluster's side of a claim that cannot be restored; its conditions belong to its provider."""
        if request.status is not None and request.status.reason == Reason.CLAIM_LOST:
            return
        key = key_of(request)
        self._recorder.tell(
            cluster,
            cluster.API.api_version,
            cluster.API.kind,
            reason=Reason.CLAIM_LOST,
            action="Scheduling",
            note=f"Somebody removed the claim of the request {key}, and its seat or prefix is taken by now.",
            warning=True,
        )

    def ended(self, request: ClusterRequest) -> None:
        """Its time is over."""
        self._tell(request, "Expired", f"The ttl of {request.spec.ttl} is over: the request deletes itself.")

    def _tell(self, request: ClusterRequest, reason: str, note: str, *, warning: bool = False) -> None:
        api = request.API
        self._recorder.tell(
            request, api.api_version, api.kind, reason=reason, action="Scheduling", note=note, warning=warning
        )
