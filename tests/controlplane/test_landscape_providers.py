"""Providers' processes as a landscape knows them, shown with shell scripts: found by their files, stopped, purged."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from process_kit import SLEEP, found

from mooring.controlplane.binaries import Binaries, Binary, Source
from mooring.controlplane.landscape import INIT, RUN, Landscape
from mooring.controlplane.processes import Program, is_locked
from mooring.controlplane.toolsets import KUBERNETES


@pytest.fixture
async def landscape(tmp_path: Path) -> AsyncIterator[Landscape]:
    """One that was never started, without even programs to start."""
    programs = {
        tool.name: Binary(tool.name, Path(tool.name), version=None, source=Source.NAMED) for tool in KUBERNETES.tools
    }
    made = Landscape("test", tmp_path / "test", Binaries(KUBERNETES.name, programs))
    yield made
    await made.stop()


def started(landscape: Landscape, provider: str, command: str, text: str = SLEEP) -> Program:
    program = Program(
        name=command,
        executable=Path("/bin/sh"),
        arguments=("-c", text),
        directory=landscape.provider_directory(provider),
    )
    program.start().release()
    return program


async def test_they_are_found_and_stopped_and_their_files_stay(landscape: Landscape) -> None:
    programs = {
        f"{name}/{command}": started(landscape, name, command)
        for name in ("toy", "my.own-boat")
        for command in (INIT, RUN)
    }
    assert landscape.provider_names == ["my.own-boat", "toy"]
    traces = landscape.traces()
    assert {name: found(traces[name]) for name in programs} == {name: found(one) for name, one in programs.items()}
    assert all(found(one) for one in programs.values())

    await landscape.stop_provider("toy")
    assert {name for name in programs if found(traces[name])} == {"my.own-boat/init", "my.own-boat/run"}

    await landscape.stop()
    assert not any(is_locked(one.lock_file) for one in programs.values())
    assert all(one.log.exists() for one in programs.values())
    assert landscape.provider_names == ["my.own-boat", "toy"]


async def test_what_a_script_leaves_running_is_stopped_with_it(landscape: Landscape) -> None:
    program = started(landscape, "toy", RUN, "sleep 600; true")
    await landscape.stop()
    assert not is_locked(program.lock_file)


async def test_they_are_purged(landscape: Landscape) -> None:
    held = landscape.take(to="down")
    started(landscape, "toy", RUN)
    await landscape.stop()
    landscape.purge()
    os.close(held)
    assert not landscape.directory.exists()
