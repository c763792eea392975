"""Clusters to bring along: kubeconfigs of real servers, a door that can be shut, and who sees what of a secret."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import yaml
from aiohttp import web
from provider_kit import World

from mooring.api.clusters import Cluster
from mooring.api.marks import OPERATION_ANNOTATION, OPERATION_RECONCILE
from mooring.controlplane import certificates
from mooring.kube import Client, Connection, MergePatch, connection_from_document, key_of, untyped
from mooring.kube.errors import NotFound
from mooring.providers.external import AdoptedCluster, ExternalClusterConfig, ExternalConfig, ExternalProvider
from mooring.providers.external.adoption import HOLDER_LABEL
from mooring.providers.sdk import add_provider
from mooring.runtime import Manager
from mooring.testing.builders import SECRETS, SERVICE_ACCOUNTS, plain_resource_of, service_account
from mooring.testing.fault_wire import bound_socket
from mooring.testing.managers import doomed, until
from mooring.testing.providing import install_kinds, providing

RBAC = "rbac.authorization.k8s.io"
ROLES = untyped(group=RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False)
BINDINGS = untyped(group=RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False)
EVERYTHING = ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},)
OWN_KINDS = (ExternalConfig, ExternalClusterConfig, AdoptedCluster)


@dataclass
class Dock(World):
    """A platform where clusters are brought to."""

    async def secret(self, name: str, kubeconfig: Any, *, key: str = "kubeconfig") -> None:
        """Write the kubeconfig, a document or a text, into a Secret, which may be there."""
        text = kubeconfig if isinstance(kubeconfig, str) else yaml.safe_dump(kubeconfig)
        data = {key: base64.b64encode(text.encode()).decode()}
        try:
            await self.kube.patch(SECRETS, name, MergePatch({"data": data}), namespace=self.namespace)
        except NotFound:
            metadata = {"name": name, "namespace": self.namespace}
            await self.kube.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})

    async def config_for(self, name: str, secret: str = "", *, provider: str = "external", **spec: Any) -> Any:
        """A configuration for the cluster behind a Secret; without one, for a family."""
        if secret:
            spec["kubeconfigSecretRef"] = {"namespace": self.namespace, "name": secret}
        return await self.config(name, provider=provider, kind=ExternalConfig, **spec)

    async def own_config(self, name: str, secret: str, **spec: Any) -> Any:
        """The configuration of one Cluster."""
        return await self.create(ExternalClusterConfig, name, spec={"kubeconfigSecretRef": {"name": secret}, **spec})

    async def member(self, name: str, secret: str, *, family: str = "family", **spec: Any) -> Any:
        """A Cluster of the family with a kubeconfig of its own."""
        await self.own_config(name, secret)
        configs = [{"name": name}]
        return await self.cluster(name, profile=f"test.external.{family}", clusterConfigs=configs, **spec)

    async def claims(self) -> dict[str, str]:
        """Which Cluster holds what."""
        return {one.spec.cluster_ref.name: one.spec.identity for one in await self.all(AdoptedCluster)}

    async def look_now(self, name: str) -> None:
        """Have the provider look at a cluster without waiting for its time."""
        await self.patch(Cluster, name, {"metadata": {"annotations": {OPERATION_ANNOTATION: OPERATION_RECONCILE}}})


@contextlib.asynccontextmanager
async def a_dock(world: World) -> AsyncIterator[Dock]:
    await install_kinds(world.kube, ExternalProvider)
    try:
        yield Dock(world.kube, world.namespace)
    finally:
        for kind in (Cluster, *OWN_KINDS):
            await _clear(world.kube, kind)


async def _clear(client: Client, kind: Any) -> None:
    resource = plain_resource_of(kind)
    while left := (await client.list(resource)).items:
        for one in left:
            key = key_of(one)
            where = key.namespace or None
            with contextlib.suppress(NotFound):
                if one["metadata"].get("finalizers"):
                    free = MergePatch({"metadata": {"finalizers": None}})
                    await client.patch(resource, key.name, free, namespace=where)
                await client.delete(resource, key.name, namespace=where)


def external(connection: Connection, *, name: str = "external", provider: ExternalProvider | None = None):
    """The provider at work."""
    return providing(connection, provider or ExternalProvider(), name=name)


def doomed_external(connection: Connection):
    """The same, killed at the end of the block in the middle of what it does."""
    manager = Manager(connection, identity=uuid.uuid4().hex)
    add_provider(manager, ExternalProvider(), name="external", environment="test")
    return doomed(manager)


# -- the clusters that are brought ------------------------------------------------------------------------------------


@dataclass
class Harbour:
    """A cluster that somebody else made, and whoever gets a credential for it."""

    client: Client
    namespace: str
    _made: list[str] = field(default_factory=list)

    @property
    def connection(self) -> Connection:
        return self.client.connection

    async def account(self, rights: Any = EVERYTHING) -> str:
        """The name of somebody with these rights."""
        name = f"owner-{uuid.uuid4().hex[:8]}"
        await self.client.create(SERVICE_ACCOUNTS, service_account(name, self.namespace))
        self._made.append(name)
        about = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
        await self.client.create(ROLES, {**about, "kind": "ClusterRole", "rules": list(rights)})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": self.namespace}
        role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
        binding = {**about, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": role}
        await self.client.create(BINDINGS, binding)
        return name

    async def token(self, account: str) -> str:
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        where = {"name": account, "namespace": self.namespace, "subresource": "token"}
        answer = await self.client.create(SERVICE_ACCOUNTS, asked, **where)
        return str(answer["status"]["token"])

    async def kubeconfig(self, rights: Any = EVERYTHING, *, server: str = "") -> dict[str, Any]:
        """For somebody new with these rights."""
        return self.kubeconfig_of(await self.token(await self.account(rights)), server=server)

    def kubeconfig_of(self, token: str, *, server: str = "") -> dict[str, Any]:
        ca = base64.b64encode(self.connection.ca or b"").decode()
        cluster = {"server": server or self.connection.server, "certificate-authority-data": ca}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "theirs", "cluster": cluster}],
            "users": [{"name": "owner", "user": {"token": token}}],
            "contexts": [{"name": "main", "context": {"cluster": "theirs", "user": "owner"}}],
            "current-context": "main",
        }

    async def revoke(self, account: str, token: str) -> None:
        """End the account, and wait until the server has forgotten its token."""
        await self.client.delete(SERVICE_ACCOUNTS, account, namespace=self.namespace)
        connection = connection_from_document(self.kubeconfig_of(token))

        async def is_refused() -> bool:
            async with Client(connection) as client:
                try:
                    await client.version()
                except Exception as error:
                    return getattr(error, "code", 0) == 401
            return False

        await until(is_refused, "the token is not accepted any more")

    async def grant(self, account: str, rights: Any) -> None:
        await self.client.patch(ROLES, account, MergePatch({"rules": list(rights)}))

    async def identity(self) -> str:
        namespaces = untyped(plural="namespaces", kind="Namespace", namespaced=False)
        return str((await self.client.get(namespaces, "kube-system"))["metadata"]["uid"])

    async def clear(self) -> None:
        """Leave nothing behind: others use the cluster, too."""
        for name in self._made:
            for resource, where in ((BINDINGS, None), (ROLES, None), (SERVICE_ACCOUNTS, self.namespace)):
                with contextlib.suppress(NotFound):
                    await self.client.delete(resource, name, namespace=where)


@contextlib.asynccontextmanager
async def a_harbour(client: Client, namespace: str) -> AsyncIterator[Harbour]:
    harbour = Harbour(client, namespace)
    try:
        yield harbour
    finally:
        await harbour.clear()


class Door:
    """A way to a server that can be shut: whoever comes then is turned away. Its port stays its own meanwhile."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname, parts.port
        self._seat = bound_socket(0)
        self.server = f"https://127.0.0.1:{self._seat.getsockname()[1]}"
        self._open: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self._open = await asyncio.start_server(self._pass, sock=bound_socket(self._seat.getsockname()[1]))

    async def shut(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
        for task in list(self._passing):
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    def remove(self) -> None:
        self._seat.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        there: asyncio.StreamWriter | None = None
        try:
            answers, there = await asyncio.open_connection(self._host, self._port)
            await asyncio.gather(_carry(reader, there), _carry(answers, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._passing.discard(task)
            for one in (writer, there):
                if one is not None:
                    one.transport.abort()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65_536):
        writer.write(block)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


@contextlib.asynccontextmanager
async def a_door(server: str) -> AsyncIterator[Door]:
    door = Door(server)
    try:
        await door.open()
        yield door
    finally:
        await door.shut()
        door.remove()


@dataclass
class Gossip:
    """A server that is no Kubernetes, and tells everybody what it was told. The first step of a path is its answer."""

    server: str
    ca: bytes


@contextlib.asynccontextmanager
async def a_gossip(directory: Path) -> AsyncIterator[Gossip]:
    authority = certificates.ensure_authority(directory, "gossip")
    certificates.ensure_server(authority, directory, "server", "127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(directory / "server.crt", directory / "server.key")

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        heard = request.headers.get("Authorization", "")
        body = {"kind": "Status", "message": heard, "reason": "Gossip", "gitVersion": [heard]}
        headers = {"Location": f"https://127.0.0.1/?heard={quote(heard)}"}
        return web.json_response(body, status=int(request.path.split("/")[1]), headers=headers)

    server = web.Server(answer, access_log=None)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0, ssl=context)
    try:
        yield Gossip(f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}", authority.pem)
    finally:
        listening.close()
        await server.shutdown(timeout=0)


# -- what can be seen -------------------------------------------------------------------------------------------------


async def all_that_is_told(client: Client, *, but: set[str]) -> str:
    """Every object of the server as text, but for some Secrets."""
    groups = json.loads(await client.raw("GET", "/apis", accept="application/json"))["groups"]
    paths = ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]
    texts = []
    for path in paths:
        for one in json.loads(await client.raw("GET", path, accept="application/json"))["resources"]:
            if "list" in one["verbs"]:
                body = json.loads(await client.raw("GET", f"{path}/{one['name']}", accept="application/json"))
                hidden = but if one["kind"] == "Secret" else set()
                texts += [json.dumps(item) for item in body["items"] if item["metadata"]["name"] not in hidden]
    return "\n".join(texts)


async def standing_of(client: Client) -> dict[tuple[str, str, str], tuple[str, str]]:
    """What a cluster is made of that a guest could leave traces in, each with its uid and revision."""
    listed = {
        "namespaces": untyped(plural="namespaces", kind="Namespace", namespaced=False),
        "secrets": SECRETS,
        "clusterroles": ROLES,
        "clusterrolebindings": BINDINGS,
        "roles": untyped(group=RBAC, plural="roles", kind="Role"),
        "rolebindings": untyped(group=RBAC, plural="rolebindings", kind="RoleBinding"),
    }
    found = {}
    for plural, resource in listed.items():
        for one in (await client.list(resource)).items:
            if "aggregationRule" not in one:  # a controller of the cluster writes these
                metadata = one["metadata"]
                place = (plural, metadata.get("namespace", ""), metadata["name"])
                found[place] = (metadata["uid"], metadata["resourceVersion"])
    return found


async def claim_by_hand(dock: Dock, *, identity: str, name: str, namespace: str, uid: str, claim: str) -> None:
    """As a provider would have left it."""
    holder = {"namespace": namespace, "name": name, "uid": uid}
    labels = {HOLDER_LABEL: uid}
    await dock.create(
        AdoptedCluster, claim, metadata={"labels": labels}, spec={"identity": identity, "clusterRef": holder}
    )
