"""A provider as a process: the words of the deployment contract, its environment, and an end in good order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import aiohttp
import pytest
import yaml
from toy_provider import ToyConfig, ToyProvider

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.controlplane.ports import free_port
from mooring.kube import untyped
from mooring.kube.errors import NotFound
from mooring.providers.sdk.program import run_provider
from mooring.testing.managers import PATIENCE, until

HERE = Path(__file__).parent
PROGRAM = """
from mooring.providers.sdk.program import run_provider
from toy_provider import ToyProvider
run_provider(ToyProvider)
"""
USUAL = ("--environment=test", "--provider-name=toys", "--verbosity=INFO")
DEFINITIONS = untyped(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
LEASES = untyped(group="coordination.k8s.io", plural="leases", kind="Lease")


@pytest.fixture
def kubeconfig(own_plane, tmp_path):
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(own_plane.admin_kubeconfig(name="own")))
    return file


async def start(*words, **environment):
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        *words,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(HERE), **environment},
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(process):
    async with asyncio.timeout(PATIENCE):
        _, said = await process.communicate()
    return process.returncode, said.decode()


@contextlib.asynccontextmanager
async def running(*words, **environment):
    """A process that is gone at the end, whatever happens."""
    process = await start(*words, **environment)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_init_and_run(world, kubeconfig):
    reach = f"--kubeconfig={kubeconfig}"
    with contextlib.suppress(NotFound):
        await world.kube.delete(DEFINITIONS, ToyConfig.API.definition_name)

    async def is_unknown():
        try:
            await world.kube.get(DEFINITIONS, ToyConfig.API.definition_name)
        except NotFound:
            return True
        return False

    await until(is_unknown, "the kind is unknown")
    code, said = await ended(await start("run", *USUAL, reach))
    assert code == 2
    assert "run 'init' before 'run'" in said

    code, said = await ended(await start("init", *USUAL, reach))
    assert code == 0, said
    assert not await is_unknown()

    port = free_port()
    words = ("run", *USUAL, reach, "--leader-elect=true", f"--metrics-bind-address=127.0.0.1:{port}")
    async with running(*words, "--metrics-secure=false", POD_NAMESPACE=world.namespace, POD_NAME="toys-0") as process:
        await world.config("box", provider="toys", kind=ToyConfig, versions=["1.33.3"])
        await world.exists(ClusterProfile, "test.toys.box")
        await world.cluster("teddy", profile="test.toys.box")
        await world.ready("teddy")
        lease = await world.kube.get(LEASES, "cluster-provider-toys", namespace=world.namespace)
        assert lease["spec"]["holderIdentity"].startswith("toys-0_")
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/metrics") as answer,
        ):
            assert 'mooring_reconciles_total{controller="toys-clusters",result="ok"}' in await answer.text()
        process.send_signal(signal.SIGTERM)
        code, said = await ended(process)
        assert code == 0, said
    lease = await world.kube.get(LEASES, "cluster-provider-toys", namespace=world.namespace)
    assert not lease["spec"].get("holderIdentity"), "the lease was given back"
    assert await world.get(Cluster, "teddy") is not None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "init|run"),
        (["fly"], "fly"),
        (["run", "--provider-name=toys"], "--environment"),
        (["run", "--environment=test"], "--provider-name"),
        (["run", *USUAL, "--colour=red"], "--colour=red"),
        (["run", "--environment=Te st", "--provider-name=toys"], "--environment 'Te st'"),
        (["run", "--environment=test", "--provider-name=toys", "--verbosity=loud"], "DEBUG, INFO, ERROR"),
        (["run", *USUAL, "--leader-elect"], "POD_NAMESPACE"),
        (["run", *USUAL, "--leader-elect=perhaps"], "neither true nor false"),
        (["run", *USUAL, "--metrics-secure=true"], "--metrics-secure"),
    ],
)
def test_wrong_words_are_answered_by_one_sentence(words, sentence, capsys, monkeypatch):
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    with pytest.raises(SystemExit) as end:
        run_provider(ToyProvider, words)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


async def test_a_missing_platform_is_told(tmp_path):
    code, said = await ended(await start("run", *USUAL, f"--kubeconfig={tmp_path / 'nowhere'}"))
    assert code == 1
    assert "nowhere" in said
    assert "Traceback" not in said
