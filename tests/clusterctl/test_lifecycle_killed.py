"""init, upgrade and delete, killed after any of their writes and run again: they end where they would have ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dumping import comparable
from lifecycle_kit import (
    RBAC,
    SHIPYARD_HOME,
    SHIPYARD_MANAGER,
    Yard,
    cluster_role,
    faulty,
    gone,
    killed,
    scale,
    set_arguments,
)
from releases import CORE, KUBEADM_BOOTSTRAP, Release, core, infrastructure
from twins import NAMESPACES, Twins

from mooring.clusterctl.applying import delete_one, side_by_side
from mooring.clusterctl.config import Configuration, read_configuration
from mooring.clusterctl.deleting import Choice, Extent, delete_providers
from mooring.clusterctl.initialising import Wishes, initialise
from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.inventory_definition import PROVIDERS, inventory_definition
from mooring.clusterctl.providers import CLUSTERCTL_LABEL, ProviderType
from mooring.clusterctl.upgrading import UpgradeOptions, upgrade
from mooring.clusterctl.waiting import DEFINITIONS, DEPLOYMENTS
from mooring.kube import Client, Object, untyped
from mooring.testing.faults import FaultProxy

OLD, NEW = "v0.9.0", "v1.0.0"
CHANGED = ("--leader-elect", "--v=7", "--by-hand")
KINDS = (
    NAMESPACES,
    DEFINITIONS,
    DEPLOYMENTS,
    untyped(plural="configmaps", kind="ConfigMap"),
    untyped(group=RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False),
)


@dataclass(frozen=True)
class Small(Release):
    """Of each kind that is treated in a way of its own, one object: every further one is a further kill."""

    def objects(self) -> list[Object]:
        some = {"Namespace", "CustomResourceDefinition", "Deployment"}
        return [one for one in super().objects() if one["kind"] in some]


def small_releases() -> list[Release]:
    given = {"series": [(0, 9, "v1beta2"), (1, 0, "v1beta2")], "namespace": SHIPYARD_HOME}
    kind = [("infrastructure.cluster.x-k8s.io", "ShipyardCluster")]
    like = infrastructure()
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shipyard-data", "namespace": SHIPYARD_HOME}}
    old = [cluster_role("shipyard-plain", "get"), cluster_role("shipyard-of-old", "get")]
    new = [cluster_role("shipyard-plain", "get", "list"), data]
    arguments = ("--leader-elect", "--v=3", "--new")
    return [
        Small(*CORE, "v1.14.2", kinds=core().kinds[:1]),
        Small(*KUBEADM_BOOTSTRAP, "v1.14.2"),
        Small(like.name, like.type, OLD, kinds=kind, extra=old, **given),
        Small(like.name, like.type, NEW, kinds=kind, extra=new, arguments=arguments, **given),
    ]


@dataclass(frozen=True)
class World:
    client: Client
    proxy: FaultProxy
    configuration: Configuration

    async def brought(self) -> list[Object]:
        """All that a clusterctl has brought."""
        selector = f"{CLUSTERCTL_LABEL}="
        lists = [await self.client.list(kind, label_selector=selector) for kind in KINDS]
        return [one for found in lists for one in found.items]

    async def picture(self) -> dict[Any, Object]:
        """The same, and the inventory, in what can be compared."""
        found = [*await self.brought(), *(await self.client.list(PROVIDERS)).items]
        return {(one["kind"], one["metadata"]["name"]): {**comparable(one), "status": None} for one in found}

    async def init(self, client: Client) -> None:
        wishes = Wishes(control_plane=("-",), infrastructure=(f"shipyard:{OLD}",))
        await initialise(client, self.configuration, wishes)

    async def change_by_hand(self) -> None:
        await set_arguments(self.client, SHIPYARD_MANAGER, SHIPYARD_HOME, *CHANGED)
        await scale(self.client, SHIPYARD_MANAGER, SHIPYARD_HOME, 3)

    async def to(self, version: str, client: Client, *, discard: bool = False) -> None:
        wanted = [(ProviderType.INFRASTRUCTURE, f"shipyard:{version}")]
        await upgrade(client, self.configuration, UpgradeOptions(wanted=wanted, discard_changes=discard))


@pytest.fixture
async def world(twins: Twins, tmp_path: Path) -> AsyncIterator[World]:
    config = Yard.made(tmp_path / "small", small_releases()).config
    async with faulty(twins.mine.plane) as proxy:
        yield World(twins.mine.client, proxy, read_configuration(str(config), {"HOME": str(tmp_path)}))


async def test_a_first_run_is_killed_after_each_write(world: World):
    """DEVIATION init-core-last: until all is there, the next run brings the default providers, too."""

    async def back() -> None:
        """All but the namespaces."""
        all_of_it = [inventory_definition(), *(one for one in await world.brought() if one["kind"] != "Namespace")]
        await side_by_side([delete_one(world.client, one) for one in all_of_it])
        for one in all_of_it:
            if one["kind"] == "CustomResourceDefinition":
                await gone(world.client, one["apiVersion"], one["kind"], one["metadata"]["name"])

    await world.init(world.client)
    whole = await world.picture()
    assert {name for kind, name in whole if kind == "Provider"} == {
        "cluster-api",
        "bootstrap-kubeadm",  # which nobody had to name
        "infrastructure-shipyard",
    }
    await back()
    last = 0
    async for nth in killed(world.proxy, world.init):
        await world.init(world.client)
        assert await world.picture() == whole, f"killed after write {nth}"
        await back()
        last = nth
    assert await world.picture() == whole
    assert last > 12


async def test_an_upgrade_is_killed_after_each_write(world: World):
    await world.init(world.client)
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
    async for nth in killed(world.proxy, lambda client: world.to(NEW, client)):
        await world.to(NEW, world.client)
        assert await world.picture() == whole, f"killed after write {nth}"
        await back()
        last = nth
    assert await world.picture() == whole
    assert last > 8


async def test_a_deletion_is_killed_after_each_write(world: World):
    await world.init(world.client)
    choice = Choice([(ProviderType.CORE, "cluster-api"), (ProviderType.INFRASTRUCTURE, "shipyard")])

    async def deed(client: Client) -> None:
        await delete_providers(client, choice, Extent(definitions=True))

    last = 0
    async for nth in killed(world.proxy, deed):
        if any(one.provider_name != "kubeadm" for one in await Inventory(world.client).list()):
            await deed(world.client)
        left = {(kind, name) for kind, name in await world.picture() if "kubeadm" not in name}
        assert left == {("Namespace", "capi-system"), ("Namespace", SHIPYARD_HOME)}, f"killed after write {nth}"
        await world.init(world.client)
        last = nth
    assert last > 8
