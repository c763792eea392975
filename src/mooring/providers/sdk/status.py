"""The status of a cluster, as a function of what its provider said.

``Ready`` is True only when the provider says so; Unknown while a cluster is made that never was ready, and False when
one is not ready any more. ``Stalled`` is there only while somebody has to change something. ``ForeignFinalizers`` is
there only while the end of a cluster waits for others. Conditions of others are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from mooring.api.claims import claim_on
from mooring.api.clusters import Cluster, ClusterPhase, ClusterStatus, Endpoint
from mooring.api.conditions import READY, STALLED, Condition, Truth, found, is_true, with_condition, without_condition
from mooring.api.kinds import EMPTY, Metadata
from mooring.api.marks import (
    EXTERNAL_ENDPOINT,
    KUBERNETES_VERSION_LABEL,
    PROVIDER_INFO_ANNOTATION,
    PROVIDER_LABEL,
    claimant_of,
)
from mooring.providers.sdk.provider import State
from mooring.providers.sdk.scrubbing import scrubbed, secret_in

FOREIGN_FINALIZERS = "ForeignFinalizers"
WAITING, DELETING, FAILED, READY_REASON = "WaitingForDeletion", "Deleting", "ProviderFailed", "Ready"

Conditions = tuple[Condition, ...]

_REASON = re.compile(r"[A-Z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LONGEST_MESSAGE, _LONGEST_INFO = 4_096, 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of one look at a cluster. ``truth`` None: not ready, by what it was before."""

    truth: Truth | None
    reason: str
    message: str
    stalled: bool = False
    state: State | None = None
    waits_for: str = ""  # whose finalizers keep the cluster


def reported(state: State) -> Report:
    """What a provider said, fit to be written."""
    if state.ready:
        return Report(
            truth=Truth.TRUE,
            reason=_reason(state.reason, READY_REASON),
            message=_words(state.message) or "The cluster is ready.",
            state=state,
        )
    return Report(truth=None, reason=_reason(state.reason, "NotReady"), message=_words(state.message), state=state)


def refused(message: str, reason: str, state: State | None = None) -> Report:
    """Somebody has to change what is ordered; the cluster that is there may be well meanwhile."""
    return Report(
        truth=Truth.FALSE, reason=_reason(reason, "Refused"), message=_words(message), stalled=True, state=state
    )


def failed(what: str) -> Report:
    """The provider could not tell: so nobody can."""
    return Report(truth=Truth.UNKNOWN, reason=FAILED, message=_words(what))


def status_of(cluster: Cluster, report: Report, *, generation: int, now: str) -> ClusterStatus:
    """The status with what is known now, of that generation; the very same object if nothing in it changes."""
    old = cluster.status
    conditions: Conditions = old.conditions if old is not None else ()
    conditions = _ready(conditions, report, generation=generation, now=now)
    conditions = _stalled(conditions, report, generation=generation, now=now)
    conditions = _foreign(conditions, report, generation=generation, now=now)
    api_server, endpoints = _addresses(report.state, old)
    new = ClusterStatus(
        observed_generation=generation,
        phase=_phase(cluster, conditions),
        last_reconcile_time="" if old is None else old.last_reconcile_time,
        conditions=conditions,
        endpoints=endpoints,
        api_server=api_server,
        provider_status=_note(report.state, old),
    )
    if old is not None and new == old:
        return old
    return msgspec.structs.replace(new, last_reconcile_time=now)


def marks_of(metadata: Metadata, report: Report, *, provider: str) -> Metadata:
    """The labels and the annotation that tell at a glance what the cluster is. What is not known is left as it is."""
    labels = {**metadata.labels, PROVIDER_LABEL: provider}
    annotations = dict(metadata.annotations)
    state = report.state
    if state is not None and (version := version_label(state.version)):
        labels[KUBERNETES_VERSION_LABEL] = version
    if state is not None and state.info:
        annotations[PROVIDER_INFO_ANNOTATION] = scrubbed(state.info)[:_LONGEST_INFO]
    return msgspec.structs.replace(metadata, labels=labels, annotations=annotations)


