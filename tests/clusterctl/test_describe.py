"""describe cluster beside the real clusterctl, and what ours has besides, on one management cluster."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from clusters import cluster, condition, conditions, harbor_machine, install_definitions, machine, put
from describe_stories import MORE_DEFINITIONS, tell_all
from random_fleets import Fleet
from runners import Management, Runner, plain_environment

from mooring.clusterctl.describe import Discovery, Options, grow
from mooring.clusterctl.describe.asdata import as_data
from mooring.kube import Client, MergePatch
from mooring.testing.builders import NAMESPACES, namespace_object

SEA = "sea"
EVERYTHING = ("--show-conditions", "all", "--show-machinesets", "--show-templates", "--show-resourcesets", "--echo")
RANDOM = ("sloop", "brig", "cog")  # names are seeds
AT_RANDOM = (
    (),
    ("--show-conditions", "all", "--grouping=false", "--echo"),
    ("--show-conditions", "all+", "--show-machinesets", "--show-resourcesets", "--show-templates", "--color"),
    ("--show-conditions", "all", "--v1beta2=false", "--color", "--echo", "--show-machinesets"),
)
TOLD = (
    ("harbour",),
    ("harbour", "--grouping=false"),
    ("harbour", "--echo"),
    ("harbour", "--show-machinesets"),
    ("harbour", "--show-machinesets", "--grouping=false"),
    ("harbour", "--show-templates"),
    ("harbour", "--show-resourcesets"),
    ("harbour", "--show-conditions", "all"),
    ("harbour", "--show-conditions=All+", "--grouping=false"),
    ("harbour", "--show-conditions", "machine,KubeadmControlPlane+,,cluster"),
    ("harbour", "--show-conditions", "Machine/harbour-CP-3+"),
    ("harbour", "--show-conditions", "Machine/harbour-cp-3/x,Cluster/a/b"),
    ("harbour", "--show-conditions", "MachineDeployment/harbour-md,Machine+,machine"),
    ("harbour", "--color"),
    ("harbour", "-c=false", *EVERYTHING),
    ("harbour", "-c", *EVERYTHING, "--grouping=false"),
    ("harbour", "--v1beta2=false"),
    ("harbour", "--v1beta2=false", *EVERYTHING),
    ("harbour", "--v1beta2=false", "--color", "--grouping=0", "--show-conditions", "all"),
    ("bare",),
    ("bare", *EVERYTHING),
    ("bare", "--v1beta2=false", *EVERYTHING),
    ("lost",),
    ("lost", "--grouping=false", "--show-conditions", "all", "--echo"),
    ("lost", "--show-templates"),
    ("sinking",),
    ("sinking", "--color", *EVERYTHING),
    ("sinking", "--show-conditions", "cluster+"),
    ("fleet",),
    ("fleet", "--show-machinesets", "--show-templates"),
    ("fleet", "--grouping=false", "--show-conditions", "all+"),
    ("fleet", "--v1beta2=false"),
    ("yawl",),
    ("yawl", "--show-templates", "--show-conditions", "all"),
    ("yawl", "--v1beta2=false", "--show-conditions", "all"),
    ("tale",),
    ("tale", "--show-conditions", "all"),
    ("tale", "--v1beta2=false", "--show-conditions", "all"),
    ("both", "--show-machinesets"),
    ("driftwood",),
    ("ferry", *EVERYTHING),
    *((name, *flags) for name in RANDOM for flags in AT_RANDOM),
)
REFUSED = (
    ("nobody",),
    ("harbour", "--namespace", "elsewhere"),
    ("harbour", "--show-conditions", "all, machine"),
    ("harbour", "--show-conditions", "all "),
    ("harbour", "--v1beta2=maybe"),
    ("harbour", "bare"),
    (),
)
Make = Callable[[], Awaitable[Management]]


async def test_a_cluster_at_a_glance(management: Make, judge: Runner, ours: Runner, ours_apart: Runner) -> None:
    """One management cluster for all of it: a start is the dearest part."""
    one = await management()
    await install_definitions(one.client, *MORE_DEFINITIONS)
    await one.client.create(NAMESPACES, namespace_object(SEA))
    await tell_all(one.client, SEA)
    await asyncio.gather(*(Fleet(one.client, SEA, name).make() for name in RANDOM))
    for runner in (judge, ours, ours_apart):
        runner.environ["KUBECONFIG"] = str(one.kubeconfig)
        runner.environ["TABWIDTH"] = "8"  # DEVIATION describe-locale: the judge would look for files around it
    await _same_text(judge, ours)
    await _same_bytes(judge, ours_apart)
    await _same_refusals(judge, ours)
    await _same_with_no_color(judge, ours)
    await _same_when_templates_are_unknown(one.client, judge, ours)
    await _health_checks(ours)
    await _as_data(ours)
    await _few_calls(one)
    await _watched(one)


async def _same_text(judge: Runner, ours: Runner) -> None:
    for words in TOLD:
        given = ("describe", "cluster", *words, "-n", SEA)
        theirs, mine = await asyncio.gather(judge.beside(*given), ours.beside(*given))
        assert (mine.code, _plain(mine.out)) == (theirs.code, _plain(theirs.out)), words
        assert theirs.code == 0, words


async def _same_bytes(judge: Runner, ours_apart: Runner) -> None:
    """From a real process, too: the judge cuts a message in the middle of a character."""
    given = ("describe", "cluster", "tale", "-n", SEA, "--v1beta2=false", "--show-conditions", "all")
    theirs, mine = await asyncio.gather(judge.beside(*given), ours_apart.beside(*given))
    assert (mine.code, _plain(mine.out)) == (0, _plain(theirs.out))
    assert any("\udc80" <= character <= "\udcff" for character in mine.out)


def _plain(text: str) -> str:
    """Without ages, and DEVIATION describe-bold-piles-up."""
    text = re.sub(r"\x1b\[37(;1)*m", "\x1b[37m", text)
    return re.sub(r"\b\d+y\b", "AGE", re.sub(r"\x1b\[0(;22)*m", "\x1b[0m", text))


async def _same_refusals(judge: Runner, ours: Runner) -> None:
    for words in REFUSED:
        given = words if "--namespace" in words else (*words, "-n", SEA)
        theirs = await judge.beside("describe", "cluster", *given)
        mine = await ours.beside("describe", "cluster", *given)
        assert mine.code == theirs.code == 1, (words, mine, theirs)
        assert mine.out == ""
        assert mine.err.startswith("Error: "), words
    for words, named in ((("bare", "-o", "xml"), "text, json, yaml"), (("nobody",), "'nobody'")):
        assert named in (await ours.beside("describe", "cluster", *words, "-n", SEA)).err


async def _same_with_no_color(judge: Runner, ours: Runner) -> None:
    for environ in ({"NO_COLOR": "1"}, {"NO_COLOR": ""}, {"TERM": "dumb"}):
        theirs = await judge.beside("describe", "cluster", "harbour", "-n", SEA, "--color", **environ)
        mine = await ours.beside("describe", "cluster", "harbour", "-n", SEA, "--color", **environ)
        assert _plain(mine.out) == _plain(theirs.out), environ
        assert ("\x1b" in mine.out) == (environ.get("NO_COLOR") != "1")


async def _same_when_templates_are_unknown(client: Client, judge: Runner, ours: Runner) -> None:
    """A template of a kind that is not there ends the whole description."""
    deployments = await client.resource("cluster.x-k8s.io/v1beta2", "MachineDeployment")
    ghost = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "GhostMachineTemplate", "name": "fleet"}
    patch = MergePatch({"spec": {"template": {"spec": {"infrastructureRef": ghost}}}})
    await client.patch(deployments, "fleet-b", patch, namespace=SEA)
    for words, code in ((("fleet", "--show-templates"), 1), (("fleet",), 0)):
        theirs = await judge.beside("describe", "cluster", *words, "-n", SEA)
        mine = await ours.beside("describe", "cluster", *words, "-n", SEA)
        assert (mine.code, _plain(mine.out)) == (theirs.code, _plain(theirs.out))
        assert mine.code == code
        assert code == 0 or "ghostmachinetemplates.infrastructure.cluster.x-k8s.io" in mine.err


async def _health_checks(ours: Runner) -> None:
    told = await ours.beside("describe", "cluster", "harbour", "-n", SEA, "--show-machinehealthchecks")
    lines = [line.rstrip() for line in told.out.splitlines() if "MachineHealthCheck" in line]
    assert [line.split()[:3] for line in lines] == [
        ["├─MachineHealthCheck", "sea/harbour-all", "2/3"],
        ["│", "├─MachineHealthCheck", "sea/harbour-cp"],
        ["│", "├─MachineHealthCheck", "sea/harbour-md"],
    ]
    assert all("RemediationAllowed" in line for line in lines)


async def _as_data(ours: Runner) -> None:
    words = ("describe", "cluster", "harbour", "-n", SEA, "--show-conditions", "Machine/harbour-cp-3")
    written = json.loads((await ours.beside(*words, "-o", "json")).out)
    assert yaml.safe_load((await ours.beside(*words, "--output=yaml")).out) == written
    assert (written["apiVersion"], written["kind"]) == ("clusterctl.mooring.dev/v1", "ClusterDescription")
    root = written["tree"]
    assert root["replicas"] == {"current": 8, "desired": 3, "available": 2, "ready": 4, "upToDate": 0}
    assert (root["kind"], root["version"], root["status"]["type"]) == ("Cluster", "v1.36.1", "Available")
    infrastructure, control_plane, workers = root["children"]
    assert (infrastructure["part"], infrastructure["status"]["reason"]) == ("ClusterInfrastructure", "Waiting")
    group, third = control_plane["children"]
    assert (group["members"], group["replicas"]["ready"]) == (["harbour-cp-1", "harbour-cp-2"], 2)
    assert [one["type"] for one in third["conditions"]] == ["Available", "Ready", "UpToDate"]
    assert third["status"]["since"] == "2001-02-03T04:05:06Z"
    assert workers["name"] == "Workers"
    assert not workers.keys() & {"apiVersion", "status"}
    assert len(workers["children"][0]["children"][0]["members"]) == 3  # all of them, not only two
    old = json.loads((await ours.beside(*words, "-o", "json", "--v1beta2=false")).out)["tree"]
    assert (old["status"]["type"], old["status"]["severity"]) == ("Ready", "Info")


async def _few_calls(one: Management) -> None:
    """Lists, whatever the number of machines; one call per machine only where labels are missing."""
    asked: list[str] = []
    await one.client.create(NAMESPACES, namespace_object("regatta"))
    await put(one.client, cluster("regatta", "regatta"))

    async def boats(*numbers: int) -> None:
        for number in numbers:
            labels = {"cluster.x-k8s.io/cluster-name": "regatta"}
            boat = await put(one.client, harbor_machine(f"boat-{number}", "regatta", labels=labels))
            await put(one.client, machine(f"boat-{number}", "regatta", cluster="regatta", infrastructure=boat))

    async def count() -> int:
        asked.clear()
        async with Client(one.client.connection, heard=lambda verb, _code, _took: asked.append(verb)) as client:
            seen = await Discovery(client, "regatta", "regatta", Options()).read()
        assert len(seen.foreign) == len(seen.machines)
        return len(asked)

    await boats(1, 2)
    few = await count()
    await boats(3, 4, 5, 6)
    assert await count() == few <= 9


async def _watched(one: Management) -> None:
    """Told again below when something changes, until Ctrl-C; or until the cluster is gone."""
    await put(one.client, cluster("wake", SEA, infrastructure=harbor_machine("wake", SEA)))
    process = await _watching(one, "wake")
    await _until(process, lambda text: "wake" in text and "\n" in text)
    boat = await put(one.client, harbor_machine("wake", SEA, status=conditions(condition("Ready", "False", "Rocking"))))
    await _until(process, lambda text: "Rocking" in text)
    boats = await one.client.resource(boat["apiVersion"], boat["kind"])
    calm = {"status": conditions(condition("Ready", "True", "Calm"))}
    await one.client.patch(boats, "wake", MergePatch(calm), namespace=SEA, subresource="status")
    text = await _until(process, lambda text: "Calm" in text)
    assert text.startswith("\nNAME "), "it follows the one before, below an empty line"
    assert "\x1b" not in text
    process.send_signal(signal.SIGINT)
    code, _, err = await _ended(process)
    assert (code, err) == (0, "")
    process = await _watching(one, "wake", "-o", "yaml")
    await _until(process, lambda text: "Calm" in text)
    clusters = await one.client.resource("cluster.x-k8s.io/v1beta2", "Cluster")
    await one.client.delete(clusters, "wake", namespace=SEA)
    code, _, err = await _ended(process)
    assert (code, "gone" in err) == (0, True)


async def _watching(one: Management, name: str, *words: str) -> asyncio.subprocess.Process:
    """As a process of its own: a signal ends it."""
    script = "import sys; from mooring.cli.clusterctl.main import main; sys.exit(main(sys.argv[1:]))"
    given = ("describe", "cluster", name, "-n", SEA, "--watch", "--kubeconfig", str(one.kubeconfig), *words)
    environ = {**plain_environment(Path(one.kubeconfig).parent), "PYTHONUTF8": "1"}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        *given,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**environ, **{key: value for key, value in os.environ.items() if key.startswith("COV")}},
    )


async def _until(process: asyncio.subprocess.Process, said: Callable[[str], bool]) -> str:
    """Read until what came since the last time is as it should be."""
    assert process.stdout is not None
    text = ""
    async with asyncio.timeout(120):
        while not said(text):
            block = await process.stdout.read(65536)
            assert block, text
            text += block.decode()
    return text


async def _ended(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def test_the_same_tree_whatever_the_order_of_reading() -> None:
    """Lists come in any order; what is told does not change."""
    from mooring.clusterctl.describe.seen import Seen

    def seen(*order: int) -> Seen:
        machines: list[dict[str, Any]] = [
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Machine",
                "metadata": {"name": f"m{index}", "namespace": "a", "uid": f"u{index}"},
                "status": conditions(condition("Ready", "True" if index % 2 else "False")),
            }
            for index in order
        ]
        root = cluster("c", "a")
        root["metadata"]["uid"] = "root"
        return Seen(root, machines)

    assert as_data(grow(seen(0, 1, 2, 3), Options())) == as_data(grow(seen(3, 1, 0, 2), Options()))


@pytest.mark.parametrize("old", [False, True])
def test_a_message_does_not_speak_to_the_terminal(old: bool) -> None:
    """DEVIATION describe-escapes."""
    from mooring.clusterctl.describe.rendering import as_text
    from mooring.clusterctl.describe.seen import Seen

    root = cluster("c", "a")
    root["metadata"]["uid"] = "root"
    told = condition("Available", "False", message="\x1b]0;owned\x07 and \x9b2J")
    ready = {**told, "type": "Ready"}
    root["status"] = conditions(told, ready, old=[ready])
    text = as_text(grow(Seen(root, []), Options(old=old)), now=datetime(2026, 1, 1, tzinfo=UTC))
    assert "␛]0;owned" in text
    assert not set(text) & {"\x1b", "\x9b"}
