"""What a check is: one sentence of the contract, and a deed that finds out whether a provider keeps it.

The modules of ``contract`` hold the deeds; each registers itself here by the decorator :func:`check`, in the order of
the page that states the contract (``docs/reference/provider-contract.md``).
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mooring.testing.conformance.trials import Trial

    Deed = Callable[[Trial], Awaitable[None]]

PAGE: Final = "docs/reference/provider-contract.md"
# In the order of the page.
_CHAPTERS: Final = (
    "program",
    "profiles",
    "responsibility",
    "clusters",
    "versions",
    "statuses",
    "deletion",
    "restarts",
    "secrets",
    "access",
    "tokens",
    "endings",
    "identities",
)


class Level(StrEnum):
    """How binding a sentence is, as in RFC 2119."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Stage(IntEnum):
    """When a check is made."""

    TOGETHER = 0  # beside the others of this stage
    ALONE = 1  # after those, one at a time: it stops providers, or takes away what others need
    LAST = 2  # looks at all that has happened


class Unmet(Exception):
    """The provider does not keep the sentence."""

    def __init__(self, *, expected: str, seen: str, remedy: str = "") -> None:
        super().__init__(f"expected {expected}; seen: {seen}")
        self.expected = expected
        self.seen = seen
        self.remedy = remedy


class DoesNotApply(Exception):
    """There is nothing to check with this provider; the message says why."""


class UnknownChecks(Exception):
    """Words that name no check; the message lists those that would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One MUST or SHOULD."""

    id: str
    level: Level
    sentence: str
    needs: tuple[str, ...] = ()  # if one of these fails, this one cannot be made
    stage: Stage = Stage.TOGETHER
    starts: bool = False  # it starts, stops or disturbs the provider, which must be the suite's to do
    deed: Deed = field(repr=False, compare=False)

    @property
    def link(self) -> str:
        """Where the contract says so."""
        return f"{PAGE}#{self.anchor}"

    @property
    def anchor(self) -> str:
        return self.id.replace(".", "-")


_registered: dict[str, Check] = {}


def check(
    name: str,
    level: Level,
    sentence: str,
    *,
    needs: Sequence[str] = (),
    stage: Stage = Stage.TOGETHER,
    starts: bool = False,
) -> Callable[[Deed], Deed]:
    """Register a deed as a check."""

    def registered(deed: Deed) -> Deed:
        if name in _registered:
            raise ValueError(f"there are two checks {name}")
        _registered[name] = Check(
            id=name, level=level, sentence=sentence, needs=tuple(needs), stage=stage, starts=starts, deed=deed
        )
        return deed

    return registered


def all_checks() -> Sequence[Check]:
    """Every check, in the order of the page."""
    chapters = [f"mooring.testing.conformance.contract.{chapter}" for chapter in _CHAPTERS]
    for chapter in chapters:
        importlib.import_module(chapter)
    # They import each other, and so do not come in the order of their pages.
    return sorted(_registered.values(), key=lambda one: chapters.index(one.deed.__module__))


def chosen_checks(only: Collection[str] = (), skip: Collection[str] = ()) -> Sequence[Check]:
    """Those that are asked for, by their id or by the word before its dot, and those that they need."""
    known = {one.id: one for one in all_checks()}
    left_out = _named(skip, known)
    chosen = _named(only, known) if only else set(known)
    waiting = list(chosen)
    while waiting:
        needed = set(known[waiting.pop()].needs) - chosen
        chosen |= needed
        waiting += needed
    return [one for one in known.values() if one.id in chosen - left_out]


def _named(words: Collection[str], known: Collection[str]) -> set[str]:
    named: set[str] = set()
    for word in words:
        fitting = {name for name in known if word in (name, name.partition(".")[0])}
        if not fitting:
            raise UnknownChecks(f"There is no check {word!r}; there are: {', '.join(known)}.")
        named |= fitting
    return named
