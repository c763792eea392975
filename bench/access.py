"""Bars ``access``, ``access-latency``, ``access-calls``, ``access-renewal`` and ``revoke``: what entering costs.

The subjects are processes of their own, ``access.py grant|raw|serve PLATFORM TARGET`` with two kubeconfigs: preparation
and granting in one manager, for a cluster that is another server; and a raw client that does the same writes.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import statistics
import sys
import time
import uuid
from collections import Counter
from pathlib import Path

COUNT, AT_ONCE, SAMPLES, REVOKED = 500, 32, 30, 5
TOKENS, HOURS = 5_000, 24
NAMESPACE, ACCOUNTS, CLUSTER, CONFIG, PROVIDER = "default", "accessrequests", "one", "house", "gate"
PROFILE = f"bench.{PROVIDER}.{CONFIG}"
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
_LABELS = {"clusters.openmcp.cloud/provider": PROVIDER, "clusters.openmcp.cloud/profile": PROFILE}


# -- the bars ---------------------------------------------------------------------------------------------------


async def access() -> list:
    """500 requests for a token for one cluster, all granted; the floor: the same writes by a raw client."""
    from bench.bars import Limit, compared, take_turns
    from bench.grounds import landscape

    async with landscape() as made:
        value, floor = await take_turns("access", lambda _: _rate(made, "grant"), lambda _: _rate(made, "raw"))
    return [compared("access", value, floor, "grants/s", Limit("≥ 0.5 of its rate", at_least=0.5))]


async def access_latency() -> list:
    """One request on an idle system, until its kubeconfig opens the cluster; the floor: the same writes in turn."""
    from bench.bars import Limit, compared

    async with _served() as (platform, target):
        subject, floor = await _latencies(platform, target)
    limit = Limit("≤ 1.5 ×", at_most=1.5)
    return [compared("access-latency", subject * 1_000, floor * 1_000, "ms", limit, runs=SAMPLES)]


async def access_calls() -> list:
    """API requests per grant on a running system, by the servers' own count."""
    from bench.bars import Result

    async with _served() as (platform, target):
        await _collected(platform)
        await _create(platform, [_request("first")])
        await _all_granted(platform, 1)
        before = await _calls(platform, "platform"), await _calls(target, "target")
        await _create(platform, [_request(f"request-{number}") for number in range(COUNT)])
        await _all_granted(platform, COUNT + 1)
        await asyncio.sleep(2)  # what is told after the answer has been told
        after = await _calls(platform, "platform"), await _calls(target, "target")
    # The requests themselves were created by somebody else.
    here, there = (after[0] - before[0]) / COUNT - 1, (after[1] - before[1]) / COUNT
    print(f"access-calls: {here:.2f} on the platform, {there:.2f} in the target", file=sys.stderr, flush=True)
    holds = here <= 4.02 and there <= 5.02  # a renewed list here and there is nobody's
    return [Result("access-calls", here + there, "calls", 9.0, (here + there) / 9, "≤ 4 here, 5 there", holds, 1)]


async def access_renewal() -> list:
    """5,000 tokens of an hour, issued at once: how many are due in the busiest minute, when time has passed.

    What is added up is when the rule has them due, each from the one before; nobody grants, and nobody queues. A queue
    only makes it later for those who come together, which smooths what is seen here.
    """
    from bench.bars import RUNS, Limit, compared

    busiest, means = zip(*(_renewals(seed) for seed in range(RUNS)), strict=True)
    value, mean = statistics.median(busiest), statistics.median(means)
    return [compared("access-renewal", value, mean, "a minute", Limit("≤ 3 ×", at_most=3.0))]


