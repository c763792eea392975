"""Rolling machines over: have them made anew, or hold that back for a while.

What is written is what Cluster API's controllers look for: ``spec.rollout.after`` begins a rollout, ``spec.paused``
holds back a MachineDeployment, and an annotation holds back a KubeadmControlPlane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.kube import Client, MergePatch, Object, Resource, untyped
from mooring.kube.errors import NotFound

PAUSED: Final = "cluster.x-k8s.io/paused"
_KINDS: Final = {
    "machinedeployment": untyped(
        group="cluster.x-k8s.io", version="v1beta2", plural="machinedeployments", kind="MachineDeployment"
    ),
    "kubeadmcontrolplane": untyped(
        group="controlplane.cluster.x-k8s.io",
        version="v1beta2",
        plural="kubeadmcontrolplanes",
        kind="KubeadmControlPlane",
    ),
}


class Deed(StrEnum):
    """What is to be done with a rollout."""

    RESTART = "restart"
    PAUSE = "pause"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class Target:
    """One object whose machines are meant."""

    kind: str  # as it is written: machinedeployment or kubeadmcontrolplane
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def targets(written: Sequence[str]) -> list[Target]:
    """What is written as kind/name, in any case; all of it is looked at before anything is done."""
    if not written:
        raise ClusterctlError("name what is meant, as in machinedeployment/md-1")
    return [_target(text.lower()) for text in written]


def _target(text: str) -> Target:
    parts = text.split("/")
    if len(parts) != 2 or not all(parts):
        raise ClusterctlError(f"{text!r} is not one kind and one name: write them as in machinedeployment/md-1")
    return Target(*parts)


async def carry_out(client: Client, deed: Deed, wanted: Sequence[Target], *, namespace: str) -> None:
    """One after the other; the first that cannot be done ends it."""
    for target in wanted:
        await _carry_out(client, deed, target, namespace=namespace)


async def _carry_out(client: Client, deed: Deed, target: Target, *, namespace: str) -> None:
    resource = _KINDS.get(target.kind)
    if resource is None:
        raise ClusterctlError(f"{target}: {target.kind!r} cannot be rolled over, only {' and '.join(_KINDS)} can")
    thing = await _read(client, resource, target, namespace=namespace)
    patch = _PLANS[deed](thing, target, datetime.now(UTC))
    await client.patch(resource, target.name, MergePatch(patch), namespace=namespace)


async def _read(client: Client, resource: Resource[Object], target: Target, *, namespace: str) -> Object:
    try:
        return await client.get(resource, target.name, namespace=namespace)
    except NotFound:
        raise NotHere(
            f"there is no {resource.kind} {target.name!r} in the namespace {namespace!r}: name another with --namespace"
        ) from None


def restarted(thing: Object, target: Target, now: datetime) -> Object:
    """Machines that are older than now are to be replaced."""
    if is_paused(thing, target):
        raise ClusterctlError(f"{target} is paused, so that nothing would be restarted: resume it first")
    after = ((thing.get("spec") or {}).get("rollout") or {}).get("after")
    if after and _time(after, target) > now:
        raise ClusterctlError(f"{target} is due to be restarted at {after}: remove its spec.rollout.after first")
    return {"spec": {"rollout": {"after": now.strftime("%Y-%m-%dT%H:%M:%SZ")}}}


def _time(written: object, target: Target) -> datetime:
    try:
        read = datetime.fromisoformat(str(written))
    except ValueError:
        raise ClusterctlError(
            f"spec.rollout.after of {target} is {written!r}, which is no time: correct it first"
        ) from None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def paused(thing: Object, target: Target, now: datetime) -> Object:
    if is_paused(thing, target):
        raise ClusterctlError(f"{target} is paused already")
    return _pause(target, annotation="true", field=True)


def resumed(thing: Object, target: Target, now: datetime) -> Object:
    if not is_paused(thing, target):
        raise ClusterctlError(f"{target} is not paused")
    return _pause(target, annotation=None, field=False)


def is_paused(thing: Object, target: Target) -> bool:
    if target.kind == "machinedeployment":
        return bool((thing.get("spec") or {}).get("paused"))
    return PAUSED in (thing["metadata"].get("annotations") or {})


def _pause(target: Target, *, annotation: str | None, field: bool) -> Object:
    if target.kind == "machinedeployment":
        return {"spec": {"paused": field}}
    return {"metadata": {"annotations": {PAUSED: annotation}}}


_PLANS: Final[dict[Deed, Callable[[Any, Target, datetime], Object]]] = {
    Deed.RESTART: restarted,
    Deed.PAUSE: paused,
    Deed.RESUME: resumed,
}
