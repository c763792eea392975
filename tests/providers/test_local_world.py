"""Local clusters as their users see them: Cluster objects on a platform, with the SDK in between."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from local_kit import API_SERVER, CONTROLLER_MANAGER, PATIENCE, Yard, a_yard, newer_than, relabelled
from provider_kit import condition, is_ready

from landscape_kit import processes_with
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.marks import KUBERNETES_VERSION_LABEL
from mooring.api.traits import WORKERLESS
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import identity_for
from mooring.kube import key_of
from mooring.providers.local import LocalConfig, LocalProvider
from mooring.testing.providing import install_kinds, providing, until

_PROCESS = Path(__file__).with_name("local_process.py")
PROFILE = "test.local.here"


@pytest.fixture
async def yard(landscape: Landscape) -> AsyncIterator[Yard]:
    async with a_yard(landscape) as yard:
        yield yard


@pytest.fixture
async def here(world):
    """A platform with one configuration for local clusters."""
    await install_kinds(world.kube, LocalProvider)
    await world.config("here", provider="local", kind=LocalConfig, maxClusters=7)
    yield world
    await world.patch(LocalConfig, "here", {"metadata": {"finalizers": None}})
    await world.delete(LocalConfig, "here")
    await world.gone(LocalConfig, "here")


async def test_from_a_configuration_to_a_cluster_and_back_to_nothing(here, yard: Yard) -> None:
    async with providing(here.connection, yard.provider, name="local"):
        profile = await here.exists(ClusterProfile, PROFILE)
        assert [one.version for one in profile.spec.supported_versions if not one.deprecated] == [yard.version]
        assert [one.key for one in profile.spec.supported_traits] == [WORKERLESS]
        assert profile.spec.max_clusters == 7
        order = await _a_cluster(here, yard)
        known = await here.becomes(Cluster, "one", lambda one: one.status and one.status.api_server, "has an address")
        assert known.status.api_server.startswith("https://127.0.0.1:")
        cluster = await here.ready()
        assert cluster.metadata.labels[KUBERNETES_VERSION_LABEL] == yard.version
        assert cluster.status.api_server == yard.plane(order).server
        assert cluster.status.provider_status == {"id": identity_for(order.uid)}

        killed = await yard.kill(order, API_SERVER)
        pid = await yard.until_another(order, API_SERVER, than=killed)
        await here.ready()
    # The one who kept it is gone; it is not, and the next one finds it.
    assert yard.pid(order, API_SERVER) == pid
    await yard.start_over()
    async with providing(here.connection, yard.provider, name="local"):
        await here.patch(Cluster, "one", {"status": None}, subresource="status")
        await here.ready()
        assert yard.pid(order, API_SERVER) == pid
        await here.delete(Cluster, "one")
        await here.gone(Cluster, "one")
    await yard.assert_nothing_is_left(order)


async def test_a_killed_provider_goes_on_where_it_was(here, yard: Yard, landscape: Landscape, tmp_path: Path) -> None:
    order = await _a_cluster(here, yard)
    identity = identity_for(order.uid)
    async with _killed_later(here, landscape, tmp_path):
        await until(lambda: yard.pid(order, API_SERVER), "the API server runs")
    begun = yard.pid(order, API_SERVER)
    async with _killed_later(here, landscape, tmp_path):
        await here.ready()
        assert yard.pid(order, API_SERVER) == begun
        assert len(processes_with(f"/{identity}/")) == 2
        manager = yard.pid(order, CONTROLLER_MANAGER)
        await here.delete(Cluster, "one")
        await until(lambda: yard.pid(order, CONTROLLER_MANAGER) != manager, "its end has begun")
    async with _killed_later(here, landscape, tmp_path):
        await here.gone(Cluster, "one")
    await yard.assert_nothing_is_left(order)


async def test_a_provider_that_is_killed_in_the_middle_of_an_upgrade_finishes_it(
    here, yard: Yard, landscape: Landscape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer version is a relabelled build of the same code."""
    newer = newer_than(yard.version)
    programs = await asyncio.to_thread(relabelled, landscape, newer, tmp_path / "newer")
    monkeypatch.setenv("MOORING_MORE_BINARIES", f"{newer}={programs}")
    order = await _a_cluster(here, yard, version=yard.version)
    async with _killed_later(here, landscape, tmp_path):
        await here.ready()
        await yard.write(order)
        before = yard.pid(order, API_SERVER)
        await here.patch(Cluster, "one", {"spec": {"kubernetes": {"version": newer}}})
        await until(lambda: yard.pid(order, API_SERVER) != before, "the old API server is gone")
    async with _killed_later(here, landscape, tmp_path):
        await here.becomes(Cluster, "one", lambda one: is_ready(one) and _runs(one) == newer, f"is ready with {newer}")
        assert len(processes_with(f"/{identity_for(order.uid)}/")) == 2
        assert await yard.read(order) == "mooring"
        await here.delete(Cluster, "one")
        await here.gone(Cluster, "one")
    await yard.assert_nothing_is_left(order)


