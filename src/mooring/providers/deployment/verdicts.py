"""How Jobs, Deployments and their Pods are doing, in words that tell why: functions of what a cluster shows of them.

Upstream leaves it to people to find the Pod and read its log. Whatever a Pod's status tells, ours tells too.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mooring.api.marks import PROVIDER_GENERATION_ANNOTATION
from mooring.kube import Object
from mooring.providers.deployment.grounds import Progress
from mooring.providers.deployment.objects import ATTEMPT_ANNOTATION
from mooring.runtime.predicates import is_deleting

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 600.0  # seconds between two Jobs for one generation
_LONGEST_WORDS = 1_024  # of what a container said last
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
# What a container waits for in the ordinary course of things.
_PATIENT = {"", "ContainerCreating", "PodInitializing"}


def generation_of(thing: Object) -> str:
    """The generation of the provider that an object was made for."""
    return str(_annotations(thing).get(PROVIDER_GENERATION_ANNOTATION, ""))


def attempt_of(job: Object) -> int:
    text = str(_annotations(job).get(ATTEMPT_ANNOTATION, ""))
    return max(1, int(text)) if re.fullmatch(r"[0-9]{1,8}", text) else 1


# -- the init command -------------------------------------------------------------------------------------------------


def job_progress(job: Object, pods: Sequence[Object]) -> Progress:
    """How an init Job is doing. One that failed waits to be tried again (:func:`next_attempt`)."""
    status = job.get("status") or {}
    name = job["metadata"]["name"]
    if status.get("succeeded") or _condition(job, "Complete").get("status") == "True":
        return Progress(done=True)
    trouble = trouble_of(pods)
    failed = _condition(job, "Failed")
    if failed.get("status") == "True":
        again = next_attempt(job)
        later = "" if again is None else f" It is tried again at {again.strftime('%Y-%m-%dT%H:%M:%SZ')}."
        why = trouble.message if trouble else _said(failed)
        word = _word(failed.get("reason")) or "Failed"
        text = f"Attempt {attempt_of(job)} of the Job {name} has failed ({word}): {why}{later}"
        return Progress(done=False, failed=True, reason=trouble.reason if trouble else word, message=text)
    if trouble:
        return Progress(done=False, reason=trouble.reason, message=trouble.message)
    return Progress(done=False, reason="JobRunning", message=f"The Job {name} is running.")


def next_attempt(job: Object) -> datetime.datetime | None:
    """When a Job that failed is tried again: later and later. None if nobody can tell when it failed."""
    failed = str(_condition(job, "Failed").get("lastTransitionTime", ""))
    try:
        since = datetime.datetime.fromisoformat(failed.replace("Z", "+00:00"))
    except ValueError:
        return None
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt_of(job) - 1, 16))
    return since + datetime.timedelta(seconds=pause)


# -- the run command --------------------------------------------------------------------------------------------------


def deployment_progress(deployment: Object, pods: Sequence[Object]) -> Progress:
    """How a Deployment is doing: done when every replica is of the present generation and available."""
    metadata, status = deployment["metadata"], deployment.get("status") or {}
    name, wanted = metadata["name"], (deployment.get("spec") or {}).get("replicas", 1)
    if status.get("observedGeneration", 0) != metadata.get("generation"):
        return Progress(done=False, reason="RollingOut", message=f"The Deployment {name} is about to be rolled out.")
    counts = [status.get(one) or 0 for one in ("replicas", "updatedReplicas", "availableReplicas")]
    if all(count == wanted for count in counts):
        return Progress(done=True)
    available = min(counts[1], counts[2])
    text = f"{available} of {wanted} replicas of the Deployment {name} are up to date and available."
    trouble = trouble_of(pods) or _replica_trouble(deployment)
    if trouble:
        return Progress(done=False, reason=trouble.reason, message=f"{text} {trouble.message}")
    return Progress(done=False, reason="RollingOut", message=text)


def _replica_trouble(deployment: Object) -> Progress | None:
    """What a Deployment itself complains about, worst first."""
    refused = _condition(deployment, "ReplicaFailure")
    if refused.get("status") == "True":
        return _trouble(_word(refused.get("reason")) or "ReplicaFailure", f"Pods are refused: {_said(refused)}")
    late = _condition(deployment, "Progressing")
    if late.get("status") == "False":
        return _trouble(_word(late.get("reason")) or "NotProgressing", _said(late))
    return None


# -- Pods -------------------------------------------------------------------------------------------------------------


def trouble_of(pods: Sequence[Object]) -> Progress | None:
    """What is wrong with the latest of the Pods that something is wrong with; None if nothing is.

    One that is being removed may end as it likes.
    """
    staying = [pod for pod in pods if not is_deleting(pod)]
    latest = sorted(
        staying, key=lambda pod: (str(pod["metadata"].get("creationTimestamp", "")), pod["metadata"]["name"])
    )
    return next((found for pod in reversed(latest) if (found := _pod_trouble(pod)) is not None), None)


def is_live(pod: Object) -> bool:
    """Whether something of it may still be running."""
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def _pod_trouble(pod: Object) -> Progress | None:
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    for container in status.get("containerStatuses") or ():
        found = _container_trouble(container, name)
        if found is not None:
            return found
    if status.get("reason"):  # of the Pod as a whole: it was evicted, its node was lost
        return _trouble(_word(status["reason"]) or "PodFailed", f"Pod {name}: {_said(status)}")
    unscheduled = _condition(pod, "PodScheduled")
    if unscheduled.get("status") == "False":
        reason = _word(unscheduled.get("reason")) or "Unschedulable"
        return _trouble(reason, f"Pod {name} is not scheduled ({reason}): {_said(unscheduled)}")
    return None


def _container_trouble(container: Mapping[str, Any], pod: str) -> Progress | None:
    state = container.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    reason = str(waiting.get("reason") or "")
    if reason not in _PATIENT:
        last = (container.get("lastState") or {}).get("terminated")
        # How often and how long it was put off changes all the time; why it ended does not.
        why = _ending(last) if last and last.get("exitCode") else _said(waiting)
        return _trouble(_word(reason) or "Waiting", f"Pod {pod} waits ({reason}): {why}")
    if ended and ended.get("exitCode"):
        return _trouble(_word(ended.get("reason")) or "Error", f"Pod {pod}: {_ending(ended)}")
    return None


def _ending(ended: Mapping[str, Any]) -> str:
    """How a container ended, and what it said last."""
    reason = ended.get("reason")
    text = f"the container exited with code {ended.get('exitCode')}{f' ({reason})' if reason else ''}"
    said = _said(ended, otherwise="")
    return f"{text} and said: {said}" if said else f"{text}."


def _trouble(reason: str, message: str) -> Progress:
    return Progress(done=False, reason=reason, message=message)


def _said(thing: Mapping[str, Any], otherwise: str = "no more is known.") -> str:
    """Its message; of a long one the end, which tells what happened last."""
    text = str(thing.get("message") or "").strip()
    return (text if len(text) <= _LONGEST_WORDS else f"… {text[-_LONGEST_WORDS:]}") or otherwise


def _word(text: object) -> str:
    """A reason fit for a condition; empty if it is none."""
    return text if isinstance(text, str) and _WORD.fullmatch(text) else ""


def _condition(thing: Object, kind: str) -> Mapping[str, Any]:
    conditions: Iterable[Mapping[str, Any]] = (thing.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == kind), {})


def _annotations(thing: Object) -> Mapping[str, Any]:
    annotations: Mapping[str, Any] = thing["metadata"].get("annotations") or {}
    return annotations
