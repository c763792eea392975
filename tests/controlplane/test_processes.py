"""Children that outlive us and are found again; processes that are none of ours and are left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from process_kit import SLEEP, ended, forge, found, script, sleeping, started_elsewhere

from landscape_kit import is_alive, until
from mooring.controlplane.errors import PortTaken, ProcessError
from mooring.controlplane.processes import Program, is_locked, program_of


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = script(tmp_path, SLEEP)
    yield made
    child = made.running()
    if child is not None:
        child.signal(signal.SIGKILL)
        child.release()


async def test_lock_held_and_alive_are_the_same_fact(program: Program) -> None:
    assert found(program) is None
    child = program.start()
    assert is_locked(program.lock_file)
    assert found(program) == child.pid
    with pytest.raises(ProcessError, match="already running"):
        program.start()
    assert await ended(child) == "was killed by SIGKILL"
    assert not is_locked(program.lock_file)
    assert found(program) is None


async def test_how_it_ended_is_told_and_what_it_said_last(tmp_path: Path) -> None:
    program = script(tmp_path, "echo listen: address already in use; exit 3")
    child = program.start()
    how = await child.exited()
    child.release()
    assert how == "exited with code 3"
    failure = program.failure(how)
    assert isinstance(failure, PortTaken)
    assert "one exited with code 3" in str(failure)
    assert "address already in use" in str(failure)


async def test_one_that_does_not_stop_when_asked_is_made_to(tmp_path: Path) -> None:
    program = script(tmp_path, f"trap '' TERM; echo deaf; {SLEEP}")
    child = program.start()
    until(lambda: "deaf" in program.last_lines(), "it is deaf")
    await child.stop(grace=0.1)
    assert found(program) is None
    child.release()


@pytest.mark.parametrize("damage", [None, b"", b"{", b'{"pid": -1}', b'{"pid": 1e400}', b"\xff"])
async def test_a_child_without_a_good_pid_file_is_found_by_its_lock(program: Program, damage: bytes | None) -> None:
    child = program.start()
    program.pid_file.unlink()
    if damage is not None:
        program.pid_file.write_bytes(damage)
    by_lock = program.running()
    assert by_lock is not None
    assert by_lock.pid == child.pid
    assert by_lock.record.fingerprint == program.fingerprint  # it carries its own
    assert program.recorded() is None  # a look changes nothing
    adopted = program.adopt()
    assert adopted is not None
    assert program.recorded() == adopted.record
    for handle in (by_lock, adopted):
        handle.release()
    await ended(child)


async def test_a_pid_that_means_another_process_by_now_is_not_believed(program: Program) -> None:
    child = program.start()
    with sleeping() as innocent:
        for changes in ({"pid": innocent.pid}, {"boot": "another"}, {"start_time": 1}, {"pid": 2**22 + 1}):
            forge(program, **changes)
            assert found(program) == child.pid
        await ended(child)
        assert found(program) is None  # whatever the file says: the lock is free
        assert is_alive(innocent.pid)


async def test_who_merely_looks_at_the_lock_is_not_taken_for_its_holder(program: Program) -> None:
    child = program.start()
    program.pid_file.unlink()
    looker = f"import sys; file = open({str(program.lock_file)!r}); print(file.fileno(), flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", looker], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as looking:
        assert looking.stdout is not None
        looking.stdout.readline()
        assert found(program) == child.pid
        await ended(child)
        assert found(program) is None
        looking.communicate()


async def test_it_lives_on_when_its_parent_is_killed(tmp_path: Path) -> None:
    started_elsewhere(tmp_path, after="os.kill(os.getpid(), signal.SIGKILL)")
    program = script(tmp_path, SLEEP)
    child = program.adopt()
    assert child is not None
    assert child.record.fingerprint == program.fingerprint
    assert await ended(child) == "exited"  # nobody's child any more: how, only its parent would have learned


async def test_it_keeps_its_lock_also_when_we_have_no_standard_streams(tmp_path: Path) -> None:
    closed = "[os.close(number) for number in (0, 1, 2)]"
    started_elsewhere(tmp_path, before=closed, after="os._exit(0)")
    child = program_of(tmp_path, "one").running()
    assert child is not None
    await ended(child)


async def test_a_child_sees_little_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMEBODYS_TOKEN", "secret")
    program = script(tmp_path, "env")
    child = program.start()
    await child.exited()
    child.release()
    assert "PATH=" in program.last_lines(40)
    assert "secret" not in program.last_lines(40)


def test_what_cannot_be_started_is_one_sentence(tmp_path: Path) -> None:
    missing = Program(name="one", executable=tmp_path / "nowhere", arguments=(), directory=tmp_path)
    with pytest.raises(ProcessError, match=r"Cannot start .*nowhere: No such file or directory\."):
        missing.start()
    assert not is_locked(missing.lock_file)


async def test_a_long_log_is_set_aside_at_the_next_start(program: Program, tmp_path: Path) -> None:
    with program.log.open("wb") as log:
        log.truncate(17 * 1024 * 1024)
    child = program.start()
    assert program.log.stat().st_size == 0
    assert (tmp_path / "one.log.1").stat().st_size == 17 * 1024 * 1024
    await ended(child)


def test_one_becomes_a_program_oneself(tmp_path: Path) -> None:
    keeper = program_of(tmp_path, "keeper")
    held = keeper.become()
    assert held is not None
    assert keeper.become() is None
    keeper.say_ready()
    record = keeper.recorded()
    assert record is not None
    assert (record.pid, record.ready) == (os.getpid(), True)
    # A lock whose file was removed, with its whole directory, protects nothing any more.
    keeper.lock_file.unlink()
    second = keeper.become()
    assert second is not None
    os.close(second)
    os.close(held)
    assert not is_locked(keeper.lock_file)
