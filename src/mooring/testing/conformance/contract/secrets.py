"""Secrets: none of them where many can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from mooring.kube import Object, uid_of
from mooring.providers.sdk.scrubbing import secret_in
from mooring.runtime.recorder import EVENTS
from mooring.testing.conformance.checks import Level, Stage, Unmet, check
from mooring.testing.conformance.contract.clusters import READY
from mooring.testing.conformance.trails import revision, status_of
from mooring.testing.conformance.trials import Trial

_REMEDY = "Access is given by AccessRequests alone. Whatever was written here has been seen: make it invalid."


@check(
    "secrets.status",
    Level.MUST,
    "A Cluster's status holds no kubeconfig, token, key or password.",
    needs=[READY],
    stage=Stage.LAST,
)
async def status_holds_no_secret(trial: Trial) -> None:
    _search(trial, "status", status_of)


@check(
    "secrets.marks",
    Level.MUST,
    "A Cluster's labels and annotations hold no kubeconfig, token, key or password.",
    needs=[READY],
    stage=Stage.LAST,
)
async def marks_hold_no_secret(trial: Trial) -> None:
    def marks(cluster: Object) -> Object:
        return {name: cluster["metadata"].get(name) or {} for name in ("labels", "annotations")}

    _search(trial, "metadata", marks)


@check(
    "secrets.events",
    Level.MUST,
    "Events about a Cluster hold no kubeconfig, token, key or password.",
    needs=[READY],
    stage=Stage.LAST,
)
async def events_hold_no_secret(trial: Trial) -> None:
    ours = {uid_of(one.latest): one for one in trial.bench.trails.own if one.versions}
    for namespace in {one.key.namespace for one in ours.values()}:
        for event in (await trial.client.list(EVENTS, namespace=namespace)).items:
            trail = ours.get((event.get("regarding") or {}).get("uid") or "")
            told = {name: event.get(name) or "" for name in ("note", "reason", "action")}
            if trail is not None and (where := secret_in(told)):
                _raise(f"an event about {trail}: {where}")


def _search(trial: Trial, root: str, part: Callable[[Object], Object]) -> None:
    for trail in trial.bench.trails.own:
        for version in trail.versions:
            if where := secret_in(part(version)):
                _raise(f"{trail} at resourceVersion {revision(version)}: {root}{where}")


def _raise(where: str) -> NoReturn:
    raise Unmet(expected="nothing that looks like a credential", seen=f"something does, in {where}", remedy=_REMEDY)
