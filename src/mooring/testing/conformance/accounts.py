"""Accounts for providers: what a deployment gives them, with the rights that are asked for and no others."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mooring.kube import Client, Connection, Object, Resource, untyped
from mooring.kube.errors import NotFound
from mooring.testing.builders import SERVICE_ACCOUNTS, service_account
from mooring.testing.conformance.subjects import Rules

_RBAC = "rbac.authorization.k8s.io"
_ROLES = untyped(group=_RBAC, plural="roles", kind="Role")
_CLUSTER_ROLES = untyped(group=_RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False)
_ROLE_BINDINGS = untyped(group=_RBAC, plural="rolebindings", kind="RoleBinding")
_CLUSTER_ROLE_BINDINGS = untyped(group=_RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False)
_EVERYTHING = "cluster-admin"
_LIFETIME = 24 * 3_600  # seconds: longer than any run


class Accounts:
    """Makes accounts in one namespace, and takes them away again."""

    def __init__(self, client: Client, namespace: str, directory: Path) -> None:
        self._client = client
        self._namespace = namespace
        self._directory = directory
        self._made: list[tuple[Resource[Object], str, str | None]] = []

    async def kubeconfig(self, name: str, rules: Rules | None, *, at_home: Rules = ()) -> Path:
        """A kubeconfig for somebody who may do this; ``at_home``: in the namespace. None: everything."""
        client = self._client
        await self._make(SERVICE_ACCOUNTS, service_account(name, self._namespace))
        if rules is not None:
            await self._make(_CLUSTER_ROLES, _role("ClusterRole", name, rules))
        role = _EVERYTHING if rules is None else name
        await self._make(_CLUSTER_ROLE_BINDINGS, self._binding("ClusterRoleBinding", name, "ClusterRole", role))
        if at_home:
            await self._make(_ROLES, _role("Role", name, at_home))
            await self._make(_ROLE_BINDINGS, self._binding("RoleBinding", name, "Role", name))
        file = self._directory / f"{name}.kubeconfig"
        _write_secretly(file, msgspec.yaml.encode(_document(client.connection, await self._token(name))))
        return file

    async def clear(self) -> None:
        """Take all of them away: not everything is in the namespace, and that may be somebody else's."""

        async def remove(resource: Resource[Object], name: str, namespace: str | None) -> None:
            with contextlib.suppress(NotFound):
                await self._client.delete(resource, name, namespace=namespace)

        await asyncio.gather(*(remove(*one) for one in self._made))

    async def _token(self, name: str) -> str:
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        answer = await self._client.create(
            SERVICE_ACCOUNTS,
            {**asked, "spec": {"expirationSeconds": _LIFETIME}},
            name=name,
            namespace=self._namespace,
            subresource="token",
        )
        token: str = answer["status"]["token"]
        return token

    async def _make(self, resource: Resource[Object], body: Object) -> None:
        namespace = self._namespace if resource.namespaced else None
        self._made.append((resource, body["metadata"]["name"], namespace))
        await self._client.create(resource, body, namespace=namespace)

    def _binding(self, kind: str, name: str, role_kind: str, role: str) -> Object:
        subject = {"kind": "ServiceAccount", "name": name, "namespace": self._namespace}
        reference = {"apiGroup": _RBAC, "kind": role_kind, "name": role}
        about = {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": {"name": name}}
        return {**about, "subjects": [subject], "roleRef": reference}


def _role(kind: str, name: str, rules: Rules) -> Object:
    listed: Sequence[dict[str, Any]] = [dict(rule) for rule in rules]
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": {"name": name}, "rules": listed}


def _document(connection: Connection, token: str) -> dict[str, Any]:
    """A kubeconfig that leads where we are, too."""
    cluster: dict[str, Any] = {"server": connection.server}
    if connection.ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(connection.ca).decode("ascii")
    if connection.insecure:
        cluster["insecure-skip-tls-verify"] = True
    if connection.tls_server_name is not None:
        cluster["tls-server-name"] = connection.tls_server_name
    if connection.proxy is not None:
        cluster["proxy-url"] = connection.proxy.url
    name = "platform"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def _write_secretly(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as opened:
        opened.write(content)
