"""Bars ``drain``, ``drain-cpu``, ``idle`` and ``cache-memory``: what the controller runtime costs.

The subjects are processes of their own: ``turning.py drain|raw|kopf|idle|memory KUBECONFIG [COUNT]``. The first three
give each of 2,000 ClusterRequests one status; they print objects per second and seconds of CPU.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path

COUNT, AT_ONCE = 2_000, 32
IDLE_COUNT, IDLE_SECONDS = 5_000, 60
MEMORY_COUNT = 50_000
_AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}


# -- the bars ---------------------------------------------------------------------------------------------------


async def drain() -> list:
    """The runtime drains 2,000 objects; floors: the raw client at the same concurrency, and kopf's CPU."""
    from bench.bars import RUNS, Limit, Result, compared
    from bench.grounds import landscape

    rates: dict[str, list[float]] = {"drain": [], "raw": [], "kopf": []}
    seconds: dict[str, list[float]] = {"drain": [], "raw": [], "kopf": []}
    async with landscape() as made:
        for turn in range(RUNS):
            sides = ["raw", "drain", "kopf"]
            for side in sides[turn % 3 :] + sides[: turn % 3]:
                rate, cpu = await _side(made, side)
                rates[side].append(rate)
                seconds[side].append(cpu)
            told = ", ".join(f"{side} {rates[side][-1]:.0f}/s {seconds[side][-1]:.2f} s" for side in rates)
            print(f"drain: turn {turn + 1} of {RUNS}: {told}", file=sys.stderr, flush=True)
    rate, cpu = _medians(rates), _medians(seconds)
    limit = Limit("≤ 1/4 of kopf's", at_most=0.25)
    ratio = cpu["drain"] / cpu["kopf"]
    return [
        compared("drain", rate["drain"], rate["raw"], "objects/s", Limit("≥ 0.75 of its rate", at_least=0.75)),
        Result("drain-cpu", cpu["drain"], "s", cpu["kopf"], ratio, limit.text, limit.holds(ratio), RUNS),
    ]


async def idle() -> list:
    """5,000 objects watched for a minute: API requests but watches and the lease, and CPU."""
    from bench.bars import Limit, Result
    from bench.grounds import landscape
    from mooring.controlplane.plane import new_identity

    async with landscape() as made:
        plane = made.control_plane(new_identity())
        try:
            plane.prepare()
            policy, audit = plane.directory / "audit-policy.json", plane.directory / "audit.log"
            policy.write_text(json.dumps(_AUDIT))
            plane.api_server_flags = {"audit-policy-file": str(policy), "audit-log-path": str(audit)}
            await plane.start()
            await _fill(plane, IDLE_COUNT)
            answer = await _answer(plane, "idle")
        finally:
            stray = _stray_requests(audit) if audit.exists() else -1
            await plane.delete()
    limit = Limit("0 requests, ≤ 1 % of a core", at_most=1.0)
    print(f"idle: {stray} requests beside watches and the lease", file=sys.stderr)
    return [
        Result("idle", answer["cpu"], "% CPU", None, None, limit.text, limit.holds(answer["cpu"]) and stray == 0, 1)
    ]


async def cache_memory() -> list:
    """50,000 ClusterRequests of 1 KB cached and indexed: KB per object resident, and the peak of a relist."""
    from bench.bars import Limit, Result
    from bench.grounds import fresh_plane, landscape

    async with landscape() as made, fresh_plane(made) as plane:
        await _fill(plane, MEMORY_COUNT)
        answer = await _answer(plane, "memory", str(MEMORY_COUNT))
    limit = Limit("≤ 2.5 KB, peak ≤ 2 ×", at_most=2.5)
    told = f"cache-memory: resident {answer['resident']:.2f} KB, peak of a relist {answer['peak']:.2f} × that"
    print(told, file=sys.stderr)
    holds = limit.holds(answer["resident"]) and answer["peak"] <= 2.0
    return [Result("cache-memory", answer["resident"], "KB/object", None, answer["peak"], limit.text, holds, 1)]


async def _side(made, side: str) -> tuple[float, float]:
    from bench.grounds import fresh_plane

    async with fresh_plane(made) as plane:
        await _fill(plane, COUNT)
        answer = await _answer(plane, side)
        return answer["rate"], answer["cpu"]


