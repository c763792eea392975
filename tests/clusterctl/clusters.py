"""Cluster API's kinds as light definitions, and objects of them, for tests that need clusters and no controllers.

The definitions take any field, have a status of their own, and carry the labels by which clusterctl knows them. The
infrastructure provider is made up: it is called Harbor. Objects are plain dicts; `put` writes them with their status.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from mooring.kube import Client, Object
from mooring.kube.definitions import install
from mooring.kube.errors import NotFound, UnknownKind

CORE = "cluster.x-k8s.io"
ADDONS = "addons.cluster.x-k8s.io"
CONTROL_PLANE = "controlplane.cluster.x-k8s.io"
BOOTSTRAP = "bootstrap.cluster.x-k8s.io"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
RUNTIME = "runtime.cluster.x-k8s.io"

CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane"
PAUSED_ANNOTATION = "cluster.x-k8s.io/paused"
SINCE = "2001-02-03T04:05:06Z"  # long ago: what is printed of it does not change while a test runs

# What each group has, and the provider that brings it.
KINDS: Mapping[str, tuple[str, Sequence[str]]] = {
    CORE: (
        "cluster-api",
        (
            "Cluster",
            "ClusterClass",
            "Machine",
            "MachineSet",
            "MachineDeployment",
            "MachinePool",
            "MachineHealthCheck",
            "MachineDrainRule",
        ),
    ),
    ADDONS: ("cluster-api", ("ClusterResourceSet", "ClusterResourceSetBinding")),
    RUNTIME: ("cluster-api", ("ExtensionConfig",)),
    CONTROL_PLANE: ("control-plane-kubeadm", ("KubeadmControlPlane", "KubeadmControlPlaneTemplate")),
    BOOTSTRAP: ("bootstrap-kubeadm", ("KubeadmConfig", "KubeadmConfigTemplate")),
    INFRASTRUCTURE: (
        "infrastructure-harbor",
        (
            "HarborCluster",
            "HarborClusterTemplate",
            "HarborMachine",
            "HarborMachineTemplate",
            "HarborMachinePool",
            "HarborClusterIdentity",
        ),
    ),
}
CLUSTER_SCOPED = frozenset({"ExtensionConfig", "HarborClusterIdentity"})


def definition(
    group: str,
    kind: str,
    *,
    versions: Sequence[str] = ("v1beta2",),
    contracts: Mapping[str, str] | None = None,
    provider: str = "",
    plural: str = "",
    labels: Mapping[str, str] | None = None,
) -> Object:
    """A definition that takes any field. The first version is the one that is stored.

    ``contracts`` are the contract labels: contract to the versions that fulfil it, parted by ``_``.
    """
    plural = plural or _plural(kind.lower())
    contracts = {"v1beta2": "v1beta2"} if contracts is None else contracts
    known = {f"cluster.x-k8s.io/{contract}": text for contract, text in contracts.items()}
    by_provider = {"cluster.x-k8s.io/provider": provider, "clusterctl.cluster.x-k8s.io": ""} if provider else {}
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "labels": {**known, **by_provider, **(labels or {})}},
        "spec": {
            "group": group,
            "scope": "Cluster" if kind in CLUSTER_SCOPED else "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": index == 0,
                    "schema": {"openAPIV3Schema": anything},
                    "subresources": {"status": {}},
                }
                for index, version in enumerate(versions)
            ],
        },
    }


def definitions() -> list[Object]:
    """All kinds of the table above."""
    return [definition(group, kind, provider=provider) for group, (provider, kinds) in KINDS.items() for kind in kinds]


async def install_definitions(client: Client, *more: Object) -> None:
    """All of them, and these; served when this returns, and known to discovery, which is a moment later."""
    made = [*definitions(), *more]
    await install(client, made)
    async with asyncio.timeout(120):
        for one in made:
            while not await _is_known(client, one["spec"]):
                await asyncio.sleep(0.05)


async def _is_known(client: Client, spec: Object) -> bool:
    try:
        for version in spec["versions"]:
            await client.resource(f"{spec['group']}/{version['name']}", spec["names"]["kind"])
    except (NotFound, UnknownKind):
        return False
    return True


def an_object(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "default",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Sequence[Object] = (),
    finalizers: Sequence[str] = (),
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Object:
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for key, value in {"labels": labels, "annotations": annotations}.items():
        if value:
            metadata[key] = dict(value)
    if owners:
        metadata["ownerReferences"] = list(owners)
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    thing: Object = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": dict(spec or {})}
    if status is not None:
        thing["status"] = dict(status)
    return thing


def owner(thing: Object, *, controller: bool = True) -> Object:
    """A reference to an object that is on the server."""
    return {
        "apiVersion": thing["apiVersion"],
        "kind": thing["kind"],
        "name": thing["metadata"]["name"],
        "uid": thing["metadata"]["uid"],
        **({"controller": True, "blockOwnerDeletion": True} if controller else {}),
    }


def reference(thing: Object) -> Object:
    """As the specs of Cluster API's kinds name an object: by group, kind and name."""
    group = thing["apiVersion"].rpartition("/")[0]
    return {"apiGroup": group, "kind": thing["kind"], "name": thing["metadata"]["name"]}


