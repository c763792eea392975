"""``mooring conformance``: does a provider keep the contract?"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mooring.cli.background import INTERRUPTED
from mooring.cli.operator import ContextOption

if TYPE_CHECKING:
    from mooring.controlplane.progress import Progress
    from mooring.kube import Connection
    from mooring.testing.conformance import Report, Settings, Subject


class Told(StrEnum):
    """How the results are printed."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"


def conformance(
    program: Annotated[
        list[str] | None,
        typer.Argument(
            help="After --: a program, and words that come before its 'init' and 'run'.", show_default=False
        ),
    ] = None,
    provider: Annotated[str, typer.Option("--provider", help="A provider of the SDK: its name, or module:Class.")] = "",
    command: Annotated[
        str, typer.Option("--command", help="The same as PROGRAM, as one text: './my-provider -x'.")
    ] = "",
    running: Annotated[
        str, typer.Option("--running", help="A provider that runs already, by its provider name; with --kubeconfig.")
    ] = "",
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", help="YAML with the provider's configuration objects. Can be repeated."),
    ] = None,
    rights: Annotated[
        Path | None,
        typer.Option("--rights", help="YAML with the RBAC rules that a program gets. [default: it may do everything]"),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option("--kubeconfig", help="A cluster that knows our kinds. [default: one that is started for the run]"),
    ] = None,
    context: ContextOption = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Where Clusters are made. [default: one for the run]")
    ] = None,
    timeout: Annotated[
        list[str] | None,
        typer.Option(
            "--timeout",
            help="How long to wait for each thing that is expected, such as 10m; or CHECK=10m for one check. "
            "Can be repeated. [default: 2m]",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="These checks (or groups, such as profiles), and what they need. Can be repeated."),
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", help="Not these checks or groups. Can be repeated.")
    ] = None,
    parallel: Annotated[
        int, typer.Option("--parallel", min=1, help="How many checks at once, where they bear it.")
    ] = 4,
    logs: Annotated[
        Path | None, typer.Option("--logs", help="A directory to keep the provider's logs in. [default: nowhere]")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the checks, and do nothing.")] = False,
    output: Annotated[Told, typer.Option("--output", "-o", help="How to print the results.")] = Told.TEXT,
) -> None:
    """Check a provider of clusters against the contract, on a real API server.

    For example: 'mooring conformance --provider my_provider:MyProvider --config config.yaml', or, for a provider in
    any language, 'mooring conformance --config config.yaml -- ./my-provider'.

    Programs are started as a deployment starts them: 'PROGRAM init' and 'PROGRAM run' with its flags and environment.
    Each MUST and SHOULD of docs/reference/provider-contract.md is one check. Exits with 1 if a MUST is not kept.
    """
    if show:
        _print_checks(only or (), skip or (), output)
        return
    subject = _subject(provider, command, program or (), running, rights, elsewhere=kubeconfig is not None)
    settings = _settings(config or (), namespace, timeout or (), only or (), skip or (), parallel, logs)
    if subject.needs_config and not settings.configs:
        from mooring.testing.conformance import NoConfig

        raise typer.BadParameter(str(NoConfig(subject)))
    try:
        with _terminating():
            report = _checked(subject, settings, kubeconfig, context)
    except KeyboardInterrupt:
        typer.echo("Stopped; nothing is left behind.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _print(report, output)
    if not report.conforms:
        raise typer.Exit(1)


# -- words ------------------------------------------------------------------------------------------------------------


def _subject(
    provider: str, command: str, program: Sequence[str], running: str, rights: Path | None, *, elsewhere: bool
) -> Subject:
    from mooring.providers.registry import BrokenProvider, NoSuchProvider
    from mooring.testing.conformance import command_subject, provider_subject, running_subject

    words = list(program) or _split(command)
    if sum(map(bool, (provider, command, program, running))) != 1:
        raise typer.BadParameter(
            "say whom to check, in one of these ways: --provider NAME, -- PROGRAM, --command, or --running."
        )
    if rights is not None and not words:
        raise typer.BadParameter("--rights is for a program; a provider of the SDK says itself what it needs.")
    if running and not elsewhere:
        raise typer.BadParameter("--running NAME needs --kubeconfig: the cluster that the provider runs on.")
    if running:
        return running_subject(running)
    if words:
        return command_subject(_found(words), rights=_rules(rights))
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # where the author of module:Class is
    try:
        return provider_subject(provider)
    except (NoSuchProvider, BrokenProvider) as error:
        raise typer.BadParameter(str(error)) from None


def _found(words: list[str]) -> list[str]:
    if shutil.which(words[0]) is None:
        raise typer.BadParameter(f"{words[0]!r} is no program that can be started.")
    return words


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise typer.BadParameter(f"--command cannot be read: {error}.") from None


def _rules(file: Path | None) -> list[dict[str, Any]] | None:
    """A list of rules, or a Role or ClusterRole that has one."""
    import yaml

    if file is None:
        return None
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"--rights: {file} is not YAML: {' '.join(str(error).split())}.") from None
    rules = document.get("rules") if isinstance(document, dict) else document
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise typer.BadParameter(f"--rights: {file} holds no list of RBAC rules, and no ClusterRole with one.")
    return rules


