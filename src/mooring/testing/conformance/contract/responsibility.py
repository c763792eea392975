"""Responsibility: a provider acts on what is its own, and on nothing else."""

from __future__ import annotations

from mooring.api.marks import OPERATION_ANNOTATION, OPERATION_IGNORE, OPERATION_RECONCILE
from mooring.kube import Object
from mooring.testing.conformance.bench import Bench
from mooring.testing.conformance.checks import Level, Stage, check
from mooring.testing.conformance.contract.clusters import READY
from mooring.testing.conformance.contract.profiles import published
from mooring.testing.conformance.trails import CLUSTERS, Trail, revision
from mooring.testing.conformance.trials import Trial

_COMPARE = "Compare spec.providerRef.name of the Cluster's profile with what --provider-name says before anything else."


async def _left_alone(trial: Trial, trail: Trail, what: str, *, remedy: str = _COMPARE) -> None:
    """It stays as it is, although it changes, and others that come later are served."""
    written = await trial.patch(trail, {"spec": {"purposes": ["conformance", "changed"]}})
    await trial.barrier()
    await trial.untouched(CLUSTERS, written, what, remedy=remedy)


@check(
    "responsibility.foreign-profile",
    Level.MUST,
    "A Cluster whose profile belongs to another provider is not touched.",
    needs=[READY],
)
async def foreign_clusters_are_left_alone(trial: Trial) -> None:
    trail = await trial.cluster(profile=await foreign_profile(trial), own=False)
    await _left_alone(trial, trail, "a Cluster of another provider's profile")


async def foreign_profile(trial: Trial) -> str:
    """The name of a profile of somebody who is not there."""
    name: str = await trial.once("a foreign profile", _foreign_profile)
    return name


async def _foreign_profile(trial: Trial) -> str:
    own = (await trial.bench.profiles(trial.bench.first))[0]
    # As like one's own as can be: those who go by the name of a profile, or by its configuration, are found out.
    foreign = f"{own['metadata']['name'][:50]}-foreign"
    spec = {**own["spec"], "providerRef": {"name": f"not-{trial.bench.first}"[:63]}}
    await trial.bench.make_profile(_profile(own, foreign, spec))
    return foreign


def _profile(like: Object, name: str, spec: Object) -> Object:
    return {"apiVersion": like["apiVersion"], "kind": like["kind"], "metadata": {"name": name}, "spec": spec}


@check(
    "responsibility.unknown-profile",
    Level.MUST,
    "A Cluster whose profile does not exist is not touched.",
    needs=[READY],
)
async def unknown_profiles_are_left_alone(trial: Trial) -> None:
    trail = await trial.cluster(profile=f"{trial.bench.first}-nowhere"[:63], own=False)
    await _left_alone(trial, trail, "a Cluster whose profile does not exist")


@check(
    "responsibility.other-instance",
    Level.MUST,
    "A Cluster of another instance of the same provider is not touched.",
    needs=[READY, "profiles.side-by-side"],
    stage=Stage.ALONE,
    starts=True,
)
async def other_instances_are_left_alone(trial: Trial) -> None:
    bench = trial.bench
    theirs = (await published(trial, bench.second))["metadata"]["name"]
    await bench.instances[bench.second].kill()
    try:
        trail = await trial.cluster(profile=theirs)
        await _left_alone(trial, trail, "a Cluster of the other instance, which is not running")
    finally:
        await _back(bench)
    await trial.ready(trail)


async def _back(bench: Bench) -> None:
    await bench.start(bench.second)


@check(
    "operation.ignore",
    Level.SHOULD,
    f"A Cluster with the annotation {OPERATION_ANNOTATION}: {OPERATION_IGNORE} is left alone.",
    needs=[READY],
)
async def ignored_is_left_alone(trial: Trial) -> None:
    marks = {"annotations": {OPERATION_ANNOTATION: OPERATION_IGNORE}}
    trail = await trial.cluster(metadata=marks)
    what = f"a Cluster with the annotation {OPERATION_ANNOTATION}: {OPERATION_IGNORE}"
    await _left_alone(trial, trail, what, remedy="Look for the annotation before anything else.")


@check(
    "operation.reconcile",
    Level.SHOULD,
    f"The annotation {OPERATION_ANNOTATION}: {OPERATION_RECONCILE} has a Cluster looked at, and is taken away.",
    needs=[READY],
)
async def asked_for_a_look(trial: Trial) -> None:
    trail = await trial.ready_cluster()
    written = await trial.patch(trail, {"metadata": {"annotations": {OPERATION_ANNOTATION: OPERATION_RECONCILE}}})
    asked_at = int(revision(written))

    def is_answered(cluster: Object) -> bool:
        annotations = cluster["metadata"].get("annotations") or {}
        return int(revision(cluster)) > asked_at and OPERATION_ANNOTATION not in annotations

    remedy = "Remove it in the reconcile that it asks for."
    await trial.sees(trail, is_answered, "the annotation is taken away", remedy=remedy)
