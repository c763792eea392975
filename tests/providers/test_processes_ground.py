"""Providers as processes of an embedded landscape, against a real API server: how they live, and what they leave."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from processes_kit import SLEEP, TOY, a_quayside, dead, grounded, kill, noted
from toy_provider import ToyConfig, ToyProvider

from mooring.api.clusters import ClusterProfile
from mooring.kube import ObjectKey
from mooring.kube.errors import NotFound
from mooring.providers.deployment import initialising
from mooring.providers.deployment.contract import Command, cluster_name_of, name_of
from mooring.providers.deployment.placing import ACCOUNTS, CLUSTER_ROLES
from mooring.providers.external import ExternalProvider
from mooring.providers.sdk import init_rights_of, rights_of
from mooring.testing.clock import SimulatedClock
from mooring.testing.managers import until


@pytest.fixture
async def quayside(world, landscape, own_plane, tmp_path, monkeypatch):
    """A landscape and a place for programs, and nobody at work."""
    async with a_quayside(world, landscape, own_plane, tmp_path) as quayside:
        monkeypatch.setenv("MOORING_PROVIDERS", str(quayside.programs))
        yield quayside


@pytest.fixture
async def quay(quayside, world):
    async with grounded(quayside, world.connection):
        yield quayside


def key(provider):
    return ObjectKey("", provider.metadata.name)


async def test_a_program_makes_clusters_with_the_rights_it_was_given(quay, world):
    quay.program("cluster-provider-toy", TOY)
    rights = {"init": init_rights_of(ToyProvider), "run": rights_of(ToyProvider)}
    provider = await quay.provider("registry.example:5000/x/cluster-provider-toy:v1", rights=rights, runReplicas=3)
    name = provider.metadata.name
    await quay.up(provider)
    assert await quay.whoami(provider) == f"system:serviceaccount:{world.namespace}:cp-{name}"
    await world.config("box", provider=name, kind=ToyConfig, versions=["1.33.3"])
    await world.exists(ClusterProfile, f"test.{name}.box")
    await world.cluster("teddy", profile=f"test.{name}.box")
    await world.ready("teddy")


async def test_an_installed_provider_runs_with_the_rights_that_it_declares(quay):
    provider = await quay.provider("mooring/external")
    pid = await quay.up(provider)
    role = await quay.kube.get(CLUSTER_ROLES, cluster_name_of(provider, Command.RUN))
    assert len(role["rules"]) == len(rights_of(ExternalProvider))
    command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    assert command[2:6] == ["-m", "mooring.providers", "external", "run"]
    assert f"--kubeconfig={quay.directory(provider) / 'run.kubeconfig'}" in command


async def test_files_are_private_and_the_environment_holds_no_secret(quay):
    quay.noting("toy")
    provider = await quay.provider("toy", env=[{"name": "COLOUR", "value": "red"}])
    pid = await quay.up(provider)
    directory = quay.directory(provider)
    assert stat.S_IMODE(directory.stat().st_mode) == stat.S_IMODE(directory.parent.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert set(modes.values()) == {0o600}
    assert {"run.token", "run.kubeconfig", "run.log", "run.pid", "run.lock"} <= set(modes)
    assert "init.token" not in modes, "nobody needs it any more"
    token = (directory / "run.token").read_text()
    assert token not in (directory / "run.kubeconfig").read_text()
    environment = dict(one.split("=", 1) for one in Path(f"/proc/{pid}/environ").read_text().split("\0") if one)
    assert environment["COLOUR"] == "red"
    assert environment["KUBECONFIG"] == str(directory / "run.kubeconfig")
    assert environment["POD_NAME"] == environment["POD_SERVICE_ACCOUNT_NAME"] == name_of(provider)
    assert environment["POD_NAMESPACE"] == quay.home.namespace
    assert environment["POD_IP"] == "127.0.0.1"
    assert token not in str(environment)
    assert "MOORING_PROVIDERS" not in environment


async def test_words_are_those_of_the_contract_for_one_process(quay):
    quay.program("toy", f'echo "$@"; case "$1" in go) {SLEEP} ;; esac')
    provider = await quay.provider(
        "toy", initCommand=["prepare", "all"], runCommand=["go"], runReplicas=3, metrics={"disabled": False, "port": 99}
    )
    await quay.up(provider)
    usual = f"--environment=test --verbosity=INFO --provider-name={provider.metadata.name}"
    await noted(quay.directory(provider) / "init.log", f"prepare all {usual}\n")
    metrics = "--metrics-bind-address=0 --metrics-secure=false"
    await noted(quay.directory(provider) / "run.log", f"go {usual} {metrics}\n")


async def test_a_process_that_dies_is_started_again_and_that_is_told(quay):
    quay.noting("toy", run="echo here I am; " + SLEEP)
    provider = await quay.provider("toy")
    pid = await quay.up(provider)
    quay.woken.clear()
    kill(pid)
    await until(lambda: key(provider) in quay.woken, "the end is told")
    assert await quay.another_pid(provider, pid)
    await quay.running(provider)
    status = quay.landscape.traces()[f"{provider.metadata.name}/run"].recorded()
    assert (status.restarts, status.last_exit) == (1, "was killed by SIGKILL")


async def test_one_that_keeps_dying_is_told_with_its_last_words_until_it_is_mended(quay):
    quay.noting("toy", run="echo the rope is torn; exit 3")
    provider = await quay.provider("toy")
    await quay.initialised(provider)
    seen = await quay.running(provider, lambda seen: seen.failed)
    assert seen.reason == "KeepsDying"
    assert "exited with code 3" in seen.message
    assert "the rope is torn" in seen.message
    quay.noting("toy")
    await quay.up(provider)


async def test_whoever_comes_next_finds_the_process_and_starts_no_other(quayside, world):
    notes = quayside.noting("toy")
    async with grounded(quayside, world.connection):
        provider = await quayside.provider("toy")
        pid = await quayside.up(provider)
    assert quayside.pid(provider) == pid, "it lives on"
    token = (quayside.directory(provider) / "run.token").read_text()
    async with grounded(quayside, world.connection):
        assert await quayside.up(provider) == pid
        await noted(notes, "init\nrun\n")
        assert (quayside.directory(provider) / "run.token").read_text() != token, "nobody knows how old that was"
        kill(pid)
        assert await quayside.another_pid(provider, pid)


async def test_an_init_that_was_left_running_is_waited_for_and_repeated(quayside, world):
    gate = quayside.programs / "gate"
    notes = quayside.noting("toy", init=f"while ! [ -e {gate} ]; do sleep 0.05; done; echo well >> $0.notes")
    async with grounded(quayside, world.connection):
        provider = await quayside.provider("toy")
        await quayside.initialised(provider, lambda seen: notes.exists())
    pid = quayside.pid(provider, "init")
    assert pid is not None, "it goes on"
    async with grounded(quayside, world.connection):
        assert not (await quayside.ground.initialised(provider)).done
        assert quayside.pid(provider, "init") == pid
        gate.touch()
        await quayside.initialised(provider)
    await noted(notes, "init\nwell\ninit\nwell\n")
    async with grounded(quayside, world.connection):
        assert (await quayside.ground.initialised(provider)).done, "that it was done is remembered"


async def test_init_runs_for_each_generation_and_the_process_goes_on_where_nothing_changes_for_it(quay):
    notes = quay.noting("toy")
    provider = await quay.provider("toy")
    pid = await quay.up(provider)
    provider = await quay.changed(provider, runReplicas=2)
    assert await quay.up(provider) == pid
    await noted(notes, "init\nrun\ninit\n")
    provider = await quay.changed(provider, env=[{"name": "COLOUR", "value": "blue"}])
    assert await quay.up(provider) != pid
    await dead(pid)
    await noted(notes, "init\nrun\ninit\ninit\nrun\n")


async def test_an_init_that_fails_is_told_with_its_last_words_until_it_is_mended(quay):
    quay.noting("toy", init='printf "no rope\\033[2J here\\n"; exit 4')
    provider = await quay.provider("toy")
    seen = await quay.initialised(provider, lambda seen: seen.failed)
    assert seen.reason == "InitFailed"
    assert "'toy init' exited with code 4" in seen.message
    assert "no rope\\x1b[2J here" in seen.message
    assert quay.pid(provider, "init") is None
    quay.noting("toy")
    await quay.up(provider)


async def test_a_failed_init_is_tried_again_by_itself(quay):
    tried = quay.programs / "tried"
    quay.noting("toy", init=f"[ -e {tried} ] || {{ touch {tried}; exit 1; }}")
    provider = await quay.provider("toy")

    async def done_when_called():
        if key(provider) not in quay.woken:
            return False
        quay.woken.clear()
        return (await quay.ground.initialised(provider)).done

    await quay.ground.initialised(provider)
    await until(done_when_called, "somebody who only listens has seen it done")


async def test_a_process_from_before_goes_on_with_a_fresh_token_while_an_init_fails(quayside, world):
    quayside.noting("toy")
    async with grounded(quayside, world.connection):
        provider = await quayside.provider("toy")
        pid = await quayside.up(provider)
    token = (quayside.directory(provider) / "run.token").read_text()
    quayside.noting("toy", init="exit 1")
    async with grounded(quayside, world.connection):
        await quayside.initialised(provider, lambda seen: seen.failed)
        assert (quayside.directory(provider) / "run.token").read_text() != token
        assert quayside.pid(provider) == pid
        quayside.noting("toy")
        assert await quayside.up(provider) != pid, "the program is another one by now"
        await dead(pid)


async def test_an_init_that_does_not_end_is_stopped(quay, monkeypatch):
    monkeypatch.setattr(initialising, "LONGEST", 0.5)
    quay.noting("toy", init="echo still at it; " + SLEEP)
    provider = await quay.provider("toy")
    seen = await quay.initialised(provider, lambda seen: seen.failed)
    assert "did not end within" in seen.message
    monkeypatch.setattr(initialising, "LONGEST", 300.0)
    quay.noting("toy")
    await quay.up(provider)


async def test_where_the_program_is_missing_that_is_told_with_the_remedy(quay):
    provider = await quay.provider("ghcr.example/x/cluster-provider-boat:v3")
    seen = await quay.ground.initialised(provider)
    assert (seen.done, seen.failed, seen.reason) == (False, True, "ProgramNotFound")
    for word in ("ghcr.example/x/cluster-provider-boat:v3", "'boat'", str(quay.programs), "MOORING_PROVIDERS"):
        assert word in seen.message
    with pytest.raises(NotFound):
        await quay.kube.get(ACCOUNTS, name_of(provider, Command.INIT), namespace=quay.home.namespace)
    quay.noting("boat")
    await quay.up(provider)


async def test_an_object_cannot_change_what_runs(quay):
    quay.noting("toy")
    provider = await quay.provider("toy", env=[{"name": "LD_PRELOAD", "value": "/tmp/x.so"}])
    seen = await quay.ground.initialised(provider)
    assert (seen.failed, seen.reason) == (True, "EnvironmentVariableNotAllowed")
    assert "LD_PRELOAD" in seen.message


async def test_a_token_is_renewed_and_the_process_goes_on(quayside, world):
    clock = SimulatedClock()
    quayside.noting("toy")
    async with grounded(quayside, world.connection, clock=clock):
        provider = await quayside.provider("toy")
        pid = await quayside.up(provider)
        file = quayside.directory(provider) / "run.token"
        token = file.read_text()
        await clock.advance(3_600 * 0.74)
        assert file.read_text() == token
        await clock.advance(3_600 * 0.02)
        await until(lambda: file.read_text() != token, "there is another token")
        assert await quayside.whoami(provider) == f"system:serviceaccount:{world.namespace}:{name_of(provider)}"
        assert quayside.pid(provider) == pid
        assert (await quayside.ground.running(provider)).done


async def test_an_account_that_was_made_anew_has_another_token(quay, world):
    quay.noting("toy")
    provider = await quay.provider("toy")
    pid = await quay.up(provider)
    file = quay.directory(provider) / "run.token"
    token = file.read_text()
    await quay.kube.delete(ACCOUNTS, name_of(provider), namespace=world.namespace)
    await quay.running(provider, lambda seen: seen.done and file.read_text() != token)
    assert await quay.whoami(provider) == f"system:serviceaccount:{world.namespace}:{name_of(provider)}"
    assert quay.pid(provider) == pid


async def test_a_platform_that_moved_takes_another_process(quay):
    notes = quay.noting("toy")
    provider = await quay.provider("toy")
    pid = await quay.up(provider)
    quay.move_platform(16_385)
    await quay.running(provider, lambda seen: seen.done and quay.pid(provider) != pid)
    assert "https://127.0.0.1:16385" in (quay.directory(provider) / "run.kubeconfig").read_text()
    assert (await quay.ground.initialised(provider)).done
    await noted(notes, "init\nrun\nrun\n")  # what was initialised stays so


async def test_removal_leaves_no_process_file_or_object(quay):
    quay.noting("toy", run='trap "" TERM; echo stubborn; while :; do sleep 0.05; done')
    provider = await quay.provider("toy")
    pid = await quay.up(provider)
    await quay.gone(provider)
    await dead(pid)
    assert not quay.directory(provider).exists()
    for command in Command:
        with pytest.raises(NotFound):
            await quay.kube.get(ACCOUNTS, name_of(provider, command), namespace=quay.home.namespace)
    assert await quay.ground.remove(provider), "once more is no harm"


async def test_what_was_deleted_by_force_is_ended_by_whoever_comes_next(quayside, world):
    quayside.noting("toy")
    async with grounded(quayside, world.connection):
        gone, kept = await quayside.provider("toy"), await quayside.provider("toy")
        pid, other = await quayside.up(gone), await quayside.up(kept)
    await world.delete(type(gone), gone.metadata.name)
    async with grounded(quayside, world.connection):
        await dead(pid)
        await until(lambda: not quayside.directory(gone).exists(), "its directory is gone")
        assert await quayside.up(kept) == other


async def test_what_runs_inside_this_process_is_not_started(quayside, world):
    provider = await quayside.provider("toy")
    name = provider.metadata.name
    provider = await quayside.changed(provider, image=f"mooring/{name}")
    async with grounded(quayside, world.connection, built_in={name}):
        for seen in (await quayside.ground.initialised(provider), await quayside.ground.running(provider)):
            assert (seen.done, seen.reason) == (True, "BuiltIn")
        assert not quayside.directory(provider).exists()
        assert quayside.ground.declared(provider).run == ()
        assert await quayside.ground.remove(provider)


async def test_what_runs_inside_this_process_is_there_once_and_as_itself(quayside, world):
    """Neither is a second object for it called ready and does nothing, nor does another program run under its name."""
    quayside.noting("toy")
    inside, second = await quayside.provider("toy"), await quayside.provider("toy")
    name = inside.metadata.name
    second = await quayside.changed(second, image=f"mooring/{name}")
    async with grounded(quayside, world.connection, built_in={name}):
        for provider, words in (
            (second, f"The image mooring/{name} runs inside Mooring already, as the provider {name}"),
            (inside, f"The provider {name} runs inside Mooring, and cannot be run of the image toy"),
        ):
            seen = await quayside.ground.initialised(provider)
            assert (seen.done, seen.failed, seen.reason) == (False, True, "BuiltIn")
            assert words in seen.message
            assert not quayside.directory(provider).exists()
            assert await quayside.ground.remove(provider)


async def test_a_provider_that_becomes_a_built_in_one_leaves_its_process(quayside, world):
    quayside.noting("toy")
    async with grounded(quayside, world.connection):
        provider = await quayside.provider("toy")
        pid = await quayside.up(provider)
    name = provider.metadata.name
    async with grounded(quayside, world.connection, built_in={name}):
        provider = await quayside.changed(provider, image=name)
        await quayside.initialised(provider)
        await dead(pid)
        assert not quayside.directory(provider).exists()
