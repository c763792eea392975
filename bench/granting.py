"""Bars ``grant``, ``grant-shared``, ``grant-calls``, ``grant-latency`` and ``grant-memory``: what an answer costs.

The subjects are processes of their own: ``granting.py schedule|raw|serve|memory KUBECONFIG``. The first two answer
2,000 requests that are there, and print answers per second: scheduling by deciding, the raw client by the same four
writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
from pathlib import Path

COUNT, AT_ONCE, SEATS = 2_000, 32, 20
SAMPLES = 30
MANY_REQUESTS, MANY_CLUSTERS = 20_000, 10_000
NAMESPACE = "default"


# -- the bars ---------------------------------------------------------------------------------------------------


async def grant() -> list:
    """2,000 requests answered: dedicated, shared with 20 seats, and the floor."""
    from bench.bars import RUNS, Limit, Result, compared
    from bench.grounds import landscape

    rates: dict[str, list[float]] = {"raw": [], "dedicated": [], "shared": []}
    clusters: list[int] = []
    async with landscape() as made:
        for turn in range(RUNS):
            sides = list(rates)
            for side in sides[turn % 3 :] + sides[: turn % 3]:
                answer = await _side(made, side)
                rates[side].append(answer["rate"])
                if side == "shared":
                    clusters.append(answer["clusters"])
            told = ", ".join(f"{side} {rates[side][-1]:.0f}/s" for side in rates)
            told += f", {clusters[-1]} shared clusters"
            print(f"grant: turn {turn + 1} of {RUNS}: {told}", file=sys.stderr, flush=True)
    floor, own, shared = (statistics.median(rates[side]) for side in ("raw", "dedicated", "shared"))
    packed = all(count == COUNT // SEATS for count in clusters)
    ratio, limit = shared / floor, Limit("≥ 0.4 of its rate, 100 clusters", at_least=0.4)
    return [
        compared("grant", own, floor, "grants/s", Limit("≥ 0.6 of its rate", at_least=0.6)),
        Result("grant-shared", shared, "grants/s", floor, ratio, limit.text, limit.holds(ratio) and packed, RUNS),
    ]


async def grant_calls() -> list:
    """API requests per answer on a running system, by the server's own count: 2,000 dedicated requests at once."""
    from bench.bars import Result
    from bench.grounds import fresh_plane, landscape

    async with landscape() as made, fresh_plane(made) as plane:
        await _rules(plane)
        await _collected(plane)
        async with _process(plane, "serve") as serving:
            await asyncio.wait_for(serving.stdout.readline(), 60)  # it works
            before = await _calls(plane)
            await _each(plane, [_request(number, "dedicated") for number in range(COUNT)], "clusterrequests")
            await asyncio.wait_for(serving.stdout.readline(), 600)  # all are granted, and all is told
            # The requests themselves were created by somebody else.
            each = (await _calls(plane) - before) / COUNT - 1
    return [Result("grant-calls", each, "calls", 4.0, each / 4, "≤ 5 in all", each <= 5, 1)]


async def _collected(plane) -> None:
    """Wait until the server's garbage collector knows our kinds: it asks for each owner that it has not seen yet."""
    from mooring.kube import Client
    from mooring.kube.errors import NotFound

    owner = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest", "name": "nobody", "uid": "none"}
    home = {"name": "nothing", "namespace": NAMESPACE}
    body = _body("clusterrequestgrants", "orphan", metadata={"ownerReferences": [owner]}, spec={"clusterRef": home})
    async with Client(_connection_of(plane)) as kube:
        await kube.create(_plain("clusterrequestgrants"), body)
        with contextlib.suppress(NotFound):
            while True:
                await kube.get(_plain("clusterrequestgrants"), "orphan", namespace=NAMESPACE)
                await asyncio.sleep(0.5)


async def grant_latency() -> list:
    """One request on an idle system, until it is Granted; the floor: the same four writes, one after another."""
    from bench.bars import Limit, compared
    from bench.grounds import fresh_plane, landscape

    async with landscape() as made, fresh_plane(made) as plane:
        await _rules(plane)
        async with _process(plane, "serve") as serving:
            await asyncio.wait_for(serving.stdout.readline(), 60)  # it works
            subject, floor = await _latencies(plane)
            serving.terminate()
    limit = Limit("≤ 1.5 ×", at_most=1.5)
    return [compared("grant-latency", subject * 1_000, floor * 1_000, "ms", limit, runs=SAMPLES)]