def condition(kind: str, status: str = "True", reason: str = "", message: str = "", since: str = SINCE) -> Object:
    reason = reason or {"True": kind, "False": f"Not{kind}"}.get(status, f"{kind}Unknown")
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def old_condition(
    kind: str, status: str = "True", severity: str = "", reason: str = "", message: str = "", since: str = SINCE
) -> Object:
    """A condition in the form of v1beta1, which has a severity."""
    thing = {"type": kind, "status": status, "lastTransitionTime": since}
    rest = {"severity": severity, "reason": reason, "message": message}
    return {**thing, **{key: value for key, value in rest.items() if value}}


def conditions(*now: Object, old: Sequence[Object] = (), **fields: Any) -> Object:
    """A status with these conditions, today's and those of v1beta1, and these fields."""
    status: Object = {"conditions": list(now), **fields}
    if old:
        status["deprecated"] = {"v1beta1": {"conditions": list(old)}}
    return status


def cluster(
    name: str,
    namespace: str = "default",
    *,
    infrastructure: Object | None = None,
    control_plane: Object | None = None,
    topology: Mapping[str, Any] | None = None,
    paused: bool = False,
    spec: Mapping[str, Any] | None = None,
    **parts: Any,
) -> Object:
    full: Object = dict(spec or {})
    if infrastructure is not None:
        full["infrastructureRef"] = reference(infrastructure)
    if control_plane is not None:
        full["controlPlaneRef"] = reference(control_plane)
    if topology is not None:
        full["topology"] = dict(topology)
    if paused:
        full["paused"] = True
    return an_object(f"{CORE}/v1beta2", "Cluster", name, namespace, spec=full, **parts)


def cluster_class(name: str, namespace: str = "default", **parts: Any) -> Object:
    return an_object(f"{CORE}/v1beta2", "ClusterClass", name, namespace, **parts)


def machine(
    name: str,
    namespace: str = "default",
    *,
    cluster: str,
    is_control_plane: bool = False,
    version: str = "v1.36.0",
    infrastructure: Object | None = None,
    bootstrap: Object | None = None,
    labels: Mapping[str, str] | None = None,
    **parts: Any,
) -> Object:
    known = {CLUSTER_LABEL: cluster, **({CONTROL_PLANE_LABEL: ""} if is_control_plane else {}), **(labels or {})}
    spec = {"clusterName": cluster, **_machine_spec(version, infrastructure, bootstrap)}
    return an_object(f"{CORE}/v1beta2", "Machine", name, namespace, labels=known, spec=spec, **parts)


def machine_set(name: str, namespace: str = "default", *, cluster: str, **parts: Any) -> Object:
    return _set_of_machines("MachineSet", name, namespace, cluster=cluster, **parts)


def machine_deployment(name: str, namespace: str = "default", *, cluster: str, **parts: Any) -> Object:
    return _set_of_machines("MachineDeployment", name, namespace, cluster=cluster, **parts)


def machine_pool(name: str, namespace: str = "default", *, cluster: str, **parts: Any) -> Object:
    return _set_of_machines("MachinePool", name, namespace, cluster=cluster, **parts)


def _set_of_machines(
    kind: str,
    name: str,
    namespace: str,
    *,
    cluster: str,
    replicas: int | None = 1,
    version: str = "v1.36.0",
    infrastructure: Object | None = None,
    bootstrap: Object | None = None,
    labels: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    **parts: Any,
) -> Object:
    template = {"spec": {"clusterName": cluster, **_machine_spec(version, infrastructure, bootstrap)}}
    full: Object = {"clusterName": cluster, "template": template, **(spec or {})}
    if replicas is not None:
        full["replicas"] = replicas
    known = {CLUSTER_LABEL: cluster, **(labels or {})}
    return an_object(f"{CORE}/v1beta2", kind, name, namespace, labels=known, spec=full, **parts)


