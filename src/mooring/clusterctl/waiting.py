"""Waiting for one object to become what it should be, by watching it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.objects import at
from mooring.kube import Changed, Client, Deleted, Object, Relisted, Resource, untyped, watching

DEPLOYMENTS = untyped(group="apps", plural="deployments", kind="Deployment")
DEFINITIONS = untyped(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)

Look = Callable[[Object | None], bool]  # at the object as it is now, or None while there is none


async def wait_for(
    client: Client, resource: Resource[Object], name: str, *, namespace: str | None, look: Look, seconds: float
) -> bool:
    """Whether ``look`` was content with the object before the time was over."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await _seen(client, resource, name, namespace, look)
    return False


async def _seen(client: Client, resource: Resource[Object], name: str, namespace: str | None, look: Look) -> bool:
    events = watching(client, resource, namespace=namespace, field_selector=f"metadata.name={name}")
    async with contextlib.aclosing(events):
        async for event in events:
            match event:
                case Relisted():
                    now = event.items[0] if event.items else None
                case Changed():
                    now = event.object
                case Deleted():
                    now = None
                case _:
                    continue
            if look(now):
                return True
    return False


async def wait_until_available(client: Client, deployment: Object, *, seconds: float) -> None:
    """Until the Deployment has the condition Available."""
    metadata = deployment["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    if await wait_for(client, DEPLOYMENTS, name, namespace=namespace, look=is_available, seconds=seconds):
        return
    raise ClusterctlError(
        f"Deployment {name} in namespace {namespace} is not available after {seconds:g} seconds: look at its pods, or "
        f"wait longer with --wait-provider-timeout"
    )


def is_available(deployment: Object | None) -> bool:
    return has_condition(deployment, "Available")


def has_condition(obj: Object | None, type_: str) -> bool:
    """Whether the object says that this is so."""
    found: Any = at(obj, "status", "conditions") or ()
    return any(one.get("type") == type_ and one.get("status") == "True" for one in found if isinstance(one, dict))
