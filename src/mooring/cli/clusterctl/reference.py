"""The generated pages about ``mooring clusterctl``: every word and every flag; every rule of the linter."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from mooring.cli.clusterctl.common import EVERYWHERE
from mooring.cli.clusterctl.main import root
from mooring.cli.clusterctl.tree import Command, Flag
from mooring.clusterctl.lint import RULES, Rule

_HEAD = """# mooring clusterctl

Written by `make generate` from the commands themselves. [How to use it](../how-to/clusterctl.md) tells what it is for,
and [where it differs](clusterctl-deviations.md) from the other clusterctl. [The rules of `lint`](clusterctl-lint.md)
have a page of their own.
"""
_LINT = """# The rules of `mooring clusterctl lint`

Written by `make generate` from the table of rules itself. Each rule is a sentence of the provider contract, in any of
its wordings: MUST stands for must, required and expected, SHOULD for should and recommended. A rule is answered with
*pass*, with *fail* and what breaks it, or with *not checkable from files* and why. *Today* says what today's clusterctl
makes of it, where that matters; the rules under that name are not in the contract of v1alpha3 at all, and
`--compat v1alpha3` leaves them out.
"""
_HEADS = ("| rule | level | what it asks | judged by | today |", "| --- | --- | --- | --- | --- |")


def clusterctl_page() -> str:
    """The whole page."""
    sections = [_section(words, command) for words, command in _commands((), root())]
    everywhere = ["## Flags of all commands", "", *_rows(EVERYWHERE), ""]
    return "\n".join([_HEAD, *sections, *everywhere])


def lint_page() -> str:
    """The table of rules, topic by topic."""
    topics: dict[str, list[Rule]] = {}
    for rule in RULES.values():
        topics.setdefault(rule.topic, []).append(rule)
    tables = [["", f"## {topic}", "", *_HEADS, *map(_rule, rules)] for topic, rules in topics.items()]
    return "\n".join([_LINT.rstrip(), *(line for table in tables for line in table), ""])


def _commands(words: tuple[str, ...], command: Command) -> Iterator[tuple[tuple[str, ...], Command]]:
    yield (*words, command.name), command
    for one in command.words:
        if not one.hidden and one.name != "help":
            yield from _commands((*words, command.name), one)


def _section(words: tuple[str, ...], command: Command) -> str:
    usage = f"{' '.join(words)} {command.arguments if command.run else 'COMMAND'}".rstrip()
    lines = [f"## `{' '.join(words)}`", "", command.short, ""]
    if command.long:
        lines += [textwrap.dedent(command.long).strip(), ""]
    lines += ["```", usage, "```", ""]
    if command.examples:
        lines += ["```", textwrap.dedent(command.examples).strip(), "```", ""]
    shown = [one for one in command.flags if not one.hidden]
    return "\n".join([*lines, *(_rows(shown) if shown else []), ""])


def _rows(flags: tuple[Flag, ...] | list[Flag]) -> list[str]:
    rows = []
    for one in flags:
        names = ", ".join([*([f"`-{one.letter}`"] if one.letter else []), f"`--{one.name}`"])
        rows.append(f"| {names} | {one.form.value or 'switch'} | {_plain(one.help)} |")
    return ["| flag | kind | meaning |", "| --- | --- | --- |", *rows]


def _rule(rule: Rule) -> str:
    judge = "live objects" if rule.live else "nobody who has only files" if rule.unknown else "files"
    told = f"{rule.id} | {rule.level} | {_plain(rule.text)} | {judge} | {_plain(rule.today)}"
    return f"| {told} |".replace("|  |", "| |")


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