async def _answer(plane, *argv: str) -> dict:
    file = plane.directory / "bench.kubeconfig"
    file.write_text(json.dumps(plane.admin_kubeconfig(name="bench")))
    side, *rest = argv
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.turning", side, file, *rest, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"{argv} failed")
    return json.loads(output.splitlines()[-1])


async def _fill(plane, count: int) -> None:
    """The definitions, the lease's namespace, and so many ClusterRequests of about 1 KB."""
    from mooring.api.crds import definitions
    from mooring.app.installing import install
    from mooring.kube import Client, connection_from_document, untyped
    from mooring.testing.builders import NAMESPACES, namespace_object

    requests = untyped(
        group="clusters.openmcp.cloud", version="v1alpha1", plural="clusterrequests", kind="ClusterRequest"
    )
    async with Client(connection_from_document(plane.admin_kubeconfig(name="bench"))) as kube:
        await install(kube, definitions())
        await kube.create(NAMESPACES, namespace_object("mooring-system"))
        numbers = iter(range(count))

        async def work() -> None:
            for number in numbers:
                await kube.create(requests, request(number))

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def request(number: int) -> dict:
    return {
        "apiVersion": "clusters.openmcp.cloud/v1alpha1",
        "kind": "ClusterRequest",
        "metadata": {
            "name": f"request-{number}",
            "namespace": "default",
            "labels": {"team": f"team-{number % 100}", "app.kubernetes.io/managed-by": "bench"},
            "annotations": {"example.com/contact": f"team-{number % 100}@example.com", "example.com/note": "x" * 180},
        },
        "spec": {"purpose": f"purpose-{number % 10}", "traits": [{"trait": "example.com/fast"}], "dedicated": False},
    }


def _stray_requests(audit: Path) -> int:
    """What our own agent asked for after it had settled, but for watches and the lease."""
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    ours = [one for one in lines if "mooring-idle" in one.get("userAgent", "") and one["stage"] == "ResponseComplete"]
    settled = [one for one in lines if one.get("objectRef", {}).get("name") == "settled" and one["verb"] == "create"]
    since = settled[0]["requestReceivedTimestamp"] if settled else ""
    later = [one for one in ours if one["requestReceivedTimestamp"] > since]
    return sum(one["verb"] != "watch" and one["objectRef"]["resource"] != "leases" for one in later)


def _medians(figures: dict[str, list[float]]) -> dict[str, float]:
    from statistics import median

    return {side: median(values) for side, values in figures.items()}


# -- the subjects -----------------------------------------------------------------------------------------------


def _connection(file: str):
    from mooring.kube import connection_from_document

    return connection_from_document(json.loads(Path(file).read_text()))


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def drain_side(file: str) -> dict:
    import msgspec.structs

    from mooring.api.requests import ClusterRequest, ClusterRequestStatus
    from mooring.kube import typed
    from mooring.runtime import Controller, LeaseSettings, Manager, Outcome, Source, Writer

    resource_ = typed(ClusterRequest)
    async with Manager(_connection(file), identity="bench", lease=LeaseSettings()) as manager:
        store = manager.store(resource_)
        writer = Writer(manager.client, resource_, store)
        left = COUNT

        class Grants:
            async def reconcile(self, key):
                nonlocal left
                seen = store.get(key)
                if seen is None or seen.status is not None:
                    return Outcome.await_change()
                status = ClusterRequestStatus(observed_generation=seen.metadata.generation, phase="Granted")
                await writer.save(seen, msgspec.structs.replace(seen, status=status))
                left -= 1
                if not left:
                    manager.stop()
                return Outcome.await_change()

        manager.add(Controller("grants", Grants(), [Source(store=store)], workers=AT_ONCE))
        begun, cpu = time.perf_counter(), _cpu()
        await manager.run()
        return {"rate": COUNT / (time.perf_counter() - begun), "cpu": _cpu() - cpu}


async def raw_side(file: str) -> dict:
    from mooring.kube import Client, MergePatch, untyped

    requests = untyped(
        group="clusters.openmcp.cloud", version="v1alpha1", plural="clusterrequests", kind="ClusterRequest"
    )
    async with Client(_connection(file)) as kube:
        names = [one["metadata"]["name"] for one in (await kube.list(requests)).items]
        patch = MergePatch({"status": {"observedGeneration": 1, "phase": "Granted"}})
        begun, cpu, left = time.perf_counter(), _cpu(), iter(names)

        async def work() -> None:
            for name in left:
                await kube.patch(requests, name, patch, namespace="default", subresource="status")

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return {"rate": len(names) / (time.perf_counter() - begun), "cpu": _cpu() - cpu}