def _renewals(seed: int) -> tuple[float, float]:
    """From the third cycle on: the most in a minute, and the mean."""
    from mooring.entry.renewing import renewal_due

    begins, ends, life = 3 * 0.7 * 3600.0, HOURS * 3600.0, 3600.0
    minutes: Counter[int] = Counter()
    for number in range(TOKENS):
        now, uid = 0.0, str(uuid.uuid5(uuid.NAMESPACE_OID, f"{seed}-{number}"))
        while (now := renewal_due(uid, created=now, expires=now + life)) < ends:
            minutes[int(now // 60)] += now >= begins
    return max(minutes.values()), minutes.total() / ((ends - begins) / 60)


async def revoke() -> list:
    """From the word to revoke until the cluster refuses the token, which it has just seen; the slowest of some."""
    from bench.bars import Limit, Result

    async with _served() as (platform, target):
        seen = [await _revoked(platform, target, f"request-{number}") for number in range(REVOKED)]
    print(f"revoke: {', '.join(f'{one:.1f}' for one in seen)} s", file=sys.stderr, flush=True)
    limit = Limit("≤ 15 s", at_most=15.0)
    return [Result("revoke", max(seen), "s", None, None, limit.text, limit.holds(max(seen)), REVOKED)]


# -- what they stand on -----------------------------------------------------------------------------------------


async def _rate(made, side: str) -> float:
    from bench.grounds import fresh_plane

    async with fresh_plane(made) as platform, fresh_plane(made) as target:
        await _furnish(platform, target)
        await _create(platform, [_request(f"request-{number}") for number in range(COUNT)])
        async with _process(platform, target, side) as process:
            output = await process.stdout.read()
            if await process.wait():
                raise SystemExit(f"{side} failed")
    return float(output.split()[-1])


@contextlib.asynccontextmanager
async def _served():
    """A platform and a cluster, with somebody who grants."""
    from bench.grounds import fresh_plane, landscape

    async with landscape() as made, fresh_plane(made) as platform, fresh_plane(made) as target:
        await _furnish(platform, target)
        async with _process(platform, target, "serve") as process:
            await asyncio.wait_for(process.stdout.readline(), 60)  # it works
            yield platform, target


async def _furnish(platform, target) -> None:
    """The definitions, a configuration, and a Cluster that its provider will find ready."""
    from bench.gatehouse import Gatehouse
    from mooring.api.crds import definitions
    from mooring.kube import Client
    from mooring.kube.definitions import install
    from mooring.testing.providing import install_kinds

    configs = _plain("gate.mooring.dev", "gateconfigs", "GateConfig", namespaced=False)
    async with Client(_connection_of(platform)) as kube, Client(_connection_of(target)) as there:
        await install(kube, definitions())
        await install_kinds(kube, Gatehouse)
        metadata = {"apiVersion": "gate.mooring.dev/v1alpha1", "kind": "GateConfig", "metadata": {"name": CONFIG}}
        await kube.create(configs, {**metadata, "spec": {"providerRef": {"name": PROVIDER}}})
        spec = {"profile": PROFILE, "tenancy": "Exclusive", "purposes": ["bench"]}
        await kube.create(_ours("clusters"), _body("clusters", CLUSTER, spec=spec))
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ACCOUNTS}}
        await there.create(_plain("", "namespaces", "Namespace", namespaced=False), namespace)


def _plain(group: str, plural: str, kind: str, *, namespaced: bool = True):
    from mooring.kube import untyped

    version = "v1" if group in ("", "rbac.authorization.k8s.io") else "v1alpha1"
    return untyped(group=group, version=version, plural=plural, kind=kind, namespaced=namespaced)


def _ours(plural: str):
    kinds = {"accessrequests": "AccessRequest", "clusters": "Cluster"}
    return _plain("clusters.openmcp.cloud", plural, kinds[plural])


def _secrets():
    return _plain("", "secrets", "Secret")


def _body(plural: str, name: str, **parts) -> dict:
    kind = _ours(plural).kind
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": kind, "metadata": metadata, **parts}


def _request(name: str) -> dict:
    home = {"name": CLUSTER, "namespace": NAMESPACE}
    return _body("accessrequests", name, spec={"clusterRef": home, "token": {"permissions": [{"rules": RULES}]}})


def _connection_of(plane):
    from mooring.kube import connection_from_document

    return connection_from_document(plane.admin_kubeconfig(name="bench"))


async def _create(platform, bodies: list[dict]) -> None:
    from mooring.kube import Client

    left = iter(bodies)
    async with Client(_connection_of(platform)) as kube:

        async def work() -> None:
            for body in left:
                await kube.create(_ours("accessrequests"), body)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def _all_granted(platform, count: int) -> None:
    """Watches, because a list would count."""
    from mooring.api.access import AccessRequest
    from mooring.kube import Changed, Client, Relisted, typed, watching

    granted: set[str] = set()
    async with (
        Client(_connection_of(platform)) as kube,
        contextlib.aclosing(watching(kube, typed(AccessRequest), namespace=NAMESPACE)) as events,
    ):
        async for event in events:
            things = event.items if isinstance(event, Relisted) else []
            things = [event.object] if isinstance(event, Changed) else things
            granted |= {one.metadata.name for one in things if one.status and one.status.phase == "Granted"}
            if len(granted) >= count:
                return


