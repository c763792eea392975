"""Reports for people and for CI: text, and the XML that test reporters read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from mooring.api.texts import aligned, printable
from mooring.testing.conformance.checks import Check, Level
from mooring.testing.conformance.report import Outcome, Report, Result, details_of

_SIGNS = {Outcome.PASSED: "passed", Outcome.FAILED: "FAILED", Outcome.SKIPPED: "skipped"}


def line_of(one: Result) -> str:
    """One result on one line."""
    return f"{_SIGNS[one.outcome]:8}{one.check.level:8}{one.check.id}"


def as_text(report: Report) -> str:
    """Every check with what came of it, and the sum."""
    rows = [(_SIGNS[one.outcome], str(one.check.level), one.check.id, one.check.sentence) for one in report.results]
    lines = []
    for one, line in zip(report.results, aligned(rows), strict=True):
        lines.append(line)
        if one.outcome is not Outcome.PASSED:
            lines += [printable(f"          {name}: {text}") for name, text in details_of(one)]
    return "\n".join([*lines, "", _sum(report), ""])


def _sum(report: Report) -> str:
    counts = ", ".join(f"{len(report.named(outcome))} {outcome}" for outcome in Outcome)
    broken = len(report.named(Outcome.FAILED, Level.MUST))
    ignored = len(report.named(Outcome.FAILED, Level.SHOULD))
    if broken:
        verdict = f"{report.provider} does not conform: it breaks {broken} MUST."
    elif ignored:
        verdict = f"{report.provider} conforms, and does not do {ignored} of what it SHOULD."
    else:
        verdict = f"{report.provider} conforms."
    return f"{len(report.results)} checks: {counts}. {verdict}"


def as_list(checks: Iterable[Check]) -> Sequence[str]:
    """The checks themselves, as a table."""
    rows = [(one.id, str(one.level), one.sentence) for one in checks]
    return aligned([("CHECK", "LEVEL", "SENTENCE"), *rows])


def as_junit(report: Report) -> str:
    """A test suite with a case for each check. A SHOULD that is not kept counts as skipped: it fails no build."""
    broken, skipped = report.named(Outcome.FAILED, Level.MUST), report.named(Outcome.SKIPPED)
    suite = ElementTree.Element(
        "testsuite",
        name=f"conformance of {report.provider}",
        tests=str(len(report.results)),
        failures=str(len(broken)),
        errors="0",
        skipped=str(len(skipped) + len(report.named(Outcome.FAILED, Level.SHOULD))),
        time=f"{sum(one.seconds for one in report.results):.3f}",
    )
    for one in report.results:
        suite.append(_case(one))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _case(one: Result) -> ElementTree.Element:
    group, _, name = one.check.id.partition(".")
    case = ElementTree.Element("testcase", classname=group, name=name, time=f"{one.seconds:.3f}")
    if one.outcome is not Outcome.PASSED:
        fails = one.outcome is Outcome.FAILED and one.check.level is Level.MUST
        text = printable("; ".join(f"{name}: {text}" for name, text in details_of(one)))
        ElementTree.SubElement(case, "failure" if fails else "skipped", message=text).text = one.check.sentence
    return case
