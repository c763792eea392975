"""Objects to begin a test with: complete enough for the server, and short to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.kinds import Kind
from mooring.api.purposes import Purpose
from mooring.api.requests import ClusterRequest
from mooring.kube import Object, Resource, untyped

K = TypeVar("K", bound=Kind)

NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
CONFIG_MAPS = untyped(plural="configmaps", kind="ConfigMap")
SECRETS = untyped(plural="secrets", kind="Secret")
SERVICE_ACCOUNTS = untyped(plural="serviceaccounts", kind="ServiceAccount")


def namespace_object(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def config_map(
    name: str, namespace: str, data: Mapping[str, str] | None = None, *, labels: Mapping[str, str] | None = None
) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data or {})}


def service_account(name: str, namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}


def plain_resource_of(kind: type[Kind]) -> Resource[Object]:
    """The same, read as plain data: with every field that the server has."""
    api = kind.API
    return untyped(group=api.group, version=api.version, plural=api.plural, kind=api.kind, namespaced=api.namespaced)


def an_object(kind: type[Kind], name: str, namespace: str | None = None, **parts: Any) -> Object:
    """An object of one of our kinds as plain data: ``an_object(Cluster, "a", "b", spec={...})``."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": kind.API.api_version, "kind": kind.API.kind, "metadata": metadata, **parts}


def cluster_request(name: str, namespace: str, **spec: Any) -> Object:
    return an_object(ClusterRequest, name, namespace, spec=spec or {"purpose": "workload"})


def access_request(name: str, namespace: str, **spec: Any) -> Object:
    """Asks for a token for a cluster of the same name, unless told otherwise."""
    usual = {"clusterRef": {"name": name, "namespace": namespace}, "token": {}}
    return an_object(AccessRequest, name, namespace, spec=spec or usual)


def cluster(name: str, namespace: str, *, profile: str = "local", tenancy: str = "Shared", **spec: Any) -> Object:
    return an_object(Cluster, name, namespace, spec={"profile": profile, "tenancy": tenancy, **spec})


def cluster_profile(name: str, *, provider: str = "local", versions: tuple[str, ...] = ("1.33.3",)) -> Object:
    spec = {
        "providerRef": {"name": provider},
        "providerConfigRef": {"name": name},
        "supportedVersions": [{"version": version} for version in versions],
    }
    return an_object(ClusterProfile, name, spec=spec)


def purpose(name: str, **spec: Any) -> Object:
    return an_object(Purpose, name, spec=spec or {"dedicated": False})
