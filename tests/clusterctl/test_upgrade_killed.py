"""An upgrade or a deletion that is killed after any of its writes, and run again, ends where it would have ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from dumping import comparable
from lifecycle_kit import SHIPYARD_HOME, SHIPYARD_MANAGER, Yard, cluster_role, furnished, scale, set_arguments
from releases import CORE, Release, core, infrastructure

from mooring.clusterctl.config import Configuration, read_configuration
from mooring.clusterctl.deleting import Choice, Extent, delete_providers
from mooring.clusterctl.finding import labelled
from mooring.clusterctl.initialising import Wishes, initialise
from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.providers import CLUSTERCTL_LABEL, PROVIDER_LABEL, ProviderType
from mooring.clusterctl.upgrading import UpgradeOptions, upgrade
from mooring.kube import Client, Object
from mooring.kube.tls import tls_context
from mooring.testing.faults import FaultProxy
from mooring.testing.managers import until

MOST_WRITES = 40
OLD, NEW = "v0.9.0", "v1.0.0"
LABEL = "infrastructure-shipyard"
CHANGED = ("--leader-elect", "--v=7", "--by-hand")


@dataclass(frozen=True)
class Small(Release):
    """Of each kind that is treated in a way of its own, one object: every further one is a further kill."""

    def objects(self) -> list[Object]:
        some = {"Namespace", "CustomResourceDefinition", "ServiceAccount", "Deployment"}
        return [one for one in super().objects() if one["kind"] in some]


def small_releases() -> list[Release]:
    given = {"series": [(0, 9, "v1beta2"), (1, 0, "v1beta2")], "namespace": SHIPYARD_HOME}
    kind = [("infrastructure.cluster.x-k8s.io", "ShipyardCluster")]
    like = infrastructure()
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shipyard-data", "namespace": SHIPYARD_HOME}}
    arguments = ("--leader-elect", "--v=3", "--new")
    old = [cluster_role("shipyard-plain", "get"), cluster_role("shipyard-of-old", "get")]
    new = [cluster_role("shipyard-plain", "get", "list"), data]
    return [
        Small(*CORE, "v1.14.2", kinds=core().kinds[:1]),
        Small(like.name, like.type, OLD, kinds=kind, extra=old, **given),
        Small(
            like.name, like.type, NEW, kinds=kind, extra=new, arguments=("--leader-elect", "--v=3", "--new"), **given
        ),
    ]


@dataclass(frozen=True)
class World:
    client: Client
    proxy: FaultProxy
    configuration: Configuration

    async def picture(self) -> dict[Any, Object]:
        """All that belongs to the provider."""
        found = await labelled(self.client, {CLUSTERCTL_LABEL: "", PROVIDER_LABEL: LABEL}, [SHIPYARD_HOME])
        return {(one["kind"], one["metadata"]["name"]): {**comparable(one), "status": None} for one in found}

    async def init(self) -> None:
        wishes = Wishes(core="cluster-api", bootstrap=("-",), control_plane=("-",), infrastructure=(f"shipyard:{OLD}",))
        await initialise(self.client, self.configuration, wishes)

    async def change_by_hand(self) -> None:
        await set_arguments(self.client, SHIPYARD_MANAGER, SHIPYARD_HOME, *CHANGED)
        await scale(self.client, SHIPYARD_MANAGER, SHIPYARD_HOME, 3)

    async def to(self, version: str, client: Client, *, discard: bool = False) -> None:
        wanted = [(ProviderType.INFRASTRUCTURE, f"shipyard:{version}")]
        await upgrade(client, self.configuration, UpgradeOptions(wanted=wanted, discard_changes=discard))

    async def killed(self, deed: Callable[[Client], Awaitable[object]]) -> AsyncIterator[int]:
        """Let it die after the first write, then after the second, and so on, until it does not write as often."""
        for nth in range(1, MOST_WRITES):
            rule = self.proxy.stop_after_write(nth)
            async with Client(self.proxy.connection) as client:
                doing = asyncio.ensure_future(deed(client))
                await until(lambda: doing.done() or self.proxy.is_down, "it is done, or cut off")  # noqa: B023
                doing.cancel()
                await asyncio.wait([doing])
            await self.proxy.heal()
            if not rule.hits:
                assert doing.exception() is None
                return
            yield nth
        pytest.fail(f"it writes more than {MOST_WRITES} times")


@pytest.fixture
async def world(management, tmp_path):
    place = await furnished(management)
    config = Yard.made(tmp_path, small_releases()).config
    context = tls_context(ca=place.plane.ca, certificate=place.plane.admin_certificate())
    async with FaultProxy(place.plane.server, ssl=context) as proxy:
        yield World(place.client, proxy, read_configuration(str(config), {"HOME": str(tmp_path)}))


async def test_an_upgrade_is_killed_after_each_write(world: World):
    await world.init()
    await world.change_by_hand()
    await world.to(NEW, world.client)
    whole = await world.picture()
    manager = whole["Deployment", SHIPYARD_MANAGER]["spec"]
    assert manager["replicas"] == 3
    assert manager["template"]["spec"]["containers"][0]["args"] == ["--leader-elect", "--v=7", "--new", "--by-hand"]
    assert ("ClusterRole", "shipyard-of-old") not in whole

    async def back() -> None:
        await world.to(OLD, world.client, discard=True)
        await world.change_by_hand()

    await back()
    last = 0
    async for nth in world.killed(lambda client: world.to(NEW, client)):
        await world.to(NEW, world.client)
        assert await world.picture() == whole, f"killed after write {nth}"
        await back()
        last = nth
    assert await world.picture() == whole
    assert last > 12


async def test_a_deletion_is_killed_after_each_write(world: World):
    await world.init()
    choice = Choice([(ProviderType.CORE, "cluster-api"), (ProviderType.INFRASTRUCTURE, "shipyard")])

    async def deed(client: Client) -> None:
        await delete_providers(client, choice, Extent(definitions=True))

    last = 0
    async for nth in world.killed(deed):
        if await Inventory(world.client).list():
            await deed(world.client)
        left = await world.picture()
        assert set(left) == {("Namespace", SHIPYARD_HOME)}, f"killed after write {nth}"
        assert await Inventory(world.client).list() == []
        await world.init()
        last = nth
    assert last > 8
