"""The run: checks in the order of what they need, those that bear it beside each other, and then the report."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mooring.kube import Client, Connection, KubeError, Object
from mooring.testing.conformance.bench import Bench
from mooring.testing.conformance.checks import Check, DoesNotApply, Stage, Unmet, chosen_checks
from mooring.testing.conformance.report import Outcome, Report, Result
from mooring.testing.conformance.subjects import Subject
from mooring.testing.conformance.trials import Trial

PATIENCE: Final = 120.0  # seconds for each expectation
PARALLEL: Final = 4

Told = Callable[[Result], None]


class NoConfig(Exception):
    """A provider of the SDK publishes nothing before it is configured."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(
            f"{subject.name} is a provider of the SDK, and those publish a profile for each of their configuration "
            f"objects: write one into a YAML file and name it with --config FILE. Its spec.providerRef is filled in."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a run is made."""

    configs: Sequence[Object] = ()
    namespace: str | None = None  # None: one of its own
    patience: float = PATIENCE
    patience_for: Mapping[str, float] = field(default_factory=dict)  # by the id of a check
    only: Collection[str] = ()
    skip: Collection[str] = ()
    parallel: int = PARALLEL
    logs: Path | None = None  # where the logs of the providers are kept; None: nowhere


async def check_provider(
    subject: Subject,
    connection: Connection,
    settings: Settings = Settings(),  # noqa: B008 - frozen
    *,
    told: Told = lambda _: None,
) -> Report:
    """Check a provider against the contract, on a platform that knows our kinds; ``told`` hears each result."""
    checks = chosen_checks(settings.only, settings.skip)
    if subject.needs_config and not settings.configs:
        raise NoConfig(subject)
    with _directory(settings.logs) as directory:
        async with Client(connection) as client:
            bench = Bench(client, subject, configs=settings.configs, namespace=settings.namespace, directory=directory)
            try:
                await bench.open()
                results = await _Run(bench, settings, told).all(checks)
            except BaseException:
                await bench.close_in_a_hurry()
                raise
            await bench.close(
                _patience_at_the_end(results, settings, ["deletion.gone"]),
                for_access=_patience_at_the_end(results, settings, ["access.token", "access.deletion"]),
            )
    return Report(provider=subject.name, results=[results[one.id] for one in checks])


def _patience_at_the_end(results: Mapping[str, Result], settings: Settings, told_by: Collection[str]) -> float:
    """Nobody waits for a provider that has shown, in one of these checks, that it ends nothing."""
    failed = any(results[name].outcome is Outcome.FAILED for name in told_by if name in results)
    return 0.0 if failed else settings.patience


@contextlib.contextmanager
def _directory(logs: Path | None) -> Iterator[Path]:
    """Where kubeconfigs and logs are. The former never stay."""
    with tempfile.TemporaryDirectory(prefix="mooring-conformance-") as name:
        directory = Path(name)
        try:
            yield directory
        finally:
            if logs is not None:
                logs.mkdir(parents=True, exist_ok=True)
                for file in directory.glob("*.log"):
                    (logs / file.name).write_bytes(file.read_bytes())


class _Run:
    """The checks of one run, and what came of them so far."""

    def __init__(self, bench: Bench, settings: Settings, told: Told) -> None:
        self._bench = bench
        self._settings = settings
        self._told = told
        self._over: dict[str, asyncio.Future[Result]] = {}

    async def all(self, checks: Sequence[Check]) -> Mapping[str, Result]:
        loop = asyncio.get_running_loop()
        self._over = {one.id: loop.create_future() for one in checks}
        for stage in Stage:
            places = asyncio.Semaphore(1 if stage is Stage.ALONE else self._settings.parallel)
            async with asyncio.TaskGroup() as group:
                for one in checks:
                    if one.stage is stage:
                        group.create_task(self._one(one, places))
        return {name: future.result() for name, future in self._over.items()}

    async def _one(self, check: Check, places: asyncio.Semaphore) -> None:
        needed = [await self._over[name] for name in check.needs if name in self._over]
        async with places:
            result = self._foregone(check, needed) or await self._made(check)
        self._over[check.id].set_result(result)
        self._told(result)

    def _foregone(self, check: Check, needed: Sequence[Result]) -> Result | None:
        """What is clear without a look."""
        broken = [one.check.id for one in needed if one.stops_others]
        if broken:
            why = f"it needs {', '.join(broken)}, which is not kept"
            return Result(check=check, outcome=Outcome.SKIPPED, why=why, blocked=True)
        if check.starts and not self._bench.subject.is_ours_to_start:
            why = "the provider runs already, and is not ours to start, stop or disturb"
            return Result(check=check, outcome=Outcome.SKIPPED, why=why)
        return None

    async def _made(self, check: Check) -> Result:
        began = time.monotonic()
        patience = self._settings.patience_for.get(check.id, self._settings.patience)
        trial = Trial(bench=self._bench, check=check.id, patience=patience, usual=self._settings.patience)
        said: dict[str, str] = {}
        try:
            await check.deed(trial)
            outcome = Outcome.PASSED
        except Unmet as error:
            outcome = Outcome.FAILED
            said = {"expected": error.expected, "seen": error.seen, "remedy": error.remedy}
        except DoesNotApply as error:
            outcome, said = Outcome.SKIPPED, {"why": str(error)}
        except KubeError as error:
            outcome = Outcome.FAILED
            said = {"expected": "the API server lets the check be made", "seen": str(error)}
        finally:
            with contextlib.suppress(KubeError):
                await trial.clean()
        return Result(
            check=check,
            outcome=outcome,
            expected=said.get("expected", ""),
            seen=said.get("seen", ""),
            remedy=said.get("remedy", ""),
            why=said.get("why", ""),
            seconds=time.monotonic() - began,
        )