def _settings(
    configs: Sequence[Path],
    namespace: str | None,
    timeouts: Sequence[str],
    only: Sequence[str],
    skip: Sequence[str],
    parallel: int,
    logs: Path | None,
) -> Settings:
    from mooring.testing.conformance import Settings, UnknownChecks, UnusableConfig, all_checks, read_configs
    from mooring.testing.conformance.checks import chosen_checks
    from mooring.testing.conformance.suite import PATIENCE

    usual, special = PATIENCE, {}
    known = {one.id for one in all_checks()}
    for text in timeouts:
        check, equals, length = text.rpartition("=")
        if equals and check not in known:
            raise typer.BadParameter(f"--timeout {text}: there is no check {check!r}; --list shows them.")
        if equals:
            special[check] = _seconds(length)
        else:
            usual = _seconds(length)
    try:
        chosen_checks(only, skip)
        documents = read_configs(configs)
    except (UnknownChecks, UnusableConfig) as error:
        raise typer.BadParameter(str(error)) from None
    return Settings(
        configs=documents,
        namespace=namespace,
        patience=usual,
        patience_for=special,
        only=only,
        skip=skip,
        parallel=parallel,
        logs=logs,
    )


def _seconds(text: str) -> float:
    from mooring.api.durations import seconds_of
    from mooring.app.requests import checked_duration

    return seconds_of(checked_duration(text, "--timeout"))


# -- deeds ------------------------------------------------------------------------------------------------------------


def _checked(subject: Subject, settings: Settings, kubeconfig: Path | None, context: str | None) -> Report:
    import asyncio

    from mooring.cli.progress import showing_progress
    from mooring.testing.conformance import Result, check_provider
    from mooring.testing.conformance.rendering import line_of

    with showing_progress() as progress, _platform(kubeconfig, context, progress) as connection:
        progress.step("Checking")

        def told(result: Result) -> None:
            progress.step(line_of(result))

        return asyncio.run(check_provider(subject, connection, settings, told=told))


@contextlib.contextmanager
def _platform(kubeconfig: Path | None, context: str | None, progress: Progress) -> Iterator[Connection]:
    if kubeconfig is not None or context is not None:
        from mooring.kube import load_connection

        yield load_connection(kubeconfig, context)
        return
    from mooring.testing.conformance.grounds import throwaway_platform

    with throwaway_platform(progress) as connection:
        yield connection


@contextlib.contextmanager
def _terminating() -> Iterator[None]:
    """SIGTERM is as good as Ctrl-C: both leave nothing behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# -- telling ----------------------------------------------------------------------------------------------------------


def _print_checks(only: Sequence[str], skip: Sequence[str], output: Told) -> None:
    from mooring.testing.conformance import UnknownChecks
    from mooring.testing.conformance.checks import chosen_checks
    from mooring.testing.conformance.rendering import as_list

    try:
        checks = chosen_checks(only, skip)
    except UnknownChecks as error:
        raise typer.BadParameter(str(error)) from None
    if output in (Told.JSON, Told.YAML):
        _print_data(
            [{"check": one.id, "level": str(one.level), "sentence": one.sentence, "link": one.link} for one in checks],
            output,
        )
    else:
        for line in as_list(checks):
            typer.echo(line)


def _print(report: Report, output: Told) -> None:
    from mooring.testing.conformance.rendering import as_junit, as_text

    if output is Told.TEXT:
        typer.echo(as_text(report), nl=False)
    elif output is Told.JUNIT:
        typer.echo(as_junit(report), nl=False)
    else:
        _print_data(report.as_data(), output)


def _print_data(data: Any, output: Told) -> None:
    from mooring.cli.why import Telling, print_data

    print_data(data, Telling(str(output)))
