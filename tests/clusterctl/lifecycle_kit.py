"""A repository with two versions of everything, and management clusters to install, upgrade and delete them in.

The old and the new version differ in what tends to go wrong: objects that the new one no longer has, names with and
without the namespace in front, flags and feature gates, a definition with one more version.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import releases
from dumping import Key
from releases import Release

from mooring.clusterctl.waiting import DEPLOYMENTS
from mooring.controlplane.plane import ControlPlane
from mooring.kube import Client, JsonPatch, MergePatch, Object
from mooring.kube.definitions import install
from mooring.kube.tls import tls_context
from mooring.testing.faults import FaultProxy
from mooring.testing.managers import until

OLD, NEW = "v1.13.0", "v1.14.2"
OLD_SHIPYARD, NEW_SHIPYARD = "v0.9.0", "v1.0.0"
SERIES = [(1, 13, "v1beta2"), (1, 14, "v1beta2")]
SHIPYARD_SERIES = [(0, 9, "v1beta1"), (1, 0, "v1beta2")]
SHIPYARD_HOME = "infrastructure-shipyard-system"
SHIPYARD_MANAGER = "infrastructure-shipyard-controller-manager"
SHORT_NAMES = ("capi", "infrastructure-shipyard")
MOST_WRITES = 40  # of a deed that is killed after each
RBAC = "rbac.authorization.k8s.io"


def cluster_role(name: str, *verbs: str, **metadata: Any) -> Object:
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": list(verbs)}]
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name, **metadata}, "rules": rules}


def webhook(name: str, home: str) -> Object:
    service = {"name": "infrastructure-shipyard-webhook-service", "namespace": home, "path": "/validate"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name, "annotations": {"cert-manager.io/inject-ca-from": f"{home}/serving-cert"}},
        "webhooks": [
            {
                "name": "validation.shipyard.example.com",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": service},
                "failurePolicy": "Ignore",
                "rules": [
                    {
                        "apiGroups": ["nothing.example.com"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["nothings"],
                    }
                ],
                "sideEffects": "None",
            }
        ],
    }


def old_shipyard(**given: Any) -> Release:
    arguments = ("--leader-elect", "--v=2", "--feature-gates=Docks=${DOCKS:=false},Cranes=false", "--soon-gone=yes")
    extra = [
        cluster_role("shipyard-of-old", "get"),  # the new version has it no more
        cluster_role(f"{SHIPYARD_HOME}-own-role", "get", labels={"old": "label"}),
        cluster_role("shipyard-plain", "get", labels={"old": "label"}),
        webhook("shipyard-validation", SHIPYARD_HOME),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "shipyard-of-old", "namespace": SHIPYARD_HOME},
            "data": {"key": "old"},
        },
    ]
    told = {"arguments": arguments, "extra": extra, "contract": "v1beta1", "series": SHIPYARD_SERIES[:1], **given}
    return releases.infrastructure(OLD_SHIPYARD, **told)


def new_shipyard(**given: Any) -> Release:
    gates = "--feature-gates=Docks=${DOCKS:=false},Cranes=false,Slips=true"
    extra = [
        cluster_role(f"{SHIPYARD_HOME}-own-role", "get", "list"),
        cluster_role("shipyard-plain", "get", "list"),
        webhook("shipyard-validation", SHIPYARD_HOME),
    ]
    told = {
        "arguments": ("--leader-elect", "--v=3", gates, "--new"),
        "extra": extra,
        "series": SHIPYARD_SERIES,
        **given,
    }
    kinds = [("infrastructure.cluster.x-k8s.io", kind) for kind in ("ShipyardDock",)]
    return releases.infrastructure(NEW_SHIPYARD, kinds=kinds, **told)


def all_releases() -> list[Release]:
    """Just two providers: every further one costs time, and is treated alike."""
    return [*(releases.core(version, series=SERIES) for version in (OLD, NEW)), old_shipyard(), new_shipyard()]


@dataclass(frozen=True)
class Yard:
    """Where the releases are."""

    base: Path
    config: Path

    @classmethod
    def made(cls, folder: Path, made: list[Release] | None = None, **variables: Any) -> Yard:
        made = all_releases() if made is None else made
        releases.write_repository(folder / "repository", made)
        return cls(
            folder / "repository",
            releases.write_config(folder / "clusterctl.yaml", folder / "repository", made, **variables),
        )


INIT_OLD = (
    "init",
    f"--core=cluster-api:{OLD}",
    "--bootstrap=-",
    "--control-plane=-",
    f"--infrastructure=shipyard:{OLD_SHIPYARD}",
)
UPGRADE = ("upgrade", "apply", "--contract=v1beta2")
NAMED = ("--core=cluster-api", "--infrastructure=shipyard")


async def furnished(make: Callable[[], Awaitable[Any]]) -> Any:
    """A management cluster with as much of cert-manager as is asked for."""
    one = await make()
    await install(one.client, releases.cert_manager_definitions())
    return one


async def set_arguments(client: Client, name: str, namespace: str, *arguments: str) -> None:
    """As people do with kubectl edit."""
    patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": list(arguments)}]
    await client.patch(DEPLOYMENTS, name, JsonPatch(patch), namespace=namespace)


async def manager_of(client: Client, name: str = SHIPYARD_MANAGER, namespace: str = SHIPYARD_HOME) -> Object:
    deployment = await client.get(DEPLOYMENTS, name, namespace=namespace)
    return deployment["spec"]["template"]["spec"]["containers"][0]


async def cluster_roles(client: Client) -> set[str]:
    resource = await client.resource(f"{RBAC}/v1", "ClusterRole")
    return {one["metadata"]["name"] for one in (await client.list(resource)).items}


async def scale(client: Client, name: str, namespace: str, replicas: int) -> None:
    await client.patch(DEPLOYMENTS, name, MergePatch({"spec": {"replicas": replicas}}), namespace=namespace)


async def gone(client: Client, api_version: str, kind: str, name: str) -> None:
    """Until a cluster-wide object is gone."""
    resource = await client.resource(api_version, kind)

    async def is_gone() -> bool:
        listing = await client.list(resource, field_selector=f"metadata.name={name}")
        return not listing.items

    await until(is_gone, f"{kind} {name} is gone")


def faulty(plane: ControlPlane) -> FaultProxy:
    """A way to this plane that can be cut."""
    return FaultProxy(plane.server, ssl=tls_context(ca=plane.ca, certificate=plane.admin_certificate()))


async def killed(proxy: FaultProxy, deed: Callable[[Client], Awaitable[object]]) -> AsyncIterator[int]:
    """Let it die after the first write, then after the second, and so on, until it does not write as often."""
    for nth in range(1, MOST_WRITES):
        rule = proxy.stop_after_write(nth)
        async with Client(proxy.connection) as client:
            doing = asyncio.ensure_future(deed(client))
            await until(lambda: doing.done() or proxy.is_down, "it is done, or cut off")  # noqa: B023
            doing.cancel()
            await asyncio.wait([doing])
        await proxy.heal()
        if not rule.hits:
            assert doing.exception() is None
            return
        yield nth
    raise AssertionError(f"it writes more than {MOST_WRITES} times")


# DEVIATION delete-leaks-cluster-roles: what the judge leaves behind, since the name does not begin with the namespace.
LEFT_BY_THE_JUDGE = frozenset(
    {
        *(f"{short}-manager-{what}" for short in SHORT_NAMES for what in ("role", "rolebinding")),
        "shipyard-of-old",
        "shipyard-plain",
    }
)


def left_by_the_judge(key: Key) -> bool:
    return key[0].startswith(f"{RBAC}/v1/ClusterRole") and key[2] in LEFT_BY_THE_JUDGE
