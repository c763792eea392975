"""Whoever keeps providers' processes is killed at some point; the next one goes on, and starts nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

import pytest
import yaml
from processes_kit import a_quayside, dead, grounded, kill, noted

from mooring.testing.managers import until

HERE = Path(__file__).parent


@pytest.fixture
async def quayside(world, landscape, own_plane, tmp_path, monkeypatch):
    async with a_quayside(world, landscape, own_plane, tmp_path) as quayside:
        monkeypatch.setenv("MOORING_PROVIDERS", str(quayside.programs))
        yield quayside


@pytest.fixture
def keeping(quayside, own_plane, tmp_path):
    """Another process that keeps a provider, killed at the end of the block."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(own_plane.admin_kubeconfig(name="own")))

    @contextlib.asynccontextmanager
    async def keeping(provider):
        landscape, namespace = quayside.landscape.directory, quayside.home.namespace
        words = (landscape, kubeconfig, namespace, provider.metadata.name)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(HERE / "processes_process.py"),
            *map(str, words),
            env={**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent}"},
        )
        try:
            yield
            assert process.returncode is None, "it was at work to the end"
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    return keeping


async def test_a_process_is_adopted_and_kept(quayside, world, keeping):
    notes = quayside.noting("toy")
    provider = await quayside.provider("toy")
    async with keeping(provider):
        pid = await until(lambda: quayside.pid(provider), "it runs")
        await noted(notes, "init\nrun\n")
    assert quayside.pid(provider) == pid
    async with grounded(quayside, world.connection):
        assert await quayside.up(provider) == pid
        await noted(notes, "init\nrun\n")
        kill(pid)
        assert await quayside.another_pid(provider, pid)
        await quayside.running(provider)
        await quayside.gone(provider)
    assert not quayside.directory(provider).exists()


async def test_a_process_that_died_meanwhile_is_started(quayside, world, keeping):
    notes = quayside.noting("toy")
    provider = await quayside.provider("toy")
    async with keeping(provider):
        pid = await until(lambda: quayside.pid(provider), "it runs")
        await noted(notes, "init\nrun\n")
    kill(pid)
    await dead(pid)
    async with grounded(quayside, world.connection):
        assert await quayside.up(provider) != pid
    await noted(notes, "init\nrun\nrun\n")


async def test_an_init_is_waited_for_and_repeated(quayside, world, keeping):
    gate = quayside.programs / "gate"
    notes = quayside.noting("toy", init=f"while ! [ -e {gate} ]; do sleep 0.05; done; echo well >> $0.notes")
    provider = await quayside.provider("toy")
    async with keeping(provider):
        await until(notes.exists, "it has begun")
    assert quayside.pid(provider, "init") is not None
    async with grounded(quayside, world.connection):
        await quayside.initialised(provider, lambda seen: seen.reason == "InitRunning")
        gate.touch()
        await quayside.initialised(provider)
    await noted(notes, "init\nwell\ninit\nwell\n")
