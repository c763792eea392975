"""``move``: Clusters and all that belongs to them, to another management cluster, or into files and out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mooring.cli.clusterctl.common import CONTEXT, KUBECONFIG, management
from mooring.cli.clusterctl.tree import Command, Flag, Form, Given, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mooring.clusterctl.move import Options, Report

_EXCLUSIVE: Final = (
    ("to-directory", "to-kubeconfig"),
    ("from-directory", "to-directory"),
    ("from-directory", "kubeconfig"),
)
_WARNINGS: Final = ("default", "all", "none")
# Of no use to whoever moves: names and versions that Cluster API itself has chosen.
_HIDDEN_BY_DEFAULT: Final = (
    r"metadata\.finalizers:.*cluster\.x-k8s\.io.*prefer a domain-qualified finalizer name .*",
    r".*is deprecated; use .*",
)
_FORMS: Final = ("text", "json", "yaml")


def _run(given: Given) -> int | None:
    import asyncio

    _check(given)
    report = asyncio.run(_moved(given))
    _print(given, report)
    return None


def _check(given: Given) -> None:
    for first, second in _EXCLUSIVE:
        if {first, second} <= given.changed:
            raise UsageError(f"--{first} and --{second} exclude each other: give one of them")
    if given["hide-api-warnings"] not in _WARNINGS:
        raise UsageError(
            f"invalid argument {given['hide-api-warnings']!r} for --hide-api-warnings: default, all or none"
        )
    if given["output"] not in _FORMS:
        raise UsageError(f"invalid argument {given['output']!r} for --output: {', '.join(_FORMS)}")
    if not any(given[name] for name in ("to-kubeconfig", "dry-run", "to-directory", "from-directory")):
        raise UsageError("there is no target: name one with --to-kubeconfig, --to-directory or --from-directory")


async def _moved(given: Given) -> Report:
    from pathlib import Path

    from mooring.clusterctl import move
    from mooring.kube import Client

    level = given["v"] if "v" in given.changed else _level(given.environ.get("CLUSTERCTL_LOG_LEVEL", ""))

    def tell(least: int, text: str) -> None:
        if level >= least:
            given.note(text)

    warned = _warned(given)

    if given["from-directory"]:
        async with Client(management(given, "to-kubeconfig", "to-kubeconfig-context"), warned=warned) as target:
            options = _options(given, given["namespace"])
            folder = Path(given["from-directory"]).expanduser()
            return await move.from_directory(target, folder, options, tell, dry_run=given["dry-run"])
    connection = management(given)
    options = _options(given, given["namespace"] or connection.namespace)
    async with Client(connection, warned=warned) as source:
        if given["to-directory"]:
            folder = Path(given["to-directory"]).expanduser()
            return await move.to_directory(source, folder, options, tell, dry_run=given["dry-run"])
        if given["dry-run"]:
            return await move.plan(source, options, tell)
        async with Client(management(given, "to-kubeconfig", "to-kubeconfig-context"), warned=warned) as target:
            return await move.move(source, target, options, tell)


def _warned(given: Given) -> Callable[[str], None]:
    """What becomes of warnings of the servers: each that is not hidden is shown once."""
    import re

    hidden = {"default": _HIDDEN_BY_DEFAULT, "all": (r"(?s).*",), "none": ()}[given["hide-api-warnings"]]
    shown: set[str] = set()

    def warn(text: str) -> None:
        if text not in shown and not any(re.fullmatch(one, text) for one in hidden):
            shown.add(text)
            given.note(f"Warning of the server: {text}")

    return warn


def _level(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _options(given: Given, namespace: str) -> Options:
    from mooring.clusterctl.move import Choice, Options

    choice = Choice(namespace, clusters=tuple(given["cluster"]), selector=given["selector"])
    return Options(choice, include_paused=given["include-paused"])


def _print(given: Given, report: Report) -> None:
    if given["output"] == "json":
        import json

        given.say(json.dumps(report.as_document(), indent=2))
    elif given["output"] == "yaml":
        from mooring.clusterctl.yamls import dump_one

        given.out.write(dump_one(report.as_document()))
    else:
        _print_text(given, report)


def _print_text(given: Given, report: Report) -> None:
    """Of a dry run everything, else what did not move; and the sums."""
    from mooring.api.texts import aligned

    shown = report.lines if report.dry_run else [*report.of("copy"), *report.of("skip")]
    if shown:
        rows = [(one.action, one.kind, one.namespace, one.name, one.reason) for one in shown]
        for line in aligned((("ACTION", "KIND", "NAMESPACE", "NAME", "WHY"), *rows)):
            given.say(line)
    for note in report.notes:
        given.say(note)
    moved, copied, skipped = (len(report.of(action)) for action in ("move", "copy", "skip"))
    would = "would be " if report.dry_run else ""
    given.say(f"{would}moved: {moved}, {would}copied and kept: {copied}, {would}left: {skipped}")


COMMAND: Final = Command(
    "move",
    "Move Cluster API objects and all that belongs to them between management clusters.",
    _run,
    flags=(
        KUBECONFIG,
        Flag("to-kubeconfig", "The kubeconfig of the cluster to move to."),
        CONTEXT,
        Flag("to-kubeconfig-context", "The context in that kubeconfig. [default: its current one]"),
        Flag("namespace", "The namespace whose Clusters are moved. [default: the context's]", letter="n"),
        Flag("dry-run", "Say what would be done, and do nothing.", Form.SWITCH),
        Flag("to-directory", "Write the objects into files in this directory instead."),
        Flag("from-directory", "Read the objects from the files in this directory instead."),
        Flag(
            "hide-api-warnings",
            "Which warnings of the servers to hide: default (on finalizers of Cluster API, and on what is deprecated), "
            "all or none.",
            default="default",
        ),
        Flag("cluster", "Only this Cluster (repeatable); what others need, too, is copied and stays.", Form.LIST),
        Flag("selector", "Only Clusters whose labels fit this selector."),
        Flag("include-paused", "Move Clusters that are paused, too, and leave them paused.", Form.SWITCH),
        Flag("output", "How to print the report: text, json or yaml.", letter="o", default="text"),
    ),
    long=(
        "Moves the Clusters of a namespace with everything that belongs to them to another management cluster, which "
        "must have the same providers. A failure before the first deletion at the source takes everything back; after "
        "it, and after a kill at any time, the same command goes on where it was. What did not move is listed, with "
        "the reason."
    ),
    examples=(
        "mooring clusterctl move --to-kubeconfig=target.yaml\n"
        "mooring clusterctl move --to-kubeconfig=target.yaml --cluster one --dry-run\n"
        "mooring clusterctl move --to-directory /tmp/backup\n"
        "mooring clusterctl move --from-directory /tmp/backup --to-kubeconfig=target.yaml"
    ),
)