async def grant_memory() -> list:
    """The controllers' process with 20,000 answered requests, their Grants, and 10,000 clusters of 2 KB."""
    from bench.bars import Limit, Result
    from bench.grounds import fresh_plane, landscape

    async with landscape() as made, fresh_plane(made) as plane:
        await _rules(plane)
        await _fill_world(plane)
        answer = await _answer(plane, "memory")
    limit = Limit("≤ 300 MB", at_most=300)
    value = answer["resident"] / 1024
    return [Result("grant-memory", value, "MB", None, None, limit.text, limit.holds(value), 1)]


async def _side(made, side: str) -> dict:
    from bench.grounds import fresh_plane

    async with fresh_plane(made) as plane:
        await _rules(plane)
        purpose = "shared" if side == "shared" else "dedicated"
        await _each(plane, [_request(number, purpose) for number in range(COUNT)], "clusterrequests")
        answer = await _answer(plane, "raw" if side == "raw" else "schedule")
        answer["clusters"] = await _count(plane, "clusters")
        return answer


async def _latencies(plane) -> tuple[float, float]:
    from mooring.api.requests import ClusterRequest
    from mooring.kube import Changed, Client, typed, watching

    subject, floor = [], []
    async with Client(_connection_of(plane)) as kube:
        events = watching(kube, typed(ClusterRequest), namespace=NAMESPACE)
        async with contextlib.aclosing(events):
            await anext(events)
            for number in range(SAMPLES):
                made = await kube.create(_plain("clusterrequests"), _request(number, "dedicated"))
                begun = time.perf_counter()
                async for event in events:
                    thing = event.object if isinstance(event, Changed) else None
                    ours = thing is not None and thing.metadata.name == made["metadata"]["name"]
                    if ours and thing.status is not None and thing.status.phase == "Granted":
                        break
                subject.append(time.perf_counter() - begun)
                await asyncio.sleep(0.2)  # an idle system: what is told after the answer has been told
                left_alone = _request(number + SAMPLES, "dedicated")
                left_alone["metadata"]["annotations"] = {"openmcp.cloud/operation": "ignore"}
                bare = await kube.create(_plain("clusterrequests"), left_alone)
                await asyncio.sleep(0.2)
                begun = time.perf_counter()
                await _four_writes(kube, bare)
                floor.append(time.perf_counter() - begun)
                await asyncio.sleep(0.2)
    return statistics.median(subject), statistics.median(floor)


# -- what they stand on -----------------------------------------------------------------------------------------


def _plain(plural: str):
    from mooring.kube import untyped

    kinds = {
        "clusterrequests": "ClusterRequest",
        "clusters": "Cluster",
        "clusterrequestgrants": "ClusterRequestGrant",
        "purposes": "Purpose",
        "clusterprofiles": "ClusterProfile",
    }
    namespaced = plural not in ("purposes", "clusterprofiles")
    return untyped(
        group="clusters.openmcp.cloud", version="v1alpha1", plural=plural, kind=kinds[plural], namespaced=namespaced
    )


def _body(plural: str, name: str, **parts) -> dict:
    resource = _plain(plural)
    metadata = {"name": name} | ({"namespace": NAMESPACE} if resource.namespaced else {})
    return {
        "apiVersion": "clusters.openmcp.cloud/v1alpha1",
        "kind": resource.kind,
        "metadata": metadata | parts.pop("metadata", {}),
        **parts,
    }


def _request(number: int, purpose: str) -> dict:
    return _body("clusterrequests", f"request-{number}", spec={"purpose": purpose})


def _connection_of(plane):
    from mooring.kube import connection_from_document

    return connection_from_document(plane.admin_kubeconfig(name="bench"))


async def _rules(plane) -> None:
    """The definitions, two purposes, and some profiles; no provider works on what is made."""
    from mooring.api.crds import definitions
    from mooring.app.installing import install
    from mooring.kube import Client
    from mooring.testing.builders import NAMESPACES, namespace_object

    async with Client(_connection_of(plane)) as kube:
        await install(kube, definitions())
        await kube.create(NAMESPACES, namespace_object("mooring-system"))
        await kube.create(_plain("purposes"), _body("purposes", "dedicated", spec={"dedicated": True}))
        shared = {"dedicated": False, "tenancyCount": SEATS}
        await kube.create(_plain("purposes"), _body("purposes", "shared", spec=shared))
        for number in range(10):
            spec = {
                "providerRef": {"name": "nobody"},
                "providerConfigRef": {"name": f"config-{number}"},
                "supportedVersions": [{"version": f"1.33.{number}"}],
            }
            await kube.create(_plain("clusterprofiles"), _body("clusterprofiles", f"profile-{number}", spec=spec))


