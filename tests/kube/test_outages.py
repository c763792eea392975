"""Servers that die, stop, forget and are set back: afterwards the reader's picture is the server's state all the same.

Real outages of real servers, so they happen in a landscape of this file's own.
"""

import asyncio
import shutil
import signal
from contextlib import asynccontextmanager, contextmanager, suppress
from uuid import uuid4

import msgspec
import pytest
from load_kit import load
from watch_kit import reading
from wire_kit import CONFIG_MAPS, NAMESPACES, OURS, config_map

from mooring.api.kubeconfigs import ClientCertificate
from mooring.controlplane.binaries import fetch_binaries
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.probes import Prober
from mooring.controlplane.progress import Silent
from mooring.controlplane.toolsets import KUBERNETES
from mooring.kube import Client, MergePatch, Relisted, connection_from_document, revision_of
from mooring.kube.errors import Gone, NoAnswer, Unreachable
from mooring.kube.tls import tls_context
from mooring.testing.faults import FaultProxy

UNCACHED = "uncachedfour"  # the identity of a control plane
LONG = 120  # seconds: for a machine that is busy with other things


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("outages") / "landscape"
    yield directory
    landscape = in_place(directory)
    asyncio.run(landscape.stop())
    landscape.purge()


@pytest.fixture
async def own_landscape(place):
    """A landscape to harm. The first test starts it, the others find it, and what is down comes up."""
    ours = in_place(place)
    try:
        await ours.start()
        yield ours
    finally:
        ours.release()


@pytest.fixture
async def kept(own_landscape):
    """The same, with someone who starts again what dies."""
    keeping = asyncio.create_task(own_landscape.keep())
    yield own_landscape
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping


@pytest.fixture
async def uncached(own_landscape):
    """A control plane whose API server remembers nothing: each list and each watch goes to etcd."""
    plane = own_landscape.control_plane(UNCACHED)
    plane.api_server_flags = {"watch-cache": "false"}
    try:
        await plane.start()
        yield plane
    finally:
        plane.release()


def in_place(directory):
    return Landscape("outages", directory, fetch_binaries(KUBERNETES, progress=Silent()))


def client_of(plane):
    return Client(connection_from_document(plane.admin_kubeconfig(name="test")))


def proxy_of(plane):
    return FaultProxy(plane.server, ssl=tls_context(ca=plane.ca, certificate=plane.admin_certificate()))


async def fresh_namespace(kube):
    name = f"test-{uuid4().hex[:10]}"
    await kube.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@contextmanager
def etcd_process(landscape):
    child = landscape.etcd.program().running()
    try:
        yield child
    finally:
        child.release()


@contextmanager
def stopped(landscape):
    """As long as this lasts, etcd does nothing, and nobody is told."""
    with etcd_process(landscape) as etcd:
        etcd.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            etcd.signal(signal.SIGCONT)


async def compact(etcd):
    """Have etcd forget everything but the present."""
    pki = etcd.directory / "pki"
    nameless = ClientCertificate(
        certificate=(pki / "nameless.crt").read_bytes(), key=(pki / "nameless.key").read_bytes()
    )
    prober = Prober(etcd.ports.client, etcd.ca_file.read_bytes(), nameless)
    headers = {"Content-Type": "application/json"}

    async def told(deed, **request):
        answer = await prober.ask("POST", f"/v3/{deed}", msgspec.json.encode(request), headers)
        assert answer.code == 200, answer
        return msgspec.json.decode(answer.body)

    try:
        password = (etcd.directory / "root.password").read_text().strip()
        headers["Authorization"] = (await told("auth/authenticate", name="root", password=password))["token"]
        present = (await told("kv/range", key="AA==", count_only=True))["header"]["revision"]
        await told("kv/compaction", revision=present, physical=True)
    finally:
        prober.close()


# Under load


@asynccontextmanager
async def outage(landscape):
    """Load and a reader; the test does the harm. Afterwards nothing is lost, and nobody was told anything untrue."""
    async with client_of(landscape.platform) as kube, client_of(landscape.platform) as readers:
        namespace = await fresh_namespace(kube)
        async with reading(readers, namespace) as reader:
            async with load(kube, namespace) as writers:
                await writers.goes_on()
                yield reader, writers
                await writers.goes_on()
            state = await reader.equals(kube, LONG)

        assert {name: revision_of(thing) for name, thing in state.items()} == writers.expected()
        present = {thing["metadata"]["uid"] for thing in state.values()}
        assert sorted(reader.deleted_uids()) == sorted(reader.seen_uids() - present)
        assert all(revisions == sorted(set(revisions)) for revisions in reader.revisions().values())


async def test_the_api_server_is_killed_under_load(kept):
    async with outage(kept) as (reader, writers):
        for _ in range(2):
            child = kept.platform.api_server.child
            child.signal(signal.SIGKILL)
            await child.exited()
            await writers.goes_on()
    assert any(error.outcome_unknown for error in writers.faults())
    assert any(isinstance(error, NoAnswer) for error in reader.faults())


async def test_etcd_stops_for_ten_seconds_under_load(kept):
    async with outage(kept):
        with stopped(kept):
            await asyncio.sleep(10)


async def test_etcd_is_killed_under_load(kept):
    # Whether a write fails by it is a matter of luck: an API server asks again where it can, and etcd is back soon.
    async with outage(kept):
        with etcd_process(kept) as etcd:
            etcd.signal(signal.SIGKILL)
            await etcd.exited()


