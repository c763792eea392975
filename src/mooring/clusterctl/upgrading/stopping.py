"""Stopping the controllers of a provider, and waiting until they have stopped.

A controller that outlives its Deployment would go on to answer conversions of objects, with what it knew.
"""

from __future__ import annotations

from typing import Final

from mooring.clusterctl.applying import persistently
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.inventory import Installed
from mooring.clusterctl.objects import at, name_of
from mooring.clusterctl.upgrading.remembering import controllers_of
from mooring.clusterctl.waiting import DEPLOYMENTS, wait_for
from mooring.kube import Client, MergePatch, Object
from mooring.kube.errors import NotFound

_STOPPED_WITHIN: Final = 60.0  # seconds


async def stop_controllers(client: Client, one: Installed) -> None:
    for deployment in (await controllers_of(client, one)).values():
        await _stop(client, one.namespace, deployment)


async def _stop(client: Client, namespace: str, deployment: Object) -> None:
    name = name_of(deployment)

    async def deed() -> None:
        try:
            await client.patch(DEPLOYMENTS, name, MergePatch({"spec": {"replicas": 0}}), namespace=namespace)
        except NotFound:
            return

    if at(deployment, "spec", "replicas") != 0:
        await persistently(deed, what=f"Deployment {name} cannot be scaled down")
    stopped = await wait_for(client, DEPLOYMENTS, name, namespace=namespace, look=_has_stopped, seconds=_STOPPED_WITHIN)
    if not stopped:
        raise ClusterctlError(
            f"Deployment {name} in namespace {namespace} still has replicas {_STOPPED_WITHIN:g} seconds after it "
            f"was scaled down: see what keeps its pods"
        )


def _has_stopped(deployment: Object | None) -> bool:
    return not at(deployment, "status", "replicas")
