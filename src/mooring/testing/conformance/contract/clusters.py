"""Clusters: made, held, and told about by labels."""

from __future__ import annotations

from mooring.api.marks import KUBERNETES_VERSION_LABEL, PROVIDER_LABEL
from mooring.kube import Object
from mooring.testing.conformance.checks import DoesNotApply, Level, Stage, Unmet, check
from mooring.testing.conformance.contract.profiles import PUBLISHED
from mooring.testing.conformance.trails import (
    Trail,
    finalizers_of,
    is_deleting,
    is_ready,
    labels_of,
    revision,
    status_of,
)
from mooring.testing.conformance.trials import Trial

# What most of the contract is about begins with a Cluster that is Ready.
READY = "cluster.ready"
_LABELS = (PROVIDER_LABEL, KUBERNETES_VERSION_LABEL)


async def specimen(trial: Trial) -> Trail:
    """A Cluster that nobody does anything to, there until the end; Ready if the check for that has passed."""
    return await trial.once("specimen", _specimen)


async def _specimen(trial: Trial) -> Trail:
    return await trial.cluster()


@check(
    READY,
    Level.MUST,
    "A Cluster of a profile of the provider is made, and becomes Ready.",
    needs=[PUBLISHED],
)
async def cluster_becomes_ready(trial: Trial) -> None:
    await trial.ready(await specimen(trial))


@check(
    "cluster.finalizer",
    Level.MUST,
    "A Cluster has the provider's finalizer before anything is made for it, and as long as it is there.",
    needs=[READY],
    stage=Stage.LAST,
)
async def cluster_is_held(trial: Trial) -> None:
    for trail in trial.bench.trails.own:
        for version in trail.versions:
            if _is_made(version) and not is_deleting(version) and not _own_finalizers(version):
                raise Unmet(
                    expected="a finalizer of the provider, not later than the first sign of a cluster",
                    seen=f"{trail} had none at resourceVersion {revision(version)}, and was made already",
                    remedy="Write the finalizer, and go on when the server has taken it.",
                )


def _is_made(cluster: Object) -> bool:
    return is_ready(cluster) or bool(status_of(cluster).get("apiServer"))


def _own_finalizers(cluster: Object) -> list[str]:
    return [one for one in finalizers_of(cluster) if not one.startswith("request.")]


@check(
    "labels.provider",
    Level.SHOULD,
    f"The label {PROVIDER_LABEL} of a Cluster names its provider.",
    needs=[READY],
)
async def provider_label(trial: Trial) -> None:
    trail = await specimen(trial)
    await trial.sees(
        trail,
        lambda one: labels_of(one).get(PROVIDER_LABEL) == trial.bench.first,
        f"its label {PROVIDER_LABEL} is right",
    )


@check(
    "labels.version",
    Level.SHOULD,
    f"The label {KUBERNETES_VERSION_LABEL} of a Cluster tells the version that it runs.",
    needs=[READY],
)
async def version_label(trial: Trial) -> None:
    trail = await specimen(trial)
    await trial.sees(
        trail,
        lambda one: bool(labels_of(one).get(KUBERNETES_VERSION_LABEL)),
        f"it has a label {KUBERNETES_VERSION_LABEL}",
    )


@check(
    "labels.restored",
    Level.SHOULD,
    "Labels of the provider that somebody takes off a Cluster come back.",
    needs=[READY],
)
async def labels_come_back(trial: Trial) -> None:
    trail = await trial.ready_cluster()
    before = {name: text for name, text in labels_of(trail.latest).items() if name in _LABELS}
    if not before:
        raise DoesNotApply("the provider sets no labels")
    written = await trial.patch(trail, {"metadata": {"labels": dict.fromkeys(before)}})
    lost_at = int(revision(written))

    def are_back(cluster: Object) -> bool:
        return int(revision(cluster)) > lost_at and before.items() <= labels_of(cluster).items()

    await trial.sees(trail, are_back, "its labels come back", remedy="Compare them in every reconcile.")