def _machine_spec(version: str, infrastructure: Object | None, bootstrap: Object | None) -> Object:
    spec: Object = {"version": version} if version else {}
    if infrastructure is not None:
        spec["infrastructureRef"] = reference(infrastructure)
    if bootstrap is not None:
        spec["bootstrap"] = {"configRef": reference(bootstrap)}
    return spec


def machine_health_check(
    name: str, namespace: str = "default", *, cluster: str, selector: Mapping[str, str] | None = None, **parts: Any
) -> Object:
    labels = {CLUSTER_LABEL: cluster, **parts.pop("labels", {})}
    spec = {"clusterName": cluster, "selector": {"matchLabels": dict(selector or {CLUSTER_LABEL: cluster})}}
    return an_object(f"{CORE}/v1beta2", "MachineHealthCheck", name, namespace, labels=labels, spec=spec, **parts)


def kubeadm_control_plane(
    name: str,
    namespace: str = "default",
    *,
    replicas: int | None = 1,
    version: str = "v1.36.0",
    template: Object | None = None,
    spec: Mapping[str, Any] | None = None,
    **parts: Any,
) -> Object:
    full: Object = {"version": version} if version else {}
    if replicas is not None:
        full["replicas"] = replicas
    if template is not None:
        full["machineTemplate"] = {"spec": {"infrastructureRef": reference(template)}}
    full |= dict(spec or {})
    return an_object(f"{CONTROL_PLANE}/v1beta2", "KubeadmControlPlane", name, namespace, spec=full, **parts)


def kubeadm_config(name: str, namespace: str = "default", **parts: Any) -> Object:
    return an_object(f"{BOOTSTRAP}/v1beta2", "KubeadmConfig", name, namespace, **parts)


def kubeadm_config_template(name: str, namespace: str = "default", **parts: Any) -> Object:
    return an_object(f"{BOOTSTRAP}/v1beta2", "KubeadmConfigTemplate", name, namespace, **parts)


def harbor_cluster(name: str, namespace: str = "default", **parts: Any) -> Object:
    return an_object(f"{INFRASTRUCTURE}/v1beta2", "HarborCluster", name, namespace, **parts)


def harbor_machine(name: str, namespace: str = "default", **parts: Any) -> Object:
    return an_object(f"{INFRASTRUCTURE}/v1beta2", "HarborMachine", name, namespace, **parts)


def harbor_machine_template(name: str, namespace: str = "default", **parts: Any) -> Object:
    return an_object(f"{INFRASTRUCTURE}/v1beta2", "HarborMachineTemplate", name, namespace, **parts)


def harbor_machine_pool(name: str, namespace: str = "default", **parts: Any) -> Object:
    return an_object(f"{INFRASTRUCTURE}/v1beta2", "HarborMachinePool", name, namespace, **parts)


def harbor_cluster_identity(name: str, **parts: Any) -> Object:
    """Of the infrastructure, and in no namespace."""
    return an_object(f"{INFRASTRUCTURE}/v1beta2", "HarborClusterIdentity", name, "", **parts)


def resource_set(name: str, namespace: str = "default", *, selector: Mapping[str, str], **parts: Any) -> Object:
    spec = {"clusterSelector": {"matchLabels": dict(selector)}, "resources": parts.pop("resources", [])}
    return an_object(f"{ADDONS}/v1beta2", "ClusterResourceSet", name, namespace, spec=spec, **parts)


def resource_set_binding(cluster: str, namespace: str = "default", *, sets: Sequence[str], **parts: Any) -> Object:
    """Named as its cluster is."""
    bindings = [{"clusterResourceSetName": name} for name in sets]
    spec = {"clusterName": cluster, "bindings": bindings}
    return an_object(f"{ADDONS}/v1beta2", "ClusterResourceSetBinding", cluster, namespace, spec=spec, **parts)


async def put(client: Client, thing: Object) -> Object:
    """Create an object, with its status; as the server has it then."""
    resource = await client.resource(thing["apiVersion"], thing["kind"])
    body = copy.deepcopy(thing)
    status = body.pop("status", None)
    made = await client.create(resource, body)
    if status is not None:
        made = await client.replace(resource, {**made, "status": status}, subresource="status")
    return made


def _plural(word: str) -> str:
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
