"""Bars ``cluster``, ``cluster-warm``, ``cluster-8``, ``cluster-memory`` and ``toy-provider``: what a cluster costs.

The subject is a process of its own, ``providing.py LANDSCAPE-DIRECTORY``: scheduling, the SDK and the local provider in
one manager on the landscape's platform, as in ``mooring up``. The floor is the bare pair of programs with the same
flags and Go's own settings, started on a prefix whose files and etcd user are there already.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import statistics
import sys
import time
from pathlib import Path

MANY, IDLE, FLOORS = 8, 60.0, 3
NAMESPACE, HOME = "default", "mooring-system"
_TOY = Path(__file__).parents[1] / "tests" / "providers" / "toy_provider.py"
# Of the flags that we choose, those which a kube-apiserver here could do without.
_OURS = ("endpoint-reconciler-type", "profiling", "shutdown-watch-termination-grace-period")


# -- the bars ---------------------------------------------------------------------------------------------------


async def cluster() -> list:
    """One request, until its cluster is ready and has its first ServiceAccount."""
    from bench.bars import Limit, compared, take_turns

    async with _system() as made:
        value, floor = await take_turns("cluster", lambda _: _requested(made, 1), lambda _: _bare(made, 1))
    return [compared("cluster", value, floor, "s", Limit("≤ 1.2 ×", at_most=1.2))]


async def cluster_warm() -> list:
    """The same where one cluster is kept warm."""
    from bench.bars import Limit, compared, take_turns

    async with _system(warm=1) as made:
        value, floor = await take_turns("cluster-warm", lambda _: _requested(made, 1, warm=1), lambda _: _bare(made, 1))
    return [compared("cluster-warm", value, floor, "s", Limit("≤ 0.1 ×", at_most=0.1))]


async def cluster_8() -> list:
    """Eight requests at once; the floor: eight pairs at once."""
    from bench.bars import Limit, compared, take_turns

    async with _system() as made:
        value, floor = await take_turns("cluster-8", lambda _: _requested(made, MANY), lambda _: _bare(made, MANY))
    return [compared("cluster-8", value, floor, "s", Limit("≤ 1.2 ×", at_most=1.2))]


async def cluster_memory() -> list:
    """All processes of eight idle clusters, per cluster; the floor: idle kube-apiservers with default flags."""
    from bench.bars import Limit, compared

    async with _system() as made, _clients(made) as kube:
        names = await _ask(kube, MANY)
        clusters = await _all_ready(kube, names)
        async with contextlib.AsyncExitStack() as stack:
            floors = [await stack.enter_async_context(_default_api_server(made)) for _ in range(FLOORS)]
            await asyncio.sleep(IDLE)
            floor = statistics.median(map(_proportional_set, floors))
            total = sum(_proportional_set(pid) for one in clusters for pid in _pids(_plane(made, one)))
        await _give_back(kube, names)
    return [compared("cluster-memory", total / MANY, floor, "MB", Limit("≤ 1.3 ×, stretch 1.0 ×", at_most=1.3), runs=1)]


async def toy_provider() -> list:
    """Physical lines of the toy provider that passes conformance."""
    from bench.bars import Limit, Result

    lines, limit = len(_TOY.read_text().splitlines()), Limit("≤ 60 lines", at_most=60)
    return [Result("toy-provider", float(lines), "lines", None, None, limit.text, limit.holds(lines), 1)]


# -- the subject, from outside ----------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _system(*, warm: int = 0):
    """A landscape whose platform knows our kinds, one purpose and one configuration, and the process at work on it."""
    from bench.grounds import landscape

    async with landscape() as made:
        await _install(made, warm)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.providing", made.directory, stdout=asyncio.subprocess.PIPE
        )
        try:
            await asyncio.wait_for(process.stdout.readline(), 120)  # it works
            async with _clients(made) as kube:
                await _until_warm(kube, warm)
            yield made
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


async def _install(made, warm: int) -> None:
    from mooring.api.crds import definition_of, definitions
    from mooring.api.purposes import Purpose
    from mooring.api.traits import WORKERLESS
    from mooring.kube import typed
    from mooring.kube.definitions import install
    from mooring.providers.local import LocalConfig
    from mooring.testing.builders import NAMESPACES, an_object, namespace_object

    async with _clients(made) as kube:
        await install(kube, [*definitions(), definition_of(LocalConfig)])
        await kube.create(NAMESPACES, namespace_object(HOME))
        config = an_object(LocalConfig, "default", spec={"providerRef": {"name": "local"}})
        await kube.create(typed(LocalConfig), config)
        spec = {"dedicated": True, "traits": [{"trait": WORKERLESS}], "warm": warm}
        await kube.create(typed(Purpose), an_object(Purpose, "bench", spec=spec))


async def _requested(made, count: int, *, warm: int = 0) -> float:
    async with _clients(made) as kube:
        begun = time.perf_counter()
        names = await _ask(kube, count)
        clusters = await _all_ready(kube, names)
        await asyncio.gather(*(_first_fruit(_plane(made, one)) for one in clusters))
        took = time.perf_counter() - begun
        await _give_back(kube, names)
        await _until_warm(kube, warm)
        return took


async def _ask(kube, count: int) -> list[str]:
    from mooring.api.requests import ClusterRequest
    from mooring.kube import typed
    from mooring.testing.builders import cluster_request

    names = [f"request-{time.monotonic_ns()}-{number}" for number in range(count)]
    wanted = (cluster_request(name, NAMESPACE, purpose="bench") for name in names)
    await asyncio.gather(*(kube.create(typed(ClusterRequest), one) for one in wanted))
    return names


async def _all_ready(kube, names: list[str]) -> list:
    """The clusters of these requests, once all are ready."""
    from mooring.api.claims import claims_on
    from mooring.api.clusters import Cluster
    from mooring.kube import Changed, Relisted, typed, watching

    ready: dict[str, Cluster] = {}
    events = watching(kube, typed(Cluster))
    async with contextlib.aclosing(events):
        async for event in events:
            told = event.items if isinstance(event, Relisted) else [event.object] if isinstance(event, Changed) else []
            for one in filter(_is_ready, told):
                ready |= {claim.name: one for claim in claims_on(one.metadata) if claim.name in names}
            if len(ready) == len(names):
                return list(ready.values())
    raise SystemExit("the watch ended")


def _is_ready(one) -> bool:
    from mooring.api.conditions import READY, is_true

    return one.status is not None and is_true(one.status.conditions, READY)


async def _give_back(kube, names: list[str]) -> None:
    """Delete the requests, and wait until their clusters are gone."""
    from mooring.api.claims import claims_on
    from mooring.api.clusters import Cluster
    from mooring.api.requests import ClusterRequest
    from mooring.kube import typed

    for name in names:
        await kube.delete(typed(ClusterRequest), name, namespace=NAMESPACE)
    while True:
        clusters = (await kube.list(typed(Cluster))).items
        if not any(one.metadata.deleting or claims_on(one.metadata) for one in clusters):
            return
        await asyncio.sleep(0.2)


async def _until_warm(kube, warm: int) -> None:
    from mooring.api.clusters import Cluster
    from mooring.api.marks import WARM_LABEL
    from mooring.kube import typed

    while True:
        clusters = [one for one in (await kube.list(typed(Cluster))).items if WARM_LABEL in one.metadata.labels]
        if len(clusters) == warm and all(map(_is_ready, clusters)):
            return
        await asyncio.sleep(0.2)


@contextlib.asynccontextmanager
async def _clients(made):
    from mooring.kube import Client, connection_from_document

    async with Client(connection_from_document(made.admin_kubeconfig())) as kube:
        yield kube


def _plane(made, one):
    from mooring.controlplane.plane import identity_for

    return made.control_plane(identity_for(one.metadata.uid))


async def _first_fruit(plane) -> None:
    while not await plane.is_ready():
        await asyncio.sleep(0.01)


# -- the floors -------------------------------------------------------------------------------------------------


async def _bare(made, count: int) -> float:
    from bench.grounds import number_from
    from mooring.controlplane.plane import new_identity
    from mooring.providers.local.light import LIGHT_FLAGS

    planes = [made.control_plane(new_identity()) for _ in range(count)]
    try:
        for plane in planes:
            plane.api_server_flags = LIGHT_FLAGS
            plane.prepare()
            await made.etcd.add_tenant(plane.identity)
        log = planes[0].directory / "bare.log"
        file = planes[0].directory / "spec.json"
        file.write_text(json.dumps({"pairs": [_pair(plane) for plane in planes], "log": str(log)}))
        return await number_from(Path(__file__).with_name("bare_pairs.py"), file)
    finally:
        for plane in planes:
            await plane.delete()


def _pair(plane) -> dict:
    from bench.grounds import FIRST_FRUIT, admin_pem

    return {
        "programs": [[str(program.executable), *program.arguments] for program in plane.programs()],
        "port": plane.ports.api_server,
        "path": FIRST_FRUIT,
        "ca": str(plane.directory / "pki" / "ca.crt"),
        "certificate": str(admin_pem(plane, plane.directory / "admin.pem")),
    }


@contextlib.asynccontextmanager
async def _default_api_server(made):
    """A bare kube-apiserver on a new prefix, ready; its pid."""
    from mooring.controlplane.keeping import until_well
    from mooring.controlplane.plane import new_identity
    from mooring.controlplane.probes import Prober

    plane = made.control_plane(new_identity())
    try:
        plane.prepare()
        await made.etcd.add_tenant(plane.identity)
        program = plane.programs()[0]
        arguments = tuple(one for one in program.arguments if one.partition("=")[0][2:] not in _OURS)
        child = dataclasses.replace(program, arguments=arguments).start()
        prober = Prober(plane.ports.api_server, plane.ca, plane.admin_certificate())
        await until_well(lambda: prober.is_well("/readyz"), child, program)
        prober.close()
        yield child.pid
        await child.stop(grace=0)
        child.release()
    finally:
        await plane.delete()


def _pids(plane) -> list[int]:
    return [program.recorded().pid for program in plane.traces()]


def _proportional_set(pid: int) -> float:
    """In MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024


# -- the subject ------------------------------------------------------------------------------------------------


async def serve(directory: Path) -> None:
    """Scheduling and the local provider, until we are ended. The clusters' processes are the landscape's to stop."""
    import signal

    from bench.grounds import binaries
    from mooring.controlplane.landscape import Landscape
    from mooring.kube import connection_from_document
    from mooring.providers.local import LocalProvider
    from mooring.providers.sdk import add_provider
    from mooring.runtime import Manager
    from mooring.scheduling.controllers import add_scheduling

    landscape = Landscape("bench", directory, binaries())
    async with Manager(connection_from_document(landscape.admin_kubeconfig()), identity="bench") as manager:
        add_scheduling(manager, home=HOME)
        add_provider(manager, LocalProvider(landscape), name="local", environment="bench")
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.stop)
        running = asyncio.create_task(manager.run())
        await manager.until_working()
        print("working", flush=True)
        await running
    landscape.release()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
