"""Keeping a program running, shown with shell scripts: they die when and how a test wants it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from process_kit import SLEEP, found, script

from landscape_kit import PATIENCE
from mooring.controlplane.errors import NotReady, PortTaken, ProcessError, StateError
from mooring.controlplane.keeping import Keeper, trying_ports, until_well
from mooring.controlplane.processes import Program


class Wanted:
    """What a keeper is to run; a test changes it."""

    def __init__(self, directory: Path) -> None:
        self.program = script(directory, SLEEP)
        self.refusal: StateError | None = None

    def prepare(self) -> Program:
        if self.refusal is not None:
            raise self.refusal
        return self.program


@pytest.fixture
def wanted(tmp_path: Path) -> Wanted:
    return Wanted(tmp_path)


@pytest.fixture
async def keeper(wanted: Wanted, tmp_path: Path) -> AsyncIterator[Keeper]:
    made = Keeper("one", tmp_path, wanted.prepare)
    yield made
    await made.stop()


async def _until(condition: object) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.01)


async def test_what_runs_as_it_should_is_adopted_and_what_does_not_is_replaced(
    keeper: Keeper, wanted: Wanted, tmp_path: Path
) -> None:
    first = (await keeper.ensure()).pid
    another = Keeper("one", tmp_path, wanted.prepare)
    assert (await another.ensure()).pid == first

    wanted.program.pid_file.unlink()  # as after a crash between the start and the file
    assert (await another.ensure()).pid == first
    assert wanted.program.recorded() is not None

    wanted.program = script(tmp_path, SLEEP, "another kubeconfig")
    replaced = (await another.ensure()).pid
    assert replaced != first
    assert found(wanted.program) == replaced
    await another.stop()


async def test_deaths_are_counted_and_told(keeper: Keeper, wanted: Wanted) -> None:
    restarted: list[int] = []
    ends: list[str] = []
    await keeper.ensure()
    keeping = asyncio.create_task(keeper.keep(lambda: restarted.append(keeper.child.pid), ends.append))
    for count in (1, 2):
        keeper.child.signal(signal.SIGKILL)
        await _until(lambda count=count: len(restarted) == count)
        record = wanted.program.recorded()
        assert record is not None
        assert (record.restarts, record.last_exit, record.pid) == (count, "was killed by SIGKILL", restarted[-1])
        assert ends == ["was killed by SIGKILL"] * count
    keeping.cancel()


async def test_what_keeps_it_from_starting_again_may_pass(
    keeper: Keeper, wanted: Wanted, caplog: pytest.LogCaptureFixture
) -> None:
    await keeper.ensure()
    keeping = asyncio.create_task(keeper.keep())
    wanted.refusal = StateError("The disk is full.")
    keeper.child.signal(signal.SIGKILL)
    await _until(lambda: caplog.text.count("could not be started again: The disk is full.") >= 3)
    wanted.refusal = None
    await _until(lambda: found(wanted.program) is not None)
    keeping.cancel()


async def test_renewing_exchanges_only_what_would_be_run_differently(
    keeper: Keeper, wanted: Wanted, tmp_path: Path
) -> None:
    first = (await keeper.ensure()).pid
    keeping = asyncio.create_task(keeper.keep())
    keeper.renew()
    wanted.program = script(tmp_path, SLEEP, "another port")
    keeper.renew()
    await _until(lambda: found(wanted.program) not in (None, first))
    record = wanted.program.recorded()
    assert record is not None
    assert (record.fingerprint, record.restarts) == (wanted.program.fingerprint, 1)
    keeping.cancel()


async def test_stopping_needs_nothing_but_the_lock(keeper: Keeper, wanted: Wanted, tmp_path: Path) -> None:
    await keeper.ensure()
    keeper.release()
    wanted.refusal = StateError("A file is damaged.")
    await Keeper("one", tmp_path, wanted.prepare).stop()
    assert found(wanted.program) is None


async def test_waiting_ends_with_health_death_or_patience(keeper: Keeper, wanted: Wanted, tmp_path: Path) -> None:
    answers = iter([False, False, True])

    async def better_and_better() -> bool:
        return next(answers)

    async def never() -> bool:
        return False

    child = await keeper.ensure()
    await until_well(better_and_better, child, wanted.program)
    with pytest.raises(NotReady, match="one runs but was not ready after 0 s"):
        await until_well(never, child, wanted.program, patience=0.1)
    wanted.program = script(tmp_path, "echo out of cheese; exit 5")
    with pytest.raises(ProcessError, match=r"one exited with code 5(.|\n)*out of cheese"):
        await until_well(never, await keeper.ensure(), wanted.program)


async def test_ports_are_tried_again_but_not_for_ever() -> None:
    tried: list[int] = []

    async def start() -> None:
        tried.append(1)
        raise PortTaken("Somebody was quicker.")

    with pytest.raises(PortTaken):
        await trying_ports(start)
    assert len(tried) == 3