async def _each(plane, bodies: list[dict], plural: str, *, status: bool = False) -> None:
    from mooring.kube import Client, MergePatch

    left = iter(bodies)
    async with Client(_connection_of(plane)) as kube:

        async def work() -> None:
            for body in left:
                await kube.create(_plain(plural), body)
                if status:
                    patch = MergePatch({"status": body["status"]})
                    name = body["metadata"]["name"]
                    await kube.patch(_plain(plural), name, patch, namespace=NAMESPACE, subresource="status")

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def _fill_world(plane) -> None:
    """Two answered requests on each of 10,000 shared clusters."""
    from mooring.kube import Client

    status = {"observedGeneration": 1, "phase": "Granted", "reason": "Granted", "message": "x" * 60}
    bodies = []
    for number in range(MANY_REQUESTS):
        body = _request(number, "shared")
        home = {"name": f"cluster-{number // 2}", "namespace": NAMESPACE}
        body["metadata"]["finalizers"] = ["clusters.openmcp.cloud/request"]
        body["status"] = {**status, "cluster": home}
        bodies.append(body)
    await _each(plane, bodies, "clusterrequests", status=True)
    async with Client(_connection_of(plane)) as kube:
        requests = {
            one["metadata"]["name"]: one["metadata"] for one in (await kube.list(_plain("clusterrequests"))).items
        }
    grants, clusters = [], []
    for number in range(MANY_CLUSTERS):
        metadata = {"finalizers": [], "annotations": {"example.com/note": "x" * 1_000}, "labels": {"team": "a"}}
        for name in (f"request-{2 * number}", f"request-{2 * number + 1}"):
            mark = f"request.clusters.openmcp.cloud/{requests[name]['uid']}"
            prefix = f"p{name}-"
            metadata["finalizers"].append(mark)
            words = {"namespace": NAMESPACE, "name": name, "prefix": prefix}
            metadata["annotations"][mark] = json.dumps(words, separators=(",", ":"))
            owner = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest", "name": name}
            home = {"name": f"cluster-{number}", "namespace": NAMESPACE}
            grants.append(
                _body(
                    "clusterrequestgrants",
                    name,
                    metadata={"ownerReferences": [{**owner, "uid": requests[name]["uid"], "controller": True}]},
                    spec={"clusterRef": home, "prefix": prefix},
                    status={
                        "request": {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"purpose": "shared"}}
                    },
                )
            )
        spec = {
            "profile": "profile-0",
            "tenancy": "Shared",
            "purposes": ["shared"],
            "kubernetes": {"version": "1.33.0"},
        }
        clusters.append(_body("clusters", f"cluster-{number}", metadata=metadata, spec=spec))
    await _each(plane, grants, "clusterrequestgrants")
    await _each(plane, clusters, "clusters")


async def _count(plane, plural: str) -> int:
    from mooring.kube import Client

    async with Client(_connection_of(plane)) as kube:
        return len((await kube.list(_plain(plural))).items)


async def _calls(plane) -> float:
    """API requests for our kinds and for events so far, by the server's own count; watches do not count."""
    from mooring.kube import Client

    total = 0.0
    async with Client(_connection_of(plane)) as kube:
        text = await kube.raw("GET", "/metrics")
    for line in text.decode().splitlines():
        counted = line.startswith("apiserver_request_total{") and 'verb="WATCH"' not in line
        if counted and ("openmcp.cloud" in line or 'resource="events"' in line):
            total += float(line.rsplit(" ", 1)[1])
    return total


@contextlib.asynccontextmanager
async def _process(plane, side: str):
    file = plane.directory / "bench.kubeconfig"
    file.write_text(json.dumps(plane.admin_kubeconfig(name="bench")))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.granting", side, file, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _answer(plane, side: str) -> dict:
    async with _process(plane, side) as process:
        output = await process.stdout.read()
        if await process.wait():
            raise SystemExit(f"{side} failed")
    return json.loads(output.splitlines()[-1])


# -- the subjects -----------------------------------------------------------------------------------------------


def _connection(file: str):
    from mooring.kube import connection_from_document

    return connection_from_document(json.loads(Path(file).read_text()))


