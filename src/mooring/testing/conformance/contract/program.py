"""The program: what a deployment expects of it."""

from __future__ import annotations

from mooring.controlplane.ports import free_port
from mooring.testing.conformance.checks import Level, Stage, Unmet, check
from mooring.testing.conformance.contract.profiles import published
from mooring.testing.conformance.trials import Trial

_FLAGS = "--environment, --verbosity and --provider-name"


@check(
    "program.init",
    Level.MUST,
    "The command init installs what the provider needs, and ends with 0.",
    starts=True,
)
async def init_ends_well(trial: Trial) -> None:
    await _init(trial, f"'init' with {_FLAGS} ends with 0")


@check(
    "program.init-again",
    Level.MUST,
    "The command init can be repeated.",
    needs=["program.init"],
    starts=True,
)
async def init_can_be_repeated(trial: Trial) -> None:
    await _init(trial, "'init' ends with 0 also where everything is there already")


@check(
    "program.flags",
    Level.MUST,
    "The command run takes every flag that a deployment gives it, and works as well with them.",
    needs=["profiles.side-by-side"],
    stage=Stage.ALONE,
    starts=True,
)
async def run_takes_all_flags(trial: Trial) -> None:
    await trial.once("an instance with all flags", _with_all_flags)


@check(
    "program.terminates",
    Level.SHOULD,
    "The command run ends with 0 within 30 s of SIGTERM.",
    needs=["program.flags"],
    stage=Stage.ALONE,
    starts=True,
)
async def run_ends_in_good_order(trial: Trial) -> None:
    await trial.once("an instance with all flags", _with_all_flags)
    instance = trial.bench.instances.pop(trial.bench.third)
    code = await instance.ask_to_stop()
    if code != 0:
        how = "had to be killed" if code is None else f"ended with {code}"
        raise Unmet(
            expected="it finishes what it does, and ends with 0",
            seen=f"it {how}; its last words: {instance.last_words()}",
            remedy="Handle SIGTERM: a pod that does not is killed in the middle of something.",
        )


async def _with_all_flags(trial: Trial) -> None:
    bench = trial.bench
    more = ("--leader-elect=true", f"--metrics-bind-address=127.0.0.1:{free_port()}", "--metrics-secure=false")
    await bench.start(bench.third, more, verbosity="debug")
    try:
        await published(trial, bench.third, f"it runs with {', '.join(more)} and --verbosity=debug, and publishes")
    except Unmet:
        await bench.instances.pop(bench.third).kill()
        raise


async def _init(trial: Trial, expected: str) -> None:
    instance = await trial.bench.init()
    code = await instance.finish(trial.patience)
    if code == 0:
        return
    seen = "it did not end" if code is None else f"it ended with {code}"
    remedy = "Whatever it does must be repeatable: create or update."
    if refusal := instance.refusal():
        remedy = f"It may lack a right; its log says: {refusal}"
    raise Unmet(expected=expected, seen=f"{seen}; its last words: {instance.last_words()}", remedy=remedy)
