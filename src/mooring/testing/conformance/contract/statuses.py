"""Status: how a provider tells how its Clusters are.

Most of it is about every version that there ever was of the Clusters of all checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mooring.api.conditions import READY as READY_CONDITION
from mooring.kube import Object
from mooring.testing.conformance.checks import Level, Stage, Unmet, check
from mooring.testing.conformance.contract.clusters import READY, specimen
from mooring.testing.conformance.trails import (
    Trail,
    condition_of,
    conditions_of,
    follows,
    is_deleting,
    is_ready,
    revision,
    status_of,
)
from mooring.testing.conformance.trials import Trial

_PHASES = ("Ready", "Progressing", "Terminating")
_REASON = re.compile(r"[A-Z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def _told(trial: Trial) -> Iterator[tuple[str, Object]]:
    """Every version with a status, and where it was seen."""
    for trail in trial.bench.trails.own:
        for version in trail.versions:
            if status_of(version):
                yield f"{trail} at resourceVersion {revision(version)}", version


@check(
    "status.observed-generation",
    Level.MUST,
    "status.observedGeneration follows metadata.generation: a status tells what it speaks of.",
    needs=[READY],
)
async def generation_is_observed(trial: Trial) -> None:
    trail = await trial.ready_cluster()
    changed = await trial.patch(trail, {"spec": {"purposes": ["conformance", "changed"]}})
    wanted = changed["metadata"]["generation"]
    await trial.sees(
        trail,
        lambda one: status_of(one).get("observedGeneration") == wanted,
        f"status.observedGeneration is {wanted}",
        remedy="Write it in every reconcile, also in one that fails.",
    )


@check(
    "status.api-server",
    Level.MUST,
    "A Cluster tells the address of its API server in status.apiServer as soon as it is known, not later than Ready.",
    needs=[READY],
    stage=Stage.LAST,
)
async def address_is_told(trial: Trial) -> None:
    for where, version in _told(trial):
        if is_ready(version) and not status_of(version).get("apiServer"):
            raise Unmet(
                expected="status.apiServer before Ready, or in the same write",
                seen=f"{where} is Ready and has none",
                remedy="Write the address as soon as it is known; who waits for Ready uses it at once.",
            )


@check(
    "status.ready-condition",
    Level.SHOULD,
    "A Cluster has a condition Ready, so that kubectl wait, Flux and Argo CD understand it.",
    needs=[READY],
)
async def ready_is_a_condition(trial: Trial) -> None:
    trail = await specimen(trial)
    await trial.sees(trail, lambda one: condition_of(one) is not None, f"it has a condition {READY_CONDITION}")


@check(
    "status.phase",
    Level.MUST,
    "status.phase is one of Progressing, Ready and Terminating.",
    needs=[READY],
    stage=Stage.LAST,
)
async def phase_is_known(trial: Trial) -> None:
    for where, version in _told(trial):
        if (phase := status_of(version).get("phase")) not in _PHASES:
            raise Unmet(expected=f"one of {', '.join(_PHASES)}", seen=f"{where} has the phase {phase!r}")


@check(
    "status.phase-agrees",
    Level.MUST,
    "Ready means that every condition is True, Progressing that one is not, Terminating that the Cluster is deleted.",
    needs=["status.phase"],
    stage=Stage.LAST,
)
async def phase_agrees_with_conditions(trial: Trial) -> None:
    for where, version in _told(trial):
        if wrong := _disagreement(version):
            raise Unmet(expected="a phase that is the sum of the conditions", seen=f"{where} {wrong}")


def _disagreement(version: Object) -> str:
    phase = status_of(version).get("phase")
    untrue = [str(one.get("type")) for one in conditions_of(version) if one.get("status") != "True"]
    if phase == "Ready" and untrue:
        return f"is Ready, and these are not True: {', '.join(untrue)}"
    if phase == "Progressing" and not untrue:
        return "is Progressing, and no condition says what it waits for"
    if phase == "Terminating" and not is_deleting(version):
        return "is Terminating, and nobody has deleted it"
    if phase != "Terminating" and is_deleting(version) and follows(version):
        return f"is being deleted, and its phase is {phase}"
    return ""


@check(
    "status.conditions",
    Level.MUST,
    "Conditions have the form of metav1.Condition: each type once, a status, a CamelCase reason, and a time.",
    needs=[READY],
    stage=Stage.LAST,
)
async def conditions_are_well_formed(trial: Trial) -> None:
    for where, version in _told(trial):
        kinds = [one.get("type") for one in conditions_of(version)]
        wrong = [fault for one in conditions_of(version) if (fault := _malformed(one))]
        if len(set(kinds)) < len(kinds):
            wrong.append("a type is there twice")
        if wrong:
            raise Unmet(expected="conditions as metav1.Condition has them", seen=f"{where}: {'; '.join(wrong)}")


def _malformed(condition: Object) -> str:
    kind = condition.get("type")
    if not kind:
        return "a condition without a type"
    if condition.get("status") not in ("True", "False", "Unknown"):
        return f"{kind} has the status {condition.get('status')!r}"
    if not _REASON.fullmatch(str(condition.get("reason") or "")):
        return f"{kind} has the reason {condition.get('reason')!r}, which is no CamelCase word"
    if not _TIME.fullmatch(str(condition.get("lastTransitionTime") or "")):
        return f"{kind} has the lastTransitionTime {condition.get('lastTransitionTime')!r}"
    return ""


@check(
    "status.transition-time",
    Level.SHOULD,
    "A condition's lastTransitionTime changes only when its status does.",
    needs=[READY],
    stage=Stage.LAST,
)
async def times_are_of_transitions(trial: Trial) -> None:
    for trail in trial.bench.trails.own:
        for kind, version in _moved_times(trail):
            raise Unmet(
                expected="lastTransitionTime to stay while the status stays",
                seen=f"{trail} at resourceVersion {revision(version)} has another one for {kind}",
                remedy="Take the time of the condition that is there, unless its status changes.",
            )


def _moved_times(trail: Trail) -> Iterator[tuple[str, Object]]:
    before: dict[str, Object] = {}
    for version in trail.versions:
        now = {str(one.get("type")): one for one in conditions_of(version)}
        for kind, one in now.items():
            old = before.get(kind)
            if old is None or old.get("status") != one.get("status"):
                continue
            if old.get("lastTransitionTime") != one.get("lastTransitionTime"):
                yield kind, version
        before = now


@check(
    "status.restored",
    Level.MUST,
    "A status that is lost comes back: nothing is kept in it that the provider could not tell again.",
    needs=[READY],
)
async def lost_status_comes_back(trial: Trial) -> None:
    trail = await trial.ready_cluster()
    wiped = int(revision(await trial.patch(trail, {"status": None}, subresource="status")))

    def is_back(cluster: Object) -> bool:
        return int(revision(cluster)) > wiped and is_ready(cluster)

    await trial.sees(
        trail,
        is_back,
        "it is Ready again after its status was wiped",
        remedy="A status is a report. Watch for changes of it, and keep what you must not forget elsewhere.",
    )
