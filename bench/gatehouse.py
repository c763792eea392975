"""A provider for measurements: its clusters are all one, which is there already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from mooring.api.kinds import Api, Kind
from mooring.api.schema import about
from mooring.kube import Connection
from mooring.providers.sdk import ConfigSpec, ConfigStatus, Offer, Order, Provider, State

VERSION = "1.36.0"


class GateConfig(Kind, frozen=True, kw_only=True):
    """One gate."""

    API = Api(group="gate.mooring.dev", kind="GateConfig", plural="gateconfigs", namespaced=False, has_status=True)
    spec: ConfigSpec
    status: Annotated[ConfigStatus | None, about()] = None


class Gatehouse(Provider[GateConfig]):
    config = GateConfig

    def __init__(self, target: Connection) -> None:
        self.target = target

    async def profiles(self, config: GateConfig) -> Sequence[Offer]:
        return [Offer(versions=[VERSION])]

    async def ensure(self, order: Order[GateConfig]) -> State:
        return State(ready=True, version=VERSION, api_server=self.target.server)

    async def delete(self, order: Order[GateConfig]) -> bool:
        return True

    async def admin_access(self, order: Order[GateConfig]) -> Connection:
        return self.target
