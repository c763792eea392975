"""What came of the checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mooring.testing.conformance.checks import Check, Level


class Outcome(StrEnum):
    """Of one check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one check: if it failed, what was expected and seen; if it was skipped, why."""

    check: Check
    outcome: Outcome
    expected: str = ""
    seen: str = ""
    remedy: str = ""
    why: str = ""
    blocked: bool = False  # skipped because of something that failed
    seconds: float = 0.0

    @property
    def stops_others(self) -> bool:
        """Whether what needs this check cannot be checked."""
        return self.outcome is Outcome.FAILED or self.blocked

    def as_data(self) -> dict[str, Any]:
        one = self.check
        told = {"expected": self.expected, "seen": self.seen, "remedy": self.remedy, "why": self.why}
        return {
            "check": one.id,
            "level": str(one.level),
            "sentence": one.sentence,
            "outcome": str(self.outcome),
            **{name: text for name, text in told.items() if text},
            "seconds": round(self.seconds, 3),
            "link": one.link,
        }


class NotConforming(AssertionError):
    """The provider breaks the contract; the message lists every MUST that it does not keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The results, in the order of the contract."""

    provider: str
    results: Sequence[Result]

    def of(self, check: str) -> Result:
        """The result of one check, by its id."""
        return next(one for one in self.results if one.check.id == check)

    def named(self, outcome: Outcome, level: Level | None = None) -> list[str]:
        """The ids of those with this outcome; of one level, or of all."""
        fitting = (one for one in self.results if one.outcome is outcome)
        return [one.check.id for one in fitting if level in (None, one.check.level)]

    @property
    def conforms(self) -> bool:
        """Whether no MUST is broken. What was skipped is not known."""
        return not self.named(Outcome.FAILED, Level.MUST)

    def raise_for_failures(self) -> None:
        """For tests: raise NotConforming if a MUST is broken."""
        broken = [one for one in self.results if one.outcome is Outcome.FAILED and one.check.level is Level.MUST]
        if broken:
            told = "\n".join(f"- {one.check.id}: {one.check.sentence}\n{_details(one)}" for one in broken)
            raise NotConforming(f"{self.provider} breaks the contract of cluster providers:\n{told}")

    def as_data(self) -> dict[str, Any]:
        counts = {str(outcome): len(self.named(outcome)) for outcome in Outcome}
        results = [one.as_data() for one in self.results]
        return {"provider": self.provider, "conforms": self.conforms, **counts, "results": results}


def _details(one: Result) -> str:
    return "\n".join(f"    {name}: {text}" for name, text in details_of(one))


def details_of(one: Result) -> list[tuple[str, str]]:
    """What there is to say about a result that did not pass, by name."""
    if one.outcome is Outcome.SKIPPED:
        return [("why", one.why)]
    told = [("expected", one.expected), ("seen", one.seen), ("remedy", one.remedy), ("see", one.check.link)]
    return [(name, text) for name, text in told if text]
