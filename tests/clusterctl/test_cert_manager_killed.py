"""cert-manager, installed and upgraded by an ``init`` or ``upgrade`` that is killed after any of its writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from dumping import comparable
from lifecycle_kit import cluster_role, faulty, gone, killed
from releases import cert_manager_definitions
from twins import Twins

from mooring.clusterctl.applying import apply_all, delete_one, side_by_side
from mooring.clusterctl.certmanager import CertManager
from mooring.clusterctl.config import Configuration
from mooring.clusterctl.finding import labelled
from mooring.clusterctl.providers import CORE_LABEL
from mooring.kube import Client, Object, untyped
from mooring.testing.faults import FaultProxy

OLD, NEW = "v1.20.0", "v1.21.0"
HOME = "cert-manager"
ISSUERS = untyped(group="cert-manager.io", plural="issuers", kind="Issuer")
MINE = {
    "apiVersion": ISSUERS.api_version,
    "kind": "Issuer",
    "metadata": {"name": "mine", "namespace": "default"},
    "spec": {"selfSigned": {}},
}


def manifest(version: str) -> list[Object]:
    """Of each kind that is treated in a way of its own, one object: every further one is a further kill."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": HOME, "namespace": HOME}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}},
        *cert_manager_definitions(),
        account,
        cluster_role(f"cert-manager-{version}", "get"),
    ]


@dataclass(frozen=True)
class World:
    client: Client
    proxy: FaultProxy
    manager: Callable[[Client, str], CertManager]

    async def parts(self) -> list[Object]:
        return await labelled(self.client, {CORE_LABEL: "cert-manager"}, [HOME])

    async def picture(self) -> dict[tuple[str, str], Object]:
        return {(one["kind"], one["metadata"]["name"]): comparable(one) for one in await self.parts()}


@pytest.fixture
async def world(twins: Twins, tmp_path: Path) -> AsyncIterator[World]:
    for version in (OLD, NEW):
        folder = tmp_path / HOME / version
        folder.mkdir(parents=True)
        (folder / "cert-manager.yaml").write_text(yaml.safe_dump_all(manifest(version)))
    url = str(tmp_path / HOME / OLD / "cert-manager.yaml")

    def manager(client: Client, version: str) -> CertManager:
        settings = {"cert-manager": {"url": url, "version": version, "timeout": "60s"}}
        return CertManager(client, Configuration(settings, {"HOME": str(tmp_path)}))

    async with faulty(twins.mine.plane) as proxy:
        yield World(twins.mine.client, proxy, manager)


async def test_an_installation_is_killed_after_each_write(world: World):
    async def back() -> None:
        definitions = cert_manager_definitions()
        parts = [one for one in await world.parts() if one["kind"] != "Namespace"]
        await side_by_side([delete_one(world.client, one) for one in (*definitions, *parts)])
        for one in definitions:
            await gone(world.client, one["apiVersion"], one["kind"], one["metadata"]["name"])

    async def deed(client: Client) -> None:
        await world.manager(client, OLD).ensure_installed()

    await back()
    await deed(world.client)
    whole = await world.picture()
    assert len(whole) == len(manifest(OLD))
    await back()
    last = 0
    async for nth in killed(world.proxy, deed):
        await deed(world.client)
        assert await world.picture() == whole, f"killed after write {nth}"
        await back()
        last = nth
    assert await world.picture() == whole
    assert last > 5


async def test_an_upgrade_is_killed_after_each_write(world: World):
    old, new = world.manager(world.client, OLD), world.manager(world.client, NEW)

    async def back() -> None:
        await delete_one(world.client, cluster_role(f"cert-manager-{NEW}"))
        await apply_all(world.client, await old.objects(), replacing=True)

    async def deed(client: Client) -> None:
        await world.manager(client, NEW).ensure_latest()

    await back()
    await world.client.create(ISSUERS, MINE)
    await deed(world.client)
    whole = await world.picture()
    assert ("ClusterRole", f"cert-manager-{OLD}") not in whole
    await back()
    last = 0
    async for nth in killed(world.proxy, deed):
        assert (await new.plan_upgrade()).needed or await world.picture() == whole
        await deed(world.client)
        assert await world.picture() == whole, f"killed after write {nth}"
        assert (await world.client.get(ISSUERS, "mine", namespace="default"))["spec"] == MINE["spec"]
        await back()
        last = nth
    assert await world.picture() == whole
    assert last > 8
    await world.client.delete(ISSUERS, "mine", namespace="default")
