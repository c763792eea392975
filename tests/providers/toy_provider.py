"""A provider of toys: a ConfigMap beside the Cluster is all there is, and every toy leads to the platform itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from mooring.api.kinds import Api, Kind
from mooring.api.schema import about
from mooring.kube import Connection, Impersonation, untyped
from mooring.kube.errors import NotFound
from mooring.providers.sdk import ConfigSpec, ConfigStatus, Offer, Order, Provider, State

TOYS = untyped(plural="configmaps", kind="ConfigMap")
ADMIN, ALL = "toymaker", "system:masters"  # a user and a group: whoever enters a toy acts on the platform


class ToyConfigSpec(ConfigSpec, frozen=True, kw_only=True):
    versions: Annotated[tuple[str, ...], about("The versions that toys pretend to have.")]


class ToyConfig(Kind, frozen=True, kw_only=True):
    """What toys can be had."""

    API = Api(group="toy.mooring.dev", kind="ToyConfig", plural="toyconfigs", namespaced=False, has_status=True)
    spec: ToyConfigSpec
    status: Annotated[ConfigStatus | None, about()] = None


class ToyProvider(Provider[ToyConfig]):
    config = ToyConfig
    rights = (
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "update", "delete"]},
        {"apiGroups": [""], "resources": ["users", "groups"], "resourceNames": [ADMIN, ALL], "verbs": ["impersonate"]},
    )

    async def profiles(self, config: ToyConfig) -> Sequence[Offer]:
        return [Offer(versions=config.spec.versions)]

    async def ensure(self, order: Order[ToyConfig]) -> State:
        server = self.platform.connection.server
        metadata = {"name": f"toy-{order.key.name}", "namespace": order.key.namespace}
        wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": order.version}}
        try:
            toy = await self.platform.get(TOYS, metadata["name"], namespace=order.key.namespace)
        except NotFound:
            await self.platform.create(TOYS, wanted)
            return State(ready=False, reason="Creating", message="The toy is wound up.", api_server=server)
        if toy["data"] != wanted["data"]:
            toy = await self.platform.replace(TOYS, {**toy, "data": wanted["data"]})
        return State(ready=True, version=toy["data"]["version"], api_server=server, info="just a toy")

    async def delete(self, order: Order[ToyConfig]) -> bool:
        try:
            await self.platform.delete(TOYS, f"toy-{order.key.name}", namespace=order.key.namespace)
        except NotFound:
            return True
        return False

    async def admin_access(self, order: Order[ToyConfig]) -> Connection:
        return replace(self.platform.connection, impersonation=Impersonation(user=ADMIN, groups=(ALL,)))