def version_label(version: str) -> str:
    """A version as the value of a label, which cannot have a plus; empty if it cannot be one at all."""
    value = version.replace("+", "_")
    return value if _LABEL_VALUE.fullmatch(value) else ""


def version_in(metadata: Metadata) -> str:
    """The version that the label tells."""
    return metadata.labels.get(KUBERNETES_VERSION_LABEL, "").replace("_", "+")


def holders_in_words(metadata: Metadata, *, but: str) -> str:
    """Who holds a cluster by a finalizer, beside ourselves, for people; empty if nobody does."""
    return ", ".join(_holder(metadata, mark) for mark in dict.fromkeys(metadata.finalizers) if mark != but)


def _holder(metadata: Metadata, mark: str) -> str:
    uid = claimant_of(mark)
    if uid is None:
        return f"the finalizer {mark}"
    claim = claim_on(metadata, uid)
    return f"the request {claim.namespace}/{claim.name}" if claim is not None and claim.signed else f"a request ({uid})"


def _ready(conditions: Conditions, report: Report, *, generation: int, now: str) -> Conditions:
    truth = report.truth if report.truth is not None else _not_ready(conditions)
    return with_condition(
        conditions, READY, truth, reason=report.reason, message=report.message, generation=generation, now=now
    )


def _not_ready(conditions: Conditions) -> Truth:
    """False if it was ready once; a refusal says False, too, but nothing about that."""
    old = found(conditions, READY)
    if old is None or old.status is Truth.UNKNOWN or is_true(conditions, STALLED):
        return Truth.UNKNOWN
    return Truth.FALSE


def _stalled(conditions: Conditions, report: Report, *, generation: int, now: str) -> Conditions:
    if not report.stalled:
        return without_condition(conditions, STALLED)
    return with_condition(
        conditions, STALLED, Truth.TRUE, reason=report.reason, message=report.message, generation=generation, now=now
    )


def _foreign(conditions: Conditions, report: Report, *, generation: int, now: str) -> Conditions:
    if not report.waits_for:
        return without_condition(conditions, FOREIGN_FINALIZERS)
    message = f"The cluster goes when it is held no more by {report.waits_for}."
    return with_condition(
        conditions, FOREIGN_FINALIZERS, Truth.FALSE, reason=WAITING, message=message, generation=generation, now=now
    )


def _phase(cluster: Cluster, conditions: Conditions) -> ClusterPhase:
    if cluster.metadata.deleting:
        return ClusterPhase.TERMINATING
    all_true = all(one.status is Truth.TRUE for one in conditions)
    return ClusterPhase.READY if all_true else ClusterPhase.PROGRESSING


def _addresses(state: State | None, old: ClusterStatus | None) -> tuple[str, tuple[Endpoint, ...]]:
    """Where the cluster is; of one address and a list of them, each gives the other. What was known stays known."""
    api_server = state.api_server if state is not None else ""
    endpoints = tuple(state.endpoints) if state is not None else ()
    if secret_in([api_server, *(one.url for one in endpoints)]):
        api_server, endpoints = "", ()
    if api_server and not endpoints:
        endpoints = (Endpoint(name=EXTERNAL_ENDPOINT, url=api_server),)
    elif endpoints and not api_server:
        outside = (one.url for one in endpoints if one.name == EXTERNAL_ENDPOINT)
        api_server = next(outside, endpoints[0].url)
    if not api_server and old is not None:
        return old.api_server, old.endpoints
    return api_server, endpoints


def _note(state: State | None, old: ClusterStatus | None) -> Mapping[str, Any]:
    if state is None or secret_in(state.note):
        return old.provider_status if old is not None else EMPTY
    return dict(state.note)


def _reason(word: str, otherwise: str) -> str:
    word = word[:1].upper() + word[1:]
    return word if _REASON.fullmatch(word) and len(word) <= 256 else otherwise


def _words(text: str) -> str:
    return scrubbed(text)[:_LONGEST_MESSAGE]
