"""What a rule is, and what can come of it.

A rule is of a repository, of one release, or of live objects; some can be judged by nobody who has only files, and say
so. ``today`` tells what today's clusterctl does about it, where that differs from the contract of v1alpha3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mooring.clusterctl.lint.material import Material, Release

TODAY: Final = "Today's clusterctl"  # the topic of what the contract itself does not ask for


class Level(StrEnum):
    """How much the contract wants it."""

    MUST = "MUST"  # must, required, expected
    SHOULD = "SHOULD"  # should, recommended


class Outcome(StrEnum):
    """What can be said about a rule."""

    PASS = "pass"  # noqa: S105 - the word, and no password
    FAIL = "fail"
    UNKNOWN = "not checkable from files"


OfRepository = Callable[[Material], Iterable[str]]
OfRelease = Callable[[Release], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. A check yields what breaks it; a rule without one cannot be judged from files, and tells why."""

    number: int
    level: Level
    topic: str  # the section of the contract
    text: str
    repository: OfRepository | None = None
    release: OfRelease | None = None
    live: bool = False  # judged by the objects of a management cluster
    unknown: str = ""
    today: str = ""

    @property
    def id(self) -> str:
        return f"P{self.number:02}"

    @property
    def of_today(self) -> bool:
        """Whether the contract itself does not ask for it, and only today's clusterctl does."""
        return self.topic == TODAY


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one rule, for the repository or for one of its releases."""

    rule: Rule
    outcome: Outcome
    release: str = ""
    findings: tuple[str, ...] = ()

    @property
    def breaks(self) -> bool:
        """Whether the contract is broken, and not merely a recommendation."""
        return self.outcome is Outcome.FAIL and self.rule.level is Level.MUST