async def _collected(platform) -> None:
    """Wait until the server's garbage collector knows our kinds: it asks for each owner that it has not seen yet."""
    from mooring.kube import Client
    from mooring.kube.errors import NotFound

    api = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest"}
    metadata = {"name": "orphan", "ownerReferences": [{**api, "name": "nobody", "uid": "none"}], "namespace": NAMESPACE}
    async with Client(_connection_of(platform)) as kube:
        await kube.create(_secrets(), {"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        with contextlib.suppress(NotFound):
            while True:
                await kube.get(_secrets(), "orphan", namespace=NAMESPACE)
                await asyncio.sleep(0.5)


def _countable(side: str) -> set[str]:
    """All that we may touch. The servers' own programs ask for other things, too, and metrics do not tell by whom."""
    from mooring.access.controllers import RIGHTS as PREPARING
    from mooring.api.crds import definitions
    from mooring.entry.resources import PARTS
    from mooring.providers.sdk.granting.controllers import RIGHTS as GRANTING

    if side == "target":
        return {"secrets", "namespaces", *(one.plural for one in PARTS.values())}
    rights = {resource.partition("/")[0] for rule in (*PREPARING, *GRANTING) for resource in rule["resources"]}
    return rights | {"events", "gateconfigs"} | {one["spec"]["names"]["plural"] for one in definitions()}


async def _calls(plane, side: str) -> float:
    """API requests so far, by the server's own count, for all that we may touch; watches do not count."""
    from mooring.kube import Client

    total, counted_kinds = 0.0, _countable(side)
    async with Client(_connection_of(plane)) as kube:
        text = await kube.raw("GET", "/metrics")
    for line in text.decode().splitlines():
        counted = line.startswith("apiserver_request_total{") and 'verb="WATCH"' not in line
        if counted and any(f'resource="{one}"' in line for one in counted_kinds):
            total += float(line.rsplit(" ", 1)[1])
    return total


@contextlib.asynccontextmanager
async def _process(platform, target, side: str):
    files = []
    for plane in (platform, target):
        files.append(plane.directory / "bench.kubeconfig")
        files[-1].write_text(json.dumps(plane.admin_kubeconfig(name="bench")))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.access", side, *files, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _latencies(platform, target) -> tuple[float, float]:
    from mooring.api.access import AccessRequest
    from mooring.kube import Client, typed, watching

    subject, floor, told = [], [], []
    async with (
        Client(_connection_of(platform)) as kube,
        Client(_connection_of(target)) as there,
        contextlib.aclosing(watching(kube, typed(AccessRequest), namespace=NAMESPACE)) as events,
    ):
        await anext(events)
        for number in range(SAMPLES):
            begun = time.perf_counter()
            await kube.create(_ours("accessrequests"), _request(f"request-{number}"))
            await _granted(events, f"request-{number}")
            told.append(time.perf_counter() - begun)
            await _used(kube, f"request-{number}")
            subject.append(time.perf_counter() - begun)
            await asyncio.sleep(0.2)  # an idle system
            alone = _request(f"bare-{number}")
            alone["metadata"]["annotations"] = {"openmcp.cloud/operation": "ignore"}
            begun = time.perf_counter()
            bare = await kube.create(_ours("accessrequests"), alone)
            await _same_writes(kube, there, bare)
            await _used(kube, f"bare-{number}")
            floor.append(time.perf_counter() - begun)
            await asyncio.sleep(0.2)
    print(f"access-latency: told after {statistics.median(told) * 1_000:.1f} ms", file=sys.stderr, flush=True)
    return statistics.median(subject), statistics.median(floor)


async def _granted(events, name: str) -> None:
    from mooring.kube import Changed

    async for event in events:
        thing = event.object if isinstance(event, Changed) else None
        ours = thing is not None and thing.metadata.name == name
        if ours and thing.status is not None and thing.status.phase == "Granted":
            return


async def _used(kube, name: str):
    """Enter with the kubeconfig; the client stays open for who wants to go on."""
    from mooring.kube import Client, connection_from_untrusted
    from mooring.kube.errors import Forbidden

    secret = await kube.get(_secrets(), f"{name}.kubeconfig", namespace=NAMESPACE)
    connection = connection_from_untrusted(base64.b64decode(secret["data"]["kubeconfig"]))
    async with Client(connection) as entrant:
        while True:
            with contextlib.suppress(Forbidden):  # the server has not heard of the binding yet
                await entrant.list(_plain("", "pods", "Pod"), namespace=NAMESPACE)
                return connection


async def _revoked(platform, target, name: str) -> float:
    from mooring.kube import Client, MergePatch
    from mooring.kube.errors import Forbidden, Unauthorized

    await _create(platform, [_request(name)])
    async with Client(_connection_of(platform)) as kube:
        connection = None
        while connection is None:
            with contextlib.suppress(Exception):
                connection = await _used(kube, name)
        word = MergePatch({"metadata": {"annotations": {"openmcp.cloud/operation": "revoke"}}})
        async with Client(connection) as entrant:
            begun = time.perf_counter()
            await kube.patch(_ours("accessrequests"), name, word, namespace=NAMESPACE)
            while True:
                try:
                    await entrant.list(_plain("", "pods", "Pod"), namespace=NAMESPACE)
                except Unauthorized:
                    return time.perf_counter() - begun
                except Forbidden:
                    pass  # known, but without rights: not refused yet
                await asyncio.sleep(0.1)


# -- the subjects -----------------------------------------------------------------------------------------------


def _connection(file: str):
    from mooring.kube import connection_from_document

    return connection_from_document(json.loads(Path(file).read_text()))


@contextlib.asynccontextmanager
async def _manager(platform: str, target: str, *, prepares: bool = True):
    """Preparation and granting, and a way to wait for something about requests or clusters."""
    from bench.gatehouse import Gatehouse
    from mooring.access.controllers import add_access
    from mooring.providers.sdk.controllers import add_provider
    from mooring.runtime import Manager

    async with Manager(_connection(platform), identity="bench") as manager:
        add_provider(manager, Gatehouse(_connection(target)), name=PROVIDER, environment="bench")
        if prepares:
            add_access(manager)
        running = asyncio.create_task(manager.run())
        try:
            yield manager
        finally:
            manager.stop()
            await running


async def _cluster_ready(manager) -> None:
    from mooring.api.clusters import Cluster
    from mooring.kube import ObjectKey, typed

    store = manager.store(typed(Cluster))
    while True:
        there = store.get(ObjectKey(NAMESPACE, CLUSTER))
        if there is not None and there.status is not None and there.status.phase == "Ready":
            return
        await asyncio.sleep(0.05)


async def grant_side(platform: str, target: str) -> float:
    """Make the cluster ready; then, begun anew, answer all requests that are there."""
    from mooring.api.access import AccessRequest
    from mooring.kube import typed

    async with _manager(platform, target, prepares=False) as manager:
        await _cluster_ready(manager)
    granted: set[str] = set()
    done = asyncio.Event()

    def count(change) -> None:
        if change.after is not None and change.after.status is not None and change.after.status.phase == "Granted":
            granted.add(change.after.metadata.name)
            if len(granted) == COUNT:
                done.set()

    begun = time.perf_counter()
    async with _manager(platform, target) as manager:
        manager.store(typed(AccessRequest)).subscribe(count)
        await done.wait()
        return COUNT / (time.perf_counter() - begun)


async def raw_side(platform: str, target: str) -> float:
    from mooring.kube import Client

    async with Client(_connection(platform)) as kube, Client(_connection(target)) as there:
        begun = time.perf_counter()
        requests = iter((await kube.list(_ours("accessrequests"))).items)

        async def work() -> None:
            for request in requests:
                await _same_writes(kube, there, request)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return COUNT / (time.perf_counter() - begun)


async def serve_side(platform: str, target: str) -> float:
    """Prepare and grant until killed; say when it works."""
    async with _manager(platform, target) as manager:
        await manager.until_working()
        await _cluster_ready(manager)
        print("working", flush=True)
        await asyncio.Event().wait()
    return 0.0


async def _same_writes(kube, there, request: dict) -> None:
    """What a grant must write, with bodies of the same size."""
    from mooring.kube import MergePatch

    name, uid = request["metadata"]["name"], request["metadata"]["uid"]
    requests, patched = _ours("accessrequests"), {"namespace": NAMESPACE}
    await kube.patch(requests, name, MergePatch({"metadata": {"labels": _LABELS}}), **patched)
    finalizers = MergePatch({"metadata": {"finalizers": ["clusters.openmcp.cloud/grant"], "uid": uid}})
    await kube.patch(requests, name, finalizers, **patched)
    token, issue = await _writes_there(there, name, uid)
    await kube.create(_secrets(), _kubeconfig_secret(there.connection, name, uid, token, issue))
    now = "2026-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "True", "reason": "Granted", "message": "", "observedGeneration": 1}
    status = {
        "observedGeneration": 1,
        "phase": "Granted",
        "reason": "Granted",
        "lastReconcileTime": now,
        "secretRef": {"name": f"{name}.kubeconfig"},
        "conditions": [{**ready, "lastTransitionTime": now}],
    }
    await kube.patch(requests, name, MergePatch({"status": status}), subresource="status", **patched)


async def _writes_there(there, name: str, uid: str) -> tuple[str, str]:
    """The account, its role and binding, and a token that lives with a Secret."""
    rbac, account, role = "rbac.authorization.k8s.io", f"account-{name}", f"openmcp:permission:{name}:0"
    marks = {"mooring.dev/installation": uid, "mooring.dev/entrant": uid}
    notes = {"labels": marks, "annotations": {"mooring.dev/access-request": f"{NAMESPACE}/{name}"}}
    accounts = _plain("", "serviceaccounts", "ServiceAccount")
    core, home = {"apiVersion": "v1"}, {**notes, "name": account, "namespace": ACCOUNTS}
    await there.create(accounts, {**core, "kind": "ServiceAccount", "metadata": home})
    named = {"apiVersion": f"{rbac}/v1", "metadata": {**notes, "name": role}}
    roles = _plain(rbac, "clusterroles", "ClusterRole", namespaced=False)
    await there.create(roles, {**named, "kind": "ClusterRole", "rules": RULES})
    bindings = _plain(rbac, "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": ACCOUNTS}
    reference = {"apiGroup": rbac, "kind": "ClusterRole", "name": role}
    body = {**named, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]}
    await there.create(bindings, body)
    bound = {**core, "kind": "Secret", "type": "mooring.dev/issue", "metadata": {**home, "name": f"{account}-0"}}
    made = (await there.create(_secrets(), bound))["metadata"]
    reference = {"apiVersion": "v1", "kind": "Secret", "name": made["name"], "uid": made["uid"]}
    spec = {"expirationSeconds": 2_592_000, "boundObjectRef": reference}
    wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = await there.create(accounts, wish, namespace=ACCOUNTS, name=account, subresource="token")
    return answer["status"]["token"], made["name"]


def _kubeconfig_secret(connection, name: str, uid: str, token: str, issue: str) -> dict:
    authority = base64.b64encode(connection.ca).decode()
    cluster = {"server": connection.server, "certificate-authority-data": authority}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": PROVIDER, "user": {"token": token}}],
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": PROVIDER}}],
        "current-context": "cluster",
    }
    api = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest"}
    owner = {**api, "name": name, "uid": uid, "controller": True, "blockOwnerDeletion": True}
    record = {"door": "0" * 16, "server": connection.server, "cluster": uid, "issue": issue, "account": uid}
    metadata = {
        "name": f"{name}.kubeconfig",
        "namespace": NAMESPACE,
        "labels": {"clusters.openmcp.cloud/provider": "nobody", "mooring.dev/entrant": uid},
        "annotations": {"mooring.dev/grant": json.dumps({**record, "created": 1.5e9, "expires": 1.5e9})},
        "ownerReferences": [owner],
    }
    times = {"creationTimestamp": "1500000000", "expirationTimestamp": "1500000000"}
    data = {"kubeconfig": json.dumps(document), **times}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "stringData": data}


def main(side: str, platform: str, target: str) -> float:
    import structlog
    import uvloop

    structlog.configure(
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(30),
    )
    sides = {"grant": grant_side, "raw": raw_side, "serve": serve_side}
    return uvloop.run(sides[side](platform, target))


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