async def schedule_side(file: str) -> dict:
    """All that ``mooring run`` schedules with, until every request is Granted."""
    async with _scheduler(file) as (manager, done):
        begun = time.perf_counter()
        running = asyncio.create_task(manager.run())
        await done.wait()
        rate = COUNT / (time.perf_counter() - begun)
        manager.stop()
        await running
        return {"rate": rate}


@contextlib.asynccontextmanager
async def _scheduler(file: str):
    """A manager with scheduling, and an event that is set when so many requests are Granted."""
    from mooring.api.requests import ClusterRequest
    from mooring.kube import typed
    from mooring.runtime import Manager
    from mooring.scheduling.controllers import add_scheduling

    async with Manager(_connection(file), identity="bench") as manager:
        add_scheduling(manager)
        granted: set[str] = set()
        done = asyncio.Event()

        def count(change) -> None:
            if change.after is not None and change.after.status is not None and change.after.status.phase == "Granted":
                granted.add(change.after.metadata.name)
                if len(granted) == COUNT:
                    done.set()

        manager.store(typed(ClusterRequest)).subscribe(count)
        yield manager, done


async def raw_side(file: str) -> dict:
    from mooring.kube import Client

    async with Client(_connection(file)) as kube:
        begun = time.perf_counter()
        requests = iter((await kube.list(_plain("clusterrequests"))).items)

        async def work() -> None:
            for request in requests:
                await _four_writes(kube, request)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return {"rate": COUNT / (time.perf_counter() - begun)}


async def _four_writes(kube, request: dict) -> None:
    """What a grant must write, with bodies of the same size."""
    from mooring.kube import MergePatch

    name, uid = request["metadata"]["name"], request["metadata"]["uid"]
    home = {"name": f"dedicated-{name}", "namespace": NAMESPACE}
    finalizers = MergePatch({"metadata": {"finalizers": ["clusters.openmcp.cloud/request"], "uid": uid}})
    await kube.patch(_plain("clusterrequests"), name, finalizers, namespace=NAMESPACE)
    mark = f"request.clusters.openmcp.cloud/{uid}"
    words = json.dumps({"namespace": NAMESPACE, "name": name, "prefix": ""})
    spec = {
        "profile": "profile-9",
        "tenancy": "Exclusive",
        "purposes": ["dedicated"],
        "kubernetes": {"version": "1.33.9"},
    }
    labels = {"clusters.openmcp.cloud/delete-without-requests": "true"}
    metadata = {"finalizers": [mark], "annotations": {mark: words}, "labels": labels}
    await kube.create(_plain("clusters"), _body("clusters", home["name"], metadata=metadata, spec=spec))
    owner = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest", "name": name, "uid": uid}
    await kube.create(
        _plain("clusterrequestgrants"),
        _body(
            "clusterrequestgrants",
            name,
            metadata={"ownerReferences": [{**owner, "controller": True}]},
            spec={"clusterRef": home},
            status={"request": {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": request["spec"]}},
        ),
    )
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "ClusterNotReady",
        "message": f"The cluster {NAMESPACE}/{home['name']} has not been made yet.",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    status = {
        "observedGeneration": 1,
        "phase": "Granted",
        "reason": "Granted",
        "message": f"The cluster {NAMESPACE}/{home['name']} was granted.",
        "lastReconcileTime": "2026-01-01T00:00:00Z",
        "cluster": home,
        "conditions": [condition],
    }
    patch = MergePatch({"status": status})
    await kube.patch(_plain("clusterrequests"), name, patch, namespace=NAMESPACE, subresource="status")


async def serve_side(file: str) -> dict:
    """Schedule until killed; say when it works, and when all is granted and told."""
    async with _scheduler(file) as (manager, done):
        running = asyncio.create_task(manager.run())
        await manager.until_working()
        print("working", flush=True)
        await done.wait()
        await manager.recorder.flush()
        print("granted", flush=True)
        await running
    return {}


async def memory_side(file: str) -> dict:
    """The whole process of ``mooring run``, once it has looked at everything."""
    from bench.turning import _resident
    from mooring.app.wiring import wired

    async with wired(_connection(file), election=False) as manager:
        running = asyncio.create_task(manager.run())
        await manager.until_working()
        while any(controller.busy for controller in manager.controllers):
            await asyncio.sleep(0.2)
        resident = _resident()
        manager.stop()
        await running
    return {"resident": resident}


def main(side: str, file: str) -> dict:
    import structlog
    import uvloop

    structlog.configure(
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(30),
    )
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sides = {"schedule": schedule_side, "raw": raw_side, "serve": serve_side, "memory": memory_side}
    return uvloop.run(sides[side](file))


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
