"""From rules and material to verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from mooring.clusterctl.lint.material import Material
from mooring.clusterctl.lint.rules import RULES, Outcome, Rule, Verdict


def judged(
    material: Material, *, only: Collection[str] = (), live: Mapping[str, Sequence[str]] | None = None
) -> list[Verdict]:
    """A verdict for each rule, or for those named; ``live`` is what a management cluster showed, by rule."""
    rules = [rule for rule in RULES.values() if not only or rule.id in only]
    return [verdict for rule in rules for verdict in _judged(rule, material, live)]


def _judged(rule: Rule, material: Material, live: Mapping[str, Sequence[str]] | None) -> Iterator[Verdict]:
    if rule.live and live is not None:
        yield _verdict(rule, live.get(rule.id, ()))
    elif rule.repository is not None:
        yield _verdict(rule, rule.repository(material))
    elif rule.release is not None:
        for release in material.releases:
            yield _verdict(rule, rule.release(release), release.version)
    else:
        yield Verdict(rule, Outcome.UNKNOWN, findings=(rule.unknown,))


def _verdict(rule: Rule, findings: Iterable[str], release: str = "") -> Verdict:
    told = tuple(dict.fromkeys(findings))
    return Verdict(rule, Outcome.FAIL if told else Outcome.PASS, release, told)
