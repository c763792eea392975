"""Deletion: the cluster goes, with everything that belongs to it, and then its object."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from mooring.kube import Object, Resource, key_of, untyped
from mooring.testing.builders import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from mooring.testing.conformance.checks import Level, Unmet, check
from mooring.testing.conformance.contract.clusters import READY
from mooring.testing.conformance.trails import CLUSTERS, Trail, finalizers_of, status_of
from mooring.testing.conformance.trials import Trial

_BATCH = [untyped(group="batch", plural="jobs", kind="Job")]
_APPS = [
    untyped(group="apps", plural=plural, kind=kind)
    for plural, kind in (("deployments", "Deployment"), ("statefulsets", "StatefulSet"))
]
_RBAC = [
    untyped(group="rbac.authorization.k8s.io", plural=plural, kind=kind)
    for plural, kind in (("roles", "Role"), ("rolebindings", "RoleBinding"))
]
_CORE = [
    untyped(plural=plural, kind=kind)
    for plural, kind in (("pods", "Pod"), ("services", "Service"), ("persistentvolumeclaims", "PersistentVolumeClaim"))
]
# What providers put beside a Cluster, if they put anything there.
_KINDS: Sequence[Resource[Object]] = (CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, *_CORE, *_APPS, *_BATCH, *_RBAC)
# What Kubernetes itself puts into every namespace.
_USUAL = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}


@check(
    "deletion.gone",
    Level.MUST,
    "A Cluster that is deleted goes: its provider ends it, and removes its finalizer.",
    needs=[READY],
)
async def deleted_cluster_goes(trial: Trial) -> None:
    trail = await trial.once("a deleted cluster", _deleted)
    await trial.gone(trail, "Act on metadata.deletionTimestamp, and remove your finalizer when nothing is left.")


async def _deleted(trial: Trial) -> Trail:
    """A Cluster that is made and deleted in a namespace of its own."""
    namespace = f"{trial.bench.namespace[:50]}-deletion"
    await trial.bench.make_namespace(namespace)
    trail = await trial.ready_cluster(namespace=namespace)
    await trial.delete(trail)
    return trail


@check(
    "deletion.nothing-left",
    Level.MUST,
    "Everything that belonged to a Cluster goes with it.",
    needs=["deletion.gone"],
)
async def nothing_is_left(trial: Trial) -> None:
    namespace = (await trial.once("a deleted cluster", _deleted)).key.namespace

    async def left() -> list[str]:
        there = [
            (resource.kind, key_of(one).name)
            for resource in _KINDS
            for one in (await trial.client.list(resource, namespace=namespace)).items
        ]
        return [f"{kind} {name}" for kind, name in there if (kind, name) not in _USUAL]

    async def is_empty() -> bool:
        return not await left()

    async def seen() -> str:
        return f"in the namespace that the Cluster was in: {', '.join(await left())}"

    await trial.asks(is_empty, "nothing of the Cluster to be left", seen, "Remove your finalizer last.")


async def _held(trial: Trial) -> tuple[Trail, str]:
    """A Cluster that is deleted, and that somebody else holds."""
    # No claim of a request: a platform whose scheduler is at work takes back those that no request stands behind.
    mark = f"conformance.mooring.dev/{uuid.uuid4()}"
    trail = await trial.ready_cluster(metadata={"finalizers": [mark]})
    await trial.delete(trail)
    return trail, mark


@check(
    "deletion.terminating",
    Level.MUST,
    "A Cluster that is deleted, and is not gone yet, has the phase Terminating.",
    needs=["deletion.gone"],
)
async def phase_is_terminating(trial: Trial) -> None:
    trail, _ = await trial.once("a held cluster", _held)

    def was_told() -> bool:
        return trail.gone or any(status_of(one).get("phase") == "Terminating" for one in trail.versions)

    await trial.until(was_told, f"{trail} has the phase Terminating", trail)
    last = status_of(trail.latest).get("phase")
    if last != "Terminating":
        raise Unmet(expected=f"{trail} has the phase Terminating", seen=f"it went with the phase {last!r}")


async def _waited(trial: Trial) -> tuple[Trail, str, list[str]]:
    """The same, after a while; and which finalizers of the provider are gone already."""
    trail, mark = await trial.once("a held cluster", _held)
    own = [one for one in _all_marks(trail) if one != mark]
    await trial.barrier()
    there = await trial.client.get(CLUSTERS, trail.key.name, namespace=trail.key.namespace)
    return trail, mark, [one for one in own if one not in finalizers_of(there)]


@check(
    "deletion.waits",
    Level.SHOULD,
    "The end of a Cluster waits for the finalizers of others: whoever has a claim on it may still need it.",
    needs=["deletion.gone"],
)
async def others_are_waited_for(trial: Trial) -> None:
    _, mark, lost = await trial.once("a cluster held for a while", _waited)
    if lost:
        raise Unmet(
            expected="the provider to hold the Cluster until nobody else does",
            seen=f"{', '.join(lost)} is gone while {mark} is there",
            remedy="Delete the cluster when your finalizer is the only one left.",
        )


@check(
    "deletion.goes-on",
    Level.MUST,
    "When nobody else holds a deleted Cluster any more, it goes.",
    needs=["deletion.gone"],
)
async def end_comes_when_let_go(trial: Trial) -> None:
    trail, mark, _ = await trial.once("a cluster held for a while", _waited)
    await trial.let_go(trail, mark)
    await trial.gone(trail, "Watch for changes of metadata.finalizers.")


def _all_marks(trail: Trail) -> list[str]:
    return list(dict.fromkeys(mark for version in trail.versions for mark in finalizers_of(version)))
