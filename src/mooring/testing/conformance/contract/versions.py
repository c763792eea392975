"""Versions of Kubernetes: wanted, chosen, refused."""

from __future__ import annotations

from functools import partial

from mooring.api.marks import KUBERNETES_VERSION_LABEL
from mooring.api.versions import newest
from mooring.kube import Object
from mooring.testing.conformance.checks import DoesNotApply, Level, Unmet, check
from mooring.testing.conformance.contract.clusters import READY, specimen
from mooring.testing.conformance.trails import Trail, conditions_of, follows, in_short, is_ready, labels_of
from mooring.testing.conformance.trials import Trial

_NOBODY_HAS = "0.1.0"


async def _supported(trial: Trial) -> list[Object]:
    profile = (await trial.bench.profiles(trial.bench.first))[0]
    return list(profile["spec"].get("supportedVersions") or ())


@check(
    "version.unset",
    Level.MUST,
    "A Cluster that asks for no version gets one that the provider chooses, out of those that its profile names.",
    needs=[READY],
)
async def version_is_chosen(trial: Trial) -> None:
    trail = await specimen(trial)
    known = [one["version"] for one in await _supported(trial)]
    label = labels_of(trail.latest).get(KUBERNETES_VERSION_LABEL, "")
    if label and known and label not in [text.replace("+", "_") for text in known]:
        raise Unmet(expected=f"one of {', '.join(known)}", seen=f"the label {KUBERNETES_VERSION_LABEL} says {label}")


async def _asked(trial: Trial) -> dict[str, Trail]:
    """Clusters that ask for the newest version, and for a deprecated (or the oldest) one."""
    supported = await _supported(trial)
    if not supported:
        raise DoesNotApply("the profile names no versions")
    fresh = [one["version"] for one in supported if not one.get("deprecated")]
    first = newest(fresh) or supported[0]["version"]
    others = [one["version"] for one in supported if one["version"] != first]
    old = next((one["version"] for one in supported if one.get("deprecated")), others[-1] if others else first)
    return {text: await trial.cluster(kubernetes={"version": text}) for text in dict.fromkeys((first, old))}


@check(
    "version.supported",
    Level.MUST,
    "A Cluster that asks for a version of its profile, deprecated or not, becomes Ready.",
    needs=[READY],
)
async def version_is_accepted(trial: Trial) -> None:
    for trail in (await trial.once("clusters with a version", _asked)).values():
        await trial.ready(trail)


@check(
    "version.honoured",
    Level.SHOULD,
    "A Cluster that asks for a version of its profile runs it.",
    needs=["version.supported"],
)
async def version_is_honoured(trial: Trial) -> None:
    if KUBERNETES_VERSION_LABEL not in labels_of((await specimen(trial)).latest):
        raise DoesNotApply(f"without the label {KUBERNETES_VERSION_LABEL} nobody can tell")
    for text, trail in (await trial.once("clusters with a version", _asked)).items():
        await trial.sees(trail, partial(_runs, text), f"the label {KUBERNETES_VERSION_LABEL} says {text}")


def _runs(version: str, cluster: Object) -> bool:
    return bool(labels_of(cluster).get(KUBERNETES_VERSION_LABEL) == version.replace("+", "_"))


@check(
    "version.unsupported",
    Level.MUST,
    "A version that cannot be had is answered: by a condition that says why, or by another version.",
    needs=[READY],
)
async def impossible_version_is_answered(trial: Trial) -> None:
    trail = await trial.cluster(kubernetes={"version": _NOBODY_HAS})

    def is_answered(cluster: Object) -> bool:
        told = [one for one in conditions_of(cluster) if one.get("status") != "True" and one.get("reason")]
        return is_ready(cluster) or bool(told and follows(cluster))

    seen = await trial.sees(
        trail,
        is_answered,
        f"an answer to the version {_NOBODY_HAS}",
        remedy="Say in a condition which versions there are, or take one of them.",
    )
    if not is_ready(seen) and not any(one.get("message") for one in conditions_of(seen)):
        raise Unmet(expected="a message that says what to change", seen=in_short(seen))
