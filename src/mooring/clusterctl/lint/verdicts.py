"""From rules and material to verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from mooring.clusterctl.lint.material import Material, NothingToLookAt, Release
from mooring.clusterctl.lint.rules import OfRelease, Outcome, Rule, Verdict
from mooring.clusterctl.lint.table import RULES


def judged(
    material: Material,
    *,
    only: Collection[str] = (),
    today: bool = True,
    live: Mapping[str, Sequence[str]] | None = None,
) -> list[Verdict]:
    """A verdict for each rule, or for those named; ``live`` is what a management cluster showed, by rule.

    Without ``today``, what only today's clusterctl asks for is left out.
    """
    rules = [rule for rule in RULES.values() if (rule.id in only if only else today or not rule.of_today)]
    return [verdict for rule in rules for verdict in _judged(rule, material, live)]


def _judged(rule: Rule, material: Material, live: Mapping[str, Sequence[str]] | None) -> Iterator[Verdict]:
    if rule.live and live is not None:
        yield _verdict(rule, live.get(rule.id, ()))
    elif rule.repository is not None:
        yield _verdict(rule, rule.repository(material))
    elif rule.release is not None:
        for release in material.releases:
            yield _of_release(rule, rule.release, release)
        if not material.releases:
            yield Verdict(rule, Outcome.UNKNOWN, findings=("There is no release to look at.",))
    else:
        yield Verdict(rule, Outcome.UNKNOWN, findings=(rule.unknown,))


def _of_release(rule: Rule, check: OfRelease, release: Release) -> Verdict:
    try:
        return _verdict(rule, check(release), release.version)
    except NothingToLookAt as nothing:
        return Verdict(rule, Outcome.UNKNOWN, release.version, (str(nothing),))


def _verdict(rule: Rule, findings: Iterable[str], release: str = "") -> Verdict:
    told = tuple(dict.fromkeys(findings))
    return Verdict(rule, Outcome.FAIL if told else Outcome.PASS, release, told)
