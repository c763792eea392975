"""The judges: the real clusterctl, the last one of v1alpha3, and the real envsubst; and ours beside them."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from lifecycle_kit import Yard
from moving_kit import Pair, a_pair
from runners import PATIENCE, Management, Runner, in_process, in_process_of_its_own, program
from twins import Plane, Twins, emptied, planes

from mooring.controlplane.binaries import fetch_binaries
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import new_identity
from mooring.controlplane.progress import Silent
from mooring.controlplane.toolsets import CLUSTER_API, CLUSTER_API_V1ALPHA3
from mooring.kube import Client, connection_from_document


@pytest.fixture(scope="session")
def judges() -> Mapping[str, Path]:
    """The programs: clusterctl, envsubst, and the old clusterctl."""
    today = fetch_binaries(CLUSTER_API, progress=Silent())
    old = fetch_binaries(CLUSTER_API_V1ALPHA3, progress=Silent())
    return {
        "clusterctl": today.path("clusterctl"),
        "envsubst": today.path("envsubst"),
        "old": old.path("clusterctl"),
    }


@pytest.fixture
def judge(judges: Mapping[str, Path], tmp_path: Path) -> Runner:
    """The real clusterctl: ``judge("generate", "yaml", stdin=text).documents``."""
    return Runner(_home(tmp_path, "judge"), program(judges["clusterctl"]))


@pytest.fixture
def old_judge(judges: Mapping[str, Path], tmp_path: Path) -> Runner:
    """The last clusterctl of v1alpha3."""
    return Runner(_home(tmp_path, "old"), program(judges["old"]))


@pytest.fixture
def ours(tmp_path: Path) -> Runner:
    """Ours, in this process. From a coroutine: ``await ours.beside(…)``."""
    return Runner(_home(tmp_path, "ours"), in_process)


@pytest.fixture
def ours_apart(tmp_path: Path) -> Runner:
    """Ours, as a process of its own."""
    return Runner(_home(tmp_path, "apart"), in_process_of_its_own)


@pytest.fixture
def envsubst_judge(judges: Mapping[str, Path]) -> Callable[[bytes, Mapping[str, str]], tuple[int, bytes, bytes]]:
    """The real envsubst: lines in, (code, out, err) out. It ends at the first line that it does not like."""

    def run(lines: bytes, environ: Mapping[str, str]) -> tuple[int, bytes, bytes]:
        ended = subprocess.run(
            [judges["envsubst"]], input=lines, env=dict(environ), capture_output=True, timeout=PATIENCE
        )
        return ended.returncode, ended.stdout, ended.stderr

    return run


def _home(directory: Path, name: str) -> Path:
    home = directory / f"home-{name}"
    home.mkdir()
    return home


@pytest.fixture
async def management(landscape: Landscape, tmp_path: Path) -> AsyncIterator[Callable[[], Awaitable[Management]]]:
    """Makes management clusters: ``one = await management()``. Each costs seconds; all are deleted afterwards."""
    async with contextlib.AsyncExitStack() as stack:

        async def make() -> Management:
            plane = landscape.control_plane(new_identity())
            stack.push_async_callback(plane.delete)
            await plane.start()
            document = plane.admin_kubeconfig(name="management")
            file = tmp_path / f"{plane.identity}.kubeconfig"
            file.write_text(yaml.safe_dump(document))
            client = await stack.enter_async_context(Client(connection_from_document(document)))
            return Management(plane, file, client)

        yield make
    landscape.etcd.close()


@pytest.fixture(scope="session")
def twin_planes(landscape: Landscape, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Plane]]:
    """Two control planes for all tests of this worker."""
    with planes(landscape, tmp_path_factory.mktemp("planes")) as made:
        yield made


@pytest.fixture
async def twins(twin_planes: list[Plane], judge: Runner, ours: Runner, tmp_path: Path) -> AsyncIterator[Twins]:
    """Two empty clusters, one for the judge and one for ours, and a repository with two versions of everything."""
    async with contextlib.AsyncExitStack() as stack:
        places = []
        for plane, kubeconfig in twin_planes:
            client = Client(connection_from_document(yaml.safe_load(kubeconfig.read_text())))
            places.append(Management(plane, kubeconfig, await stack.enter_async_context(client)))
        await asyncio.gather(*(emptied(one.client) for one in places))
        yield Twins(judge, ours, *places, Yard.made(tmp_path).config)


@pytest.fixture(scope="session")
def pair(landscape: Landscape, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two management clusters with the same providers, to move between; each test has namespaces of its own."""
    with a_pair(landscape, tmp_path_factory.mktemp("pair")) as made:
        yield made


@pytest.fixture
async def source(pair: Pair) -> AsyncIterator[Client]:
    async with Client(pair.source.connection) as client:
        yield client


@pytest.fixture
async def target(pair: Pair) -> AsyncIterator[Client]:
    async with Client(pair.target.connection) as client:
        yield client
