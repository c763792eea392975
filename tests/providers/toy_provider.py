"""A provider of toys: a ConfigMap beside the Cluster is all there is, and every toy leads to the platform itself."""

from collections.abc import Sequence
from typing import Annotated

from mooring.api.kinds import Api, Kind
from mooring.api.schema import about
from mooring.kube import Connection, Object, untyped
from mooring.kube.errors import NotFound
from mooring.providers.sdk import ConfigSpec, ConfigStatus, Offer, Order, Provider, State

TOYS = untyped(plural="configmaps", kind="ConfigMap")


class ToyConfigSpec(ConfigSpec, frozen=True, kw_only=True):
    versions: Annotated[tuple[str, ...], about("The versions that toys pretend to have.")]


class ToyConfig(Kind, frozen=True, kw_only=True):
    """What toys can be had."""

    API = Api(group="toy.mooring.dev", kind="ToyConfig", plural="toyconfigs", namespaced=False, has_status=True)
    spec: ToyConfigSpec
    status: Annotated[ConfigStatus | None, about()] = None


class ToyProvider(Provider[ToyConfig]):
    """Provides toys."""

    config = ToyConfig
    rights = ({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "update", "delete"]},)

    async def profiles(self, config: ToyConfig) -> Sequence[Offer]:
        return [Offer(versions=config.spec.versions)]

    async def ensure(self, order: Order[ToyConfig]) -> State:
        server, wanted = self.platform.connection.server, self._toy(order)
        try:
            toy = await self.platform.get(TOYS, wanted["metadata"]["name"], namespace=order.key.namespace)
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
        return self.platform.connection

    def _toy(self, order: Order[ToyConfig]) -> Object:
        metadata = {"name": f"toy-{order.key.name}", "namespace": order.key.namespace}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": order.version}}
