"""What a request lacks: labels, the reference to its cluster, a word in its status. Pure.

Two write one status. Ours is what keeps a request from being answered: it leads nowhere, it may not enter, its labels
are wrong. All else is its provider's. A provider made with our SDK looks for itself and needs no word from us;
upstream's wait until a status says ``Pending`` of the present generation, so for those we say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mooring.access.reasons import REFUSALS, Reason
from mooring.api.access import AccessRequest
from mooring.api.clusters import ClusterProfile
from mooring.api.marks import MANAGED_BY_LABEL, MANAGED_BY_MOORING, PROFILE_LABEL, PROVIDER_LABEL
from mooring.api.references import NearbyReference
from mooring.api.requests import RequestPhase
from mooring.entry.policies import Verdict, right_labels
from mooring.entry.resolving import Gap, Target, Unresolved
from mooring.kube import key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What a request gets when it is prepared, in one write."""

    labels: Mapping[str, str]
    cluster_ref: NearbyReference


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a status is to say."""

    phase: RequestPhase
    reason: str
    message: str


def judges_itself(profile: ClusterProfile | None) -> bool:
    """Whether the provider of a profile resolves and judges requests by itself, as those of our SDK do."""
    return profile is not None and profile.metadata.labels.get(MANAGED_BY_LABEL) == MANAGED_BY_MOORING


def is_labelled(request: AccessRequest) -> bool:
    """Whether some provider takes the request for its own."""
    labels = request.metadata.labels
    return bool(labels.get(PROVIDER_LABEL) and labels.get(PROFILE_LABEL))


def marks_for(request: AccessRequest, target: Target) -> Marks:
    """The marks of a request that may enter. Right ones that are there already stay."""
    place = key_of(target.cluster)
    return Marks(
        labels={**request.metadata.labels, **right_labels(target.profile)},
        cluster_ref=NearbyReference(name=place.name, namespace=place.namespace),
    )


def unresolved_answer(request: AccessRequest, why: Unresolved, *, labelled_for: ClusterProfile | None) -> Answer:
    """What is said while a request leads nowhere. ``labelled_for`` is the profile that its labels name.

    With ``Pending`` upstream's providers would begin, for a cluster on which nobody has judged the request yet.
    """
    waits = why.gap is not Gap.NO_REFERENCE and (not is_labelled(request) or judges_itself(labelled_for))
    phase = RequestPhase.PENDING if waits else RequestPhase.DENIED
    return Answer(phase=phase, reason=why.gap, message=why.message)


def judged_answer(request: AccessRequest, target: Target, verdict: Verdict) -> Answer | None:
    """What is said of a request that leads to a cluster, with its marks on it; None: nothing, its provider speaks."""
    if not verdict.allowed:
        return Answer(phase=RequestPhase.DENIED, reason=verdict.reason, message=verdict.message)
    if not _is_denied_by_us(request) if judges_itself(target.profile) else _is_told(request):
        return None
    provider = target.profile.spec.provider_ref.name
    message = f"The request may enter the Cluster {key_of(target.cluster)}; the provider {provider} answers it."
    return Answer(phase=RequestPhase.PENDING, reason=Reason.PREPARED, message=message)


def leaving_answer(request: AccessRequest, *, labelled_for: ClusterProfile | None) -> Answer | None:
    """What is said of a request in deletion: upstream's providers revoke what is Pending, or Granted as it is now."""
    if not is_labelled(request) or not request.metadata.finalizers or judges_itself(labelled_for):
        return None
    status = request.status
    current = status is not None and status.observed_generation == request.metadata.generation
    if current and status is not None and status.phase in (RequestPhase.PENDING, RequestPhase.GRANTED):
        return None
    message = "The request is being deleted; its provider takes back what was granted."
    return Answer(phase=RequestPhase.PENDING, reason=Reason.REVOKING, message=message)


def _is_denied_by_us(request: AccessRequest) -> bool:
    status = request.status
    return status is not None and status.phase == RequestPhase.DENIED and status.reason in REFUSALS


def _is_told(request: AccessRequest) -> bool:
    """Whether one of upstream's providers knows that it may answer, or has answered, the request as it is now."""
    status = request.status
    if status is None or status.observed_generation != request.metadata.generation:
        return False
    if status.phase == RequestPhase.GRANTED:
        return True
    known = status.phase in (RequestPhase.PENDING, RequestPhase.DENIED)
    return known and status.reason not in REFUSALS
