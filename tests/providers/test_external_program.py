"""The provider as processes of its own: ``python -m mooring.providers.external init`` and ``run``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys

import pytest
import yaml
from external_kit import OWN_KINDS

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube import untyped
from mooring.kube.errors import NotFound
from mooring.testing.managers import PATIENCE, until

USUAL = ("--environment=test", "--provider-name=external")
DEFINITIONS = untyped(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)


@pytest.fixture
def reach(own_plane, tmp_path):
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(own_plane.admin_kubeconfig(name="own")))
    return f"--kubeconfig={file}"


async def start(*words):
    program = (sys.executable, "-m", "mooring.providers.external")
    return await asyncio.create_subprocess_exec(*program, *words, *USUAL, stderr=asyncio.subprocess.PIPE)


async def ended(process):
    async with asyncio.timeout(PATIENCE):
        _, said = await process.communicate()
    return process.returncode, said.decode()


async def test_init_and_run(dock, harbour, reach):
    for kind in OWN_KINDS:
        await dock.kube.delete(DEFINITIONS, kind.API.definition_name)

    async def are_unknown():
        for kind in OWN_KINDS:
            with contextlib.suppress(NotFound):
                await dock.kube.get(DEFINITIONS, kind.API.definition_name)
                return False
        return True

    await until(are_unknown, "the kinds are unknown")
    code, said = await ended(await start("init", reach))
    assert code == 0, said
    for kind in OWN_KINDS:
        assert await dock.all(kind) == []
    document = await harbour.kubeconfig()
    await dock.secret("theirs", document)
    process = await start("run", reach, "--verbosity=DEBUG")
    try:
        await dock.config_for("theirs", "theirs")
        await dock.exists(ClusterProfile, "test.external.theirs")
        await dock.cluster(profile="test.external.theirs")
        await dock.ready()
        await dock.secret("theirs", "not a kubeconfig")
        await dock.standing("one", "KubeconfigRefused")
        await dock.secret("theirs", document)
        await dock.ready()
        await dock.delete(Cluster, "one")
        await dock.gone(Cluster, "one")
        assert await dock.claims() == {}
        process.send_signal(signal.SIGTERM)
        code, said = await ended(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    assert code == 0, said
    assert "Traceback" not in said
    assert document["users"][0]["user"]["token"] not in said