def kopf_side(file: str) -> dict:
    """The same task in kopf, as its documentation would have it done."""
    import logging
    import threading

    import kopf

    logging.disable(logging.WARNING)
    os.environ["KUBECONFIG"] = file
    stop, seen, answer = threading.Event(), set(), {}

    @kopf.on.startup()
    def configure(settings: kopf.OperatorSettings, **_: object) -> None:
        settings.posting.enabled = False

    @kopf.on.login()
    def login(**given: object) -> object:
        return kopf.login_with_kubeconfig(**given)

    @kopf.on.create("clusters.openmcp.cloud", "v1alpha1", "clusterrequests")
    async def grant(patch: kopf.Patch, meta: dict, **_: object) -> None:
        patch.status["observedGeneration"] = meta["generation"]
        patch.status["phase"] = "Granted"

    @kopf.on.event("clusters.openmcp.cloud", "v1alpha1", "clusterrequests")
    async def count(status: dict, name: str, **_: object) -> None:
        if status.get("phase") == "Granted":
            seen.add(name)
            if len(seen) == COUNT and not answer:
                # Its way of stopping takes seconds and is not what is measured.
                answer.update(rate=COUNT / (time.perf_counter() - begun), cpu=_cpu() - cpu)
                stop.set()

    begun, cpu = time.perf_counter(), _cpu()
    kopf.run(clusterwide=True, standalone=True, stop_flag=stop)
    return answer


async def idle_side(file: str) -> dict:
    from mooring.api.requests import ClusterRequest
    from mooring.kube import Client, typed
    from mooring.runtime import Controller, LeaseSettings, Manager, Outcome, Source
    from mooring.testing.builders import CONFIG_MAPS, config_map

    class Nothing:
        async def reconcile(self, _key):
            return Outcome.await_change()

    async with (
        Manager(_connection(file), identity="bench", lease=LeaseSettings(), user_agent="mooring-idle") as manager,
        Client(_connection(file)) as other,
    ):
        store = manager.store(typed(ClusterRequest), indexes={"purpose": lambda one: (one.spec.purpose,)})
        manager.add(Controller("idle", Nothing(), [Source(store=store)]))
        running = asyncio.create_task(manager.run())
        await _until(lambda: manager.working and len(store) == IDLE_COUNT)
        await asyncio.sleep(2)
        await other.create(CONFIG_MAPS, config_map("settled", "default"))
        begun, cpu = time.perf_counter(), _cpu()
        await asyncio.sleep(IDLE_SECONDS)
        share = 100 * (_cpu() - cpu) / (time.perf_counter() - begun)
        manager.stop()
        await running
        return {"cpu": share}


async def memory_side(file: str, count: int) -> dict:
    from mooring.api.requests import ClusterRequest
    from mooring.kube import Relisted, typed
    from mooring.runtime import Manager

    requests = typed(ClusterRequest)
    async with Manager(_connection(file), identity="bench") as manager:
        indexes = {
            "purpose": lambda one: (one.spec.purpose,),
            "team": lambda one: (one.metadata.labels.get("team", ""),),
        }
        store = manager.store(requests, indexes=indexes)
        await manager.client.list(
            requests, page=10, namespace="kube-system"
        )  # what a first call brings in is not cache
        gc.collect()
        before = _resident()
        running = asyncio.create_task(manager.run())
        await _until(lambda: store.synced)
        assert len(store) == count, len(store)
        gc.collect()
        after = _resident()
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
        listing = await manager.client.list(requests, whole=False, known=store.get)  # as the manager's watch does it
        store.apply(Relisted(listing.items, listing.resource_version))
        peak = _peak()
        manager.stop()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        return {"resident": (after - before) / count, "peak": (peak - before) / (after - before)}


async def _until(condition) -> None:
    while not condition():
        await asyncio.sleep(0.1)


def _resident() -> int:
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise LookupError(name)


def main(side: str, file: str, *rest: str) -> dict:
    import structlog
    import uvloop

    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    if side == "kopf":
        return kopf_side(file)
    if side == "memory":
        return uvloop.run(memory_side(file, int(rest[0])))
    sides = {"drain": drain_side, "raw": raw_side, "idle": idle_side}
    return uvloop.run(sides[side](file))


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
