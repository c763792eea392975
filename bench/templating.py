"""Bars ``clusterctl-generate`` and ``clusterctl-envsubst``: what a template costs.

The first runs whole commands, ours beside the real clusterctl, on one repository; the start of a bare Python is
measured beside them and taken off, because everything in Python pays it. The second asks whether substitution grows
with its text and no faster: twice the text with twice the variables.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.bars import Limit, Result, compared, take_turns

RUNS = 21
PROVIDER, VERSION = "shipyard", "v1.0.0"
SMALL, LARGE = 5_000, 10_000
BYTES_EACH = 200  # of template, for each variable: 1 MB with 5,000 of them
_MACHINES = 20  # kinds of workers in the template: about as long as those that providers publish


async def clusterctl_generate() -> list[Result]:
    """``generate cluster`` from a local repository, less the start of a bare Python; the floor: the real one."""
    from mooring.controlplane.binaries import fetch_binaries
    from mooring.controlplane.progress import Silent
    from mooring.controlplane.toolsets import CLUSTER_API

    judge = fetch_binaries(CLUSTER_API, progress=Silent()).path("clusterctl")
    mooring = Path(sys.executable).with_name("mooring")
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        words = _repository(Path(folder))
        assert (_printed(mooring, "clusterctl", *words, home=folder)) == _printed(judge, *words, home=folder)

        async def ours(_: int) -> float:
            bare.append(await _run(sys.executable, "-c", "pass", home=folder))
            return await _run(mooring, "clusterctl", *words, home=folder)

        value, floor = await take_turns(
            "clusterctl-generate", ours, lambda _: _run(judge, *words, home=folder), runs=RUNS
        )
    over = value - statistics.median(bare)
    limit = Limit("≤ 3 ×", at_most=3.0)
    return [compared("clusterctl-generate", 1000 * over, 1000 * floor, "ms", limit, runs=RUNS)]


async def clusterctl_envsubst() -> list[Result]:
    """Substitution of 2 MB with 10,000 variables; the floor: 1 MB with 5,000."""
    large, small = _text(LARGE), _text(SMALL)
    value, floor = await take_turns(
        "clusterctl-envsubst", lambda _: _substituted(*large), lambda _: _substituted(*small), runs=RUNS
    )
    limit = Limit("≤ 2.2 ×", at_most=2.2)
    return [compared("clusterctl-envsubst", value, floor, "s", limit, runs=RUNS)]


async def _substituted(text: str, values: dict[str, str]) -> float:
    from mooring.clusterctl.variables import process

    begun = time.perf_counter()
    process(text, values.get)
    return time.perf_counter() - begun


def _text(variables: int) -> tuple[str, dict[str, str]]:
    """Lines with a variable each: plain, with a default, with an operator."""
    forms = ("${{{}}}", "${{{}:=some-default}}", "${{{}/value/other}}", "${{ {} }}")
    lines = []
    for number in range(variables):
        line = f"  key-{number}: {forms[number % len(forms)].format(f'VARIABLE_{number}')}  # "
        lines.append(line.ljust(BYTES_EACH - 1, "."))
    return "\n".join(lines), {f"VARIABLE_{number}": f"value-{number}" for number in range(variables)}


def _repository(folder: Path) -> tuple[str, ...]:
    """A repository with one release and a template; the words that make a cluster of it."""
    import yaml

    release = folder / f"infrastructure-{PROVIDER}" / VERSION
    release.mkdir(parents=True)
    series = [{"major": 1, "minor": 0, "contract": "v1beta2"}]
    metadata = {"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Metadata", "releaseSeries": series}
    (release / "metadata.yaml").write_text(yaml.safe_dump(metadata))
    (release / "infrastructure-components.yaml").write_text("")
    (release / "cluster-template.yaml").write_text(yaml.safe_dump_all(_template()))
    url = str(release.parent / "latest" / "infrastructure-components.yaml")
    config = folder / "clusterctl.yaml"
    provider = {"name": PROVIDER, "type": "InfrastructureProvider", "url": url}
    config.write_text(yaml.safe_dump({"providers": [provider]}))
    chosen = ("--infrastructure", f"{PROVIDER}:{VERSION}", "--kubernetes-version", "v1.36.0", "-n", "default")
    return ("generate", "cluster", "mine", *chosen, "--config", str(config))


def _template() -> list[dict]:
    """A cluster, its control plane, and workers of several kinds."""
    name = "${CLUSTER_NAME}"
    cluster = {"clusterNetwork": {"pods": {"cidrBlocks": ["${POD_CIDR:=192.168.0.0/16}"]}}}
    objects = [_object("Cluster", name, cluster)]
    for number in range(_MACHINES):
        worker = {
            "clusterName": name,
            "replicas": "${WORKER_MACHINE_COUNT}",
            "template": {
                "spec": {
                    "version": "${KUBERNETES_VERSION}",
                    "bootstrap": {"configRef": {"kind": "KubeadmConfigTemplate", "name": f"{name}-md-{number}"}},
                    "failureDomain": f"${{ZONE_{number}:=zone-{number}}}",
                }
            },
        }
        objects.append(_object("MachineDeployment", f"{name}-md-{number}", worker))
    return objects


def _object(kind: str, name: str, spec: dict) -> dict:
    metadata = {"name": name, "namespace": "${NAMESPACE}", "labels": {"size": "${SIZE:=small}"}}
    return {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


def _environment(home: str) -> dict[str, str]:
    own = {"HOME": home, "XDG_CONFIG_HOME": f"{home}/config", "CLUSTERCTL_DISABLE_VERSIONCHECK": "true"}
    return {"PATH": os.environ["PATH"], "GOPROXY": "off", **own}


def _printed(*argv: str | Path, home: str) -> list:
    """What a command prints, as documents; nobody gets to be quick by saying something else."""
    import subprocess

    import yaml

    done = subprocess.run(argv, env=_environment(home), capture_output=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


async def _run(*argv: str | Path, home: str) -> float:
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *argv, env=_environment(home), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    if await process.wait():
        raise SystemExit(f"{argv} failed")
    return time.perf_counter() - begun