async def test_versions_that_are_not_here_are_told_in_the_configurations_status(here, yard: Yard) -> None:
    versions = [{"version": "1.99.0"}]
    async with providing(here.connection, yard.provider, name="local"):
        await here.exists(ClusterProfile, PROFILE)
        await here.patch(LocalConfig, "here", {"spec": {"versions": versions}})
        config = await here.standing("here", "UnknownVersion", kind=LocalConfig)
    told = condition(config)
    assert "spec.versions[0] is 1.99.0" in told.message
    assert yard.version in told.message


async def test_a_flag_that_is_not_taken_is_told_on_the_configuration_and_on_its_clusters(here, yard: Yard) -> None:
    """The server does not know what a value may be; whoever asks for a cluster meanwhile is told why there is none."""
    async with providing(here.connection, yard.provider, name="local"):
        await here.exists(ClusterProfile, PROFILE)
        await here.patch(LocalConfig, "here", {"spec": {"apiServerFlags": {"v": "9"}}})
        config = await here.standing("here", "BadFlag", kind=LocalConfig)
        order = await _a_cluster(here, yard)
        cluster = await here.standing("one", "BadFlag")
        for thing in (config, cluster):
            assert "spec.apiServerFlags[v] is '9' and must be a number from 0 to 4" in condition(thing).message
        assert condition(cluster, "Stalled").status == "True"
        assert processes_with(f"/{identity_for(order.uid)}/") == {}


async def _a_cluster(here, yard: Yard, version=""):
    """Made by the SDK, if it works; known to the yard, which makes sure that it goes."""
    made = await here.cluster("one", profile=PROFILE, kubernetes={"version": version})
    order = yard.order(uid=made.metadata.uid)
    assert key_of(made).name == "one"
    return order


def _runs(cluster):
    return cluster.metadata.labels.get(KUBERNETES_VERSION_LABEL)


@contextlib.asynccontextmanager
async def _killed_later(here, landscape: Landscape, directory: Path) -> AsyncIterator[None]:
    """The provider as a process of its own, which is killed at the end."""
    kubeconfig = directory / "kubeconfig"
    connection = here.kube.connection
    kubeconfig.write_bytes(msgspec.json.encode(await _document(connection)))
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(_PROCESS), str(landscape.directory), str(kubeconfig), "local"
    )
    try:
        yield
        assert process.returncode is None
    finally:
        process.kill()
        async with asyncio.timeout(PATIENCE):
            await process.wait()


async def _document(connection):
    from mooring.api.kubeconfigs import kubeconfig

    identity = await connection.credentials.identity()
    return kubeconfig(
        name="platform", server=connection.server, ca=connection.ca, user="admin", certificate=identity.certificate
    )
