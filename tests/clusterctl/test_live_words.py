"""Words that ask a management cluster, or change little in it: rollouts, owner chains, names for completion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from clusters import (
    INFRASTRUCTURE,
    an_object,
    cluster,
    cluster_class,
    harbor_machine,
    harbor_machine_template,
    install_definitions,
    kubeadm_control_plane,
    machine_deployment,
    owner,
    put,
)
from releases import Release, definition, infrastructure, write_repository
from runners import Runner
from twins import Plane, planes

from mooring.cli.clusterctl.completing import candidates
from mooring.cli.clusterctl.main import root
from mooring.kube import Client, Object, load_connection
from mooring.testing.builders import NAMESPACES, namespace_object

THEIRS, MINE = "theirs", "mine"
PAST, FUTURE = "2001-02-03T04:05:06Z", "2999-01-01T00:00:00Z"
PAUSED = "cluster.x-k8s.io/paused"


@pytest.fixture(scope="module")
def plane(landscape, tmp_path_factory) -> Iterator[Plane]:
    with planes(landscape, tmp_path_factory.mktemp("live"), count=1) as (one,):
        yield one


@pytest.fixture
async def client(plane: Plane) -> AsyncIterator[Client]:
    async with Client(load_connection(plane[1])) as client:
        yield client


async def namespaces(client: Client, *names: str) -> None:
    for name in names:
        await client.create(NAMESPACES, namespace_object(name))


# Each is done to what the ones before have left.
ROLLOUTS = (
    ("restart", "machinedeployment/sails"),
    ("restart", "MachineDeployment/SAILS"),
    ("pause", "machinedeployment/sails"),
    ("pause", "machinedeployment/sails"),
    ("restart", "machinedeployment/sails"),
    ("resume", "machinedeployment/sails"),
    ("resume", "machinedeployment/sails"),
    ("restart", "machinedeployment/due", "machinedeployment/sails"),
    ("restart", "machinedeployment/old"),
    ("restart", "kubeadmcontrolplane/helm"),
    ("pause", "kubeadmcontrolplane/helm"),
    ("pause", "kubeadmcontrolplane/helm"),
    ("restart", "kubeadmcontrolplane/helm"),
    ("resume", "kubeadmcontrolplane/helm"),
    ("resume", "kubeadmcontrolplane/helm"),
    ("restart", "kubeadmcontrolplane/due"),
    ("resume", "kubeadmcontrolplane/marked"),
    ("pause", "machinedeployment/old", "kubeadmcontrolplane/old"),
    ("resume", "machinedeployment/old", "machinedeployment/nobody", "kubeadmcontrolplane/old"),
    ("resume", "kubeadmcontrolplane/old", "machineset/old"),
    ("pause", "machinepool/old", "machinedeployment/old"),
    ("pause", "machinedeployment/old", "old"),
    ("pause", "machinedeployment/old", "kubeadmcontrolplane/old/x"),
    ("pause", "machinedeployment/old", "kubeadmcontrolplane/"),
    ("pause", "machinedeployment/old", "/old"),
    ("pause", "machinedeployment", "old"),
    ("pause",),
    ("resume", "machinedeployment/held"),
    ("restart", "kubeadmcontrolplane/nobody"),
)


async def test_rollouts_are_the_judges(plane: Plane, client: Client, judge: Runner, ours: Runner) -> None:
    await install_definitions(client)
    await namespaces(client, THEIRS, MINE)
    for namespace in (THEIRS, MINE):
        for thing in rolling(namespace):
            await put(client, thing)
    codes = []
    for words in ROLLOUTS:
        given = ("alpha", "rollout", *words, "--kubeconfig", str(plane[1]), "-n")
        theirs, mine = await asyncio.gather(judge.beside(*given, THEIRS), ours.beside(*given, MINE))
        assert (mine.code, mine.out) == (theirs.code, theirs.out), words
        assert await states(client, MINE) == await states(client, THEIRS), words
        assert not mine.code or mine.err.count("\n") == 1, mine.err
        codes.append(mine.code)
    assert 10 < sum(codes) < len(codes) - 8, "both happens"


def rolling(namespace: str) -> list[Object]:
    def deployment(name: str, **spec: Any) -> Object:
        return machine_deployment(name, namespace, cluster="boat", spec=spec)

    def control_plane(name: str, **given: Any) -> Object:
        return kubeadm_control_plane(name, namespace, **given)

    return [
        deployment("sails"),
        deployment("due", rollout={"after": FUTURE}),
        deployment("old", rollout={"after": PAST, "strategy": {"type": "OnDelete"}}),
        deployment("held", paused=True),
        control_plane("helm"),
        control_plane("due", spec={"rollout": {"after": FUTURE}}),
        control_plane("old", spec={"rollout": {"after": PAST, "before": {"certificatesExpiryDays": 9}}}),
        control_plane("marked", annotations={PAUSED: "", "other": "x"}),
    ]


async def states(client: Client, namespace: str) -> dict[str, Any]:
    """What is wanted of each, with "now" for a time that was written just now."""
    found = {}
    for group, kind in (("", "MachineDeployment"), ("controlplane.", "KubeadmControlPlane")):
        resource = await client.resource(f"{group}cluster.x-k8s.io/v1beta2", kind)
        for one in (await client.list(resource, namespace=namespace)).items:
            spec = one["spec"]
            after = (spec.get("rollout") or {}).get("after")
            if after and abs(datetime.fromisoformat(after) - datetime.now(UTC)) < timedelta(minutes=10):
                spec["rollout"]["after"] = "now"
            found[f"{kind}/{one['metadata']['name']}"] = (spec, one["metadata"].get("annotations") or {})
    return found


async def test_every_broken_chain_is_named(plane: Plane, client: Client, ours: Runner, tmp_path: Path) -> None:
    release = infrastructure("v1.0.0", kinds=[(INFRASTRUCTURE, kind) for kind in ("HarborMachine", "HarborHull")])
    await install_definitions(client, definition(INFRASTRUCTURE, "HarborHull"))
    await namespaces(client, "chains")
    hull = f"{INFRASTRUCTURE}/v1beta2", "HarborHull"

    async def made(thing: Object, *owners: Object) -> Object:
        if owners:
            thing["metadata"]["ownerReferences"] = [owner(one, controller=False) for one in owners]
        return await put(client, thing)

    boat = await made(cluster("boat", "chains"))
    linked = await made(harbor_machine("linked", "chains"), boat)
    await made(an_object(*hull, "linked", "chains"), linked)
    design = await made(cluster_class("design", "chains"))
    await made(harbor_machine("of-design", "chains"), await made(harbor_machine_template("a", "chains"), design))
    assert await lint(ours, plane, release, tmp_path) == (0, [])

    alone = await made(harbor_machine("alone", "chains"))
    await made(an_object(*hull, "of-alone", "chains"), alone)
    gone = {**boat, "metadata": {**boat["metadata"], "name": "gone"}}
    held = {"finalizers": ["harbor.example/held"]}  # or the server's own collector would take it away
    await made(an_object(*hull, "of-gone", "chains", **held), gone)
    another = {**boat, "metadata": {**boat["metadata"], "uid": "00000000-0000-0000-0000-000000000000"}}
    await made(an_object(*hull, "of-another", "chains"), another, linked)
    code, told = await lint(ours, plane, release, tmp_path)
    assert code == 1
    assert told == [
        "P34 HarborHull chains/of-alone ← HarborMachine alone, which has no owner",
        "P34 HarborHull chains/of-gone ← Cluster gone, which is not there",
        "P34 HarborMachine chains/alone, which has no owner",
        "P35 HarborMachine chains/alone, which has no owner",
    ]
    folder = tmp_path / release.label
    ended = await ours.beside("lint", str(folder), "--rule", "P34,P35")
    assert (ended.code, ended.out.count("not checkable from files")) == (0, 3), "one each, and their sum"


async def lint(ours: Runner, plane: Plane, release: Release, base: Path) -> tuple[int, list[str]]:
    """The exit code, and what is found of the rules about live objects."""
    write_repository(base, [release])
    words = ("--rule", "P34,P35", "--kubeconfig", str(plane[1]), "-o", "json")
    ended = await ours.beside("lint", str(base / release.label), *words)
    verdicts = json.loads(ended.out)
    assert {one["outcome"] for one in verdicts} <= {"pass", "fail"}
    return ended.code, sorted(f"{one['rule']} {finding}" for one in verdicts for finding in one["findings"])


async def test_names_that_only_the_server_knows(plane: Plane, client: Client) -> None:
    await install_definitions(client)
    await namespaces(client, "harbour", "harvest")
    for name in ("hart", "hull", "tug"):
        await put(client, cluster(name, "harbour"))
    kubeconfig = ("--kubeconfig", str(plane[1]))

    async def named(*words: str) -> list[str]:
        found = await asyncio.to_thread(lambda: list(candidates(root(), [*words], {})))
        return [name for name, _ in found]

    assert await named("describe", "cluster", *kubeconfig, "-n", "harbour", "") == ["hart", "hull", "tug"]
    assert await named("get", "kubeconfig", *kubeconfig, "--namespace=harbour", "h") == ["hart", "hull"]
    assert await named("describe", "cluster", *kubeconfig, "hull", "") == [], "it is named already"
    assert await named("move", *kubeconfig, "--namespace", "harv") == ["harvest"]
    assert await named("describe", "cluster", "--kubeconfig", "/no/such/file", "") == []
    assert await named("describe", "cluster", *kubeconfig, "--no-such-flag", "") == []
