"""Objects to begin a test with: complete enough for the server, and short to write."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.kube import Object, untyped

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
