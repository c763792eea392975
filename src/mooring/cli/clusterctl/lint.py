"""``lint``: a provider repository against every rule of the provider contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mooring.cli.clusterctl.common import CONTEXT, KUBECONFIG, compat_of, management
from mooring.cli.clusterctl.tree import Command, Flag, Form, Given, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mooring.clusterctl.lint import Material, Verdict


def _lint(given: Given) -> int:
    from pathlib import Path

    from mooring.clusterctl.lint import RULES, Level, Outcome, judged, read_material

    if given["list-rules"]:
        for rule in RULES.values():
            given.say(f"{rule.id}  {rule.level:<6}  {rule.text}")
        return 0
    if not given.arguments:
        raise UsageError("lint needs REPOSITORY: the folder of a provider, such as …/infrastructure-aws")
    if unknown := [name for name in given["rule"] if name not in RULES]:
        raise UsageError(f"there is no rule {unknown[0]!r}: --list-rules shows all")
    if given["output"] not in ("text", "json"):
        raise UsageError(f"invalid argument {given['output']!r} for --output: write text or json")
    material = read_material(Path(given.arguments[0].removeprefix("file://")))
    live = _live(given, material) if given.changed & {"kubeconfig", "kubeconfig-context"} else None
    verdicts = judged(material, only=given["rule"], today=not compat_of(given), live=live)
    _show(given, verdicts)
    wanted = {Level.MUST, Level.SHOULD} if given["strict"] else {Level.MUST}
    return int(any(one.outcome is Outcome.FAIL and one.rule.level in wanted for one in verdicts))


def _live(given: Given, material: Material) -> Mapping[str, Sequence[str]]:
    import asyncio

    from mooring.clusterctl.lint.live import look
    from mooring.kube import Client

    async def looked() -> Mapping[str, Sequence[str]]:
        async with Client(management(given)) as client:
            return await look(client, material)

    return asyncio.run(looked())


def _show(given: Given, verdicts: Sequence[Verdict]) -> None:
    if given["output"] == "json":
        given.say(json.dumps([_as_data(one) for one in verdicts], indent=2))
        return
    for one in verdicts:
        where = f" {one.release}" if one.release else ""
        given.say(f"{one.rule.id}  {one.rule.level:<6}  {one.outcome:<24}{where}  {one.rule.text}")
        for finding in one.findings:
            given.say(f"     - {finding}")
        if one.findings and one.rule.today and one.outcome == "fail":
            given.say(f"     Today's clusterctl: {one.rule.today}")
    counts = {
        name: sum(one.outcome == name for one in verdicts) for name in ("pass", "fail", "not checkable from files")
    }
    given.say(", ".join(f"{count} {name}" for name, count in counts.items()))


def _as_data(one: Verdict) -> dict[str, object]:
    return {
        "rule": one.rule.id,
        "level": one.rule.level,
        "topic": one.rule.topic,
        "text": one.rule.text,
        "today": one.rule.today,
        "outcome": one.outcome,
        "release": one.release,
        "findings": list(one.findings),
    }


COMMAND = Command(
    "lint",
    "Hold a provider's repository against every rule of the provider contract.",
    _lint,
    [
        Flag("kubeconfig", f"{KUBECONFIG.help} Also looks at live objects there."),
        CONTEXT,
        Flag("compat", "Leave out what only today's clusterctl asks for: v1alpha3."),
        Flag("rule", "Only these rules, such as P16.", Form.LIST),
        Flag("list-rules", "Show all rules, and do nothing else.", Form.SWITCH),
        Flag("strict", "Fail for recommendations, too.", Form.SWITCH),
        Flag("output", "How to show it: text or json.", letter="o", default="text"),
    ],
    arguments="REPOSITORY",
    most=1,
    long="""
        REPOSITORY is the folder of a provider in a local repository, such as ~/repository/infrastructure-aws, or that
        of one of its versions. Each rule is answered with pass, fail, or not checkable from files. Exits with 1 if a
        rule that the contract insists on is broken.
    """,
    examples="""
        mooring clusterctl lint ~/repository/infrastructure-aws
        mooring clusterctl lint ~/repository/infrastructure-aws/v2.0.1 --kubeconfig management.kubeconfig
    """,
)