# Forgotten revisions


@asynccontextmanager
async def deaf_reader(plane, kube, namespace):
    """A reader who misses all that happens meanwhile, does not notice, and comes back to the revision it knew."""
    for name in ("kept", "changed", "doomed", "replaced"):
        await kube.create(CONFIG_MAPS, config_map(name, namespace))
    async with (
        proxy_of(plane) as proxy,
        Client(proxy.connection) as faulty,
        reading(faulty, namespace) as reader,
    ):
        await proxy.wait_until(lambda: bool(proxy.open_watches))
        proxy.freeze_watches(new=False)
        yield reader
        proxy.cut_watches()
        await reader.equals(kube, LONG)


async def change_things(kube, namespace):
    await kube.patch(CONFIG_MAPS, "changed", MergePatch({"data": {"k": "v"}}), namespace=namespace)
    await kube.delete(CONFIG_MAPS, "doomed", namespace=namespace)
    await kube.delete(CONFIG_MAPS, "replaced", namespace=namespace)
    await kube.create(CONFIG_MAPS, config_map("replaced", namespace))
    await kube.create(CONFIG_MAPS, config_map("new", namespace))


async def test_a_revision_that_etcd_has_compacted_is_gone(own_landscape, uncached):
    async with client_of(uncached) as kube:
        namespace = await fresh_namespace(kube)
        async with deaf_reader(uncached, kube, namespace) as reader:
            await change_things(kube, namespace)
            await compact(own_landscape.etcd)
    assert [type(error) for error in reader.faults()] == [Unreachable, Gone]
    assert reader.count(Relisted) == 2
    assert sorted(reader.deleted()) == ["doomed", "replaced"]


async def test_a_revision_from_before_the_compaction_and_a_restart_is_gone(own_landscape):
    platform = own_landscape.platform
    async with client_of(platform) as kube:
        namespace = await fresh_namespace(kube)
        async with deaf_reader(platform, kube, namespace) as reader:
            await change_things(kube, namespace)
            await compact(own_landscape.etcd)
            platform.api_server.child.signal(signal.SIGKILL)
            await platform.api_server.child.exited()
            await own_landscape.start()
    assert [type(error) for error in reader.faults()] == [Unreachable, Gone]
    assert sorted(reader.deleted()) == ["doomed", "replaced"]


async def test_a_compaction_between_two_pages_starts_the_list_over(own_landscape, uncached):
    async with client_of(uncached) as kube, proxy_of(uncached) as proxy, Client(proxy.connection) as faulty:
        namespace = await fresh_namespace(kube)
        for index in range(6):
            await kube.create(CONFIG_MAPS, config_map(f"n{index}", namespace))
        held = proxy.answer(429, times=None, headers={"Retry-After": "2"}, matching=lambda request: request.continues)
        listing = asyncio.create_task(faulty.list(CONFIG_MAPS, namespace=namespace, label_selector=OURS, page=2))
        await proxy.wait_for(lambda request: request.continues)
        # One from the page that is read already, one from a page to come.
        await kube.delete(CONFIG_MAPS, "n0", namespace=namespace)
        await kube.delete(CONFIG_MAPS, "n4", namespace=namespace)
        await compact(own_landscape.etcd)
        held.lift()
        listed = await listing
        assert [thing["metadata"]["name"] for thing in listed.items] == ["n1", "n2", "n3", "n5"]
        assert 410 in [request.server_status for request in proxy.requests if request.continues]


# A store with another past


async def test_a_store_that_was_set_back_is_believed(own_landscape):
    """Two readers: one sees the server go away, the other only ever sees a connection that was cut."""
    platform, data = own_landscape.platform, own_landscape.etcd.directory / "data"
    async with (
        client_of(platform) as kube,
        proxy_of(platform) as proxy,
        Client(proxy.connection) as faulty,
    ):
        namespace = await fresh_namespace(kube)
        for name in ("kept", "changed", "doomed"):
            await kube.create(CONFIG_MAPS, config_map(name, namespace))
        async with reading(kube, namespace) as witness, reading(faulty, namespace) as unaware:
            await proxy.wait_until(lambda: bool(proxy.open_watches))
            before = await witness.equals(kube)
            with stopped(own_landscape):
                shutil.copytree(data, own_landscape.directory / "backup")

            await kube.delete(CONFIG_MAPS, "doomed", namespace=namespace)
            await kube.patch(CONFIG_MAPS, "changed", MergePatch({"data": {"k": "v"}}), namespace=namespace)
            # More than a start writes, so that the older store stays behind.
            made = {f"since{index}" for index in range(500)}
            await asyncio.gather(*(kube.create(CONFIG_MAPS, config_map(name, namespace)) for name in sorted(made)))
            await witness.equals(kube)
            await unaware.equals(kube)
            proxy.freeze_watches(new=False)

            platform.api_server.child.signal(signal.SIGKILL)
            await own_landscape.stop()
            shutil.rmtree(data)
            (own_landscape.directory / "backup").rename(data)
            await own_landscape.start()
            assert await witness.equals(kube, LONG) == before
            present = (await kube.list(CONFIG_MAPS, namespace=namespace)).resource_version
            assert int(present) < max(map(int, unaware.known().values()))
            proxy.cut_watches()
            assert await unaware.equals(kube, LONG) == before

            for reader in (witness, unaware):
                assert sorted(reader.deleted()) == sorted({"doomed"} | made)
            assert len(unaware.faults()) == 1
