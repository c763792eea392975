"""Traits: what is asked for by a request and its purposes together, and whether a profile has it.

``united`` makes one list of wishes out of several, with traits that mean the same mapped to one name; ``judged`` holds
that list against the traits that a profile offers. Both are told what they need and look nothing up. Wishes are
well-formed here: the server sees to it for objects, and whoever reads them from elsewhere asks ``malformed`` first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NewType

from mooring.api.traits import TraitWish

Source = NewType("Source", str)

REQUEST: Final = Source("the request")


def purpose_source(name: str) -> Source:
    """The purpose as the one who asks."""
    return Source(f"purpose {name}")


@dataclass(frozen=True, slots=True)
class Equivalences:
    """Which traits mean the same. Made by ``of``, so that no trait is in two classes."""

    classes: tuple[tuple[str, ...], ...] = ()  # sorted, as is each of them; none has only one member
    _class_of: Mapping[str, tuple[str, ...]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_class_of", {trait: members for members in self.classes for trait in members})

    @classmethod
    def of(cls, groups: Iterable[Iterable[str]]) -> Equivalences:
        """Traits of one group mean the same, and groups that share a trait are one."""
        parents: dict[str, str] = {}
        for group in groups:
            members = list(group)
            for trait in members:
                parents.setdefault(trait, trait)
                parents[_root(parents, trait)] = _root(parents, members[0])
        classes: dict[str, list[str]] = {}
        for trait in sorted(parents):
            classes.setdefault(_root(parents, trait), []).append(trait)
        return cls(tuple(sorted(tuple(members) for members in classes.values() if len(members) > 1)))

    def members(self, trait: str) -> tuple[str, ...]:
        """All names of the trait, sorted; just its own if it has no other."""
        return self._class_of.get(trait, (trait,))

    def canonical(self, trait: str) -> str:
        """The one name that stands for all names of the trait: the smallest."""
        return self.members(trait)[0]


NO_EQUIVALENCES: Final = Equivalences()


def _root(parents: dict[str, str], trait: str) -> str:
    while parents[trait] != trait:
        parents[trait] = trait = parents[parents[trait]]  # halves the way for the next one
    return trait


class OperatorKind(StrEnum):
    OR = "or"
    AND = "and"
    XOR = "xor"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One trait that is asked for."""

    trait: str  # the name that stands for its class
    spelled: tuple[str, ...]  # as it was written, each spelling once
    optional: bool
    negated: bool
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """Several wishes that are one."""

    kind: OperatorKind
    parts: tuple[Wanted, ...]
    optional: bool
    negated: bool
    source: Source


Wanted = Leaf | Operator


def united(asked: Sequence[tuple[Source, Sequence[TraitWish]]], equivalences: Equivalences) -> tuple[Wanted, ...]:
    """One list of what all sources ask for; the earlier source comes first and counts where they contradict.

    A trait that is asked for several times appears once: required if anybody requires it, negated as the first says.
    Operators stay as they are beside each other, since what they say cannot be merged entry by entry.
    """
    found: dict[object, Wanted] = {}
    for source, wishes in asked:
        for wish in wishes:
            wanted = _read(wish, source, equivalences)
            key = _meaning(wanted) if isinstance(wanted, Operator) else wanted.trait
            known = found.setdefault(key, wanted)
            if known is not wanted and isinstance(known, Leaf) and isinstance(wanted, Leaf):
                found[key] = _merged(known, wanted)
    return tuple(found.values())


def _read(wish: TraitWish, source: Source, equivalences: Equivalences) -> Wanted:
    for kind, entries in _operators(wish):
        parts = tuple(_read(entry, source, equivalences) for entry in entries)
        return Operator(kind, parts, wish.optional, wish.negated, source)
    return Leaf(equivalences.canonical(wish.key), (wish.key,), wish.optional, wish.negated, (source,))


def _operators(wish: TraitWish) -> Iterator[tuple[OperatorKind, tuple[TraitWish, ...]]]:
    """The operators that a wish has: none or one, unless it is malformed."""
    given = ((OperatorKind.OR, wish.any_of), (OperatorKind.AND, wish.all_of), (OperatorKind.XOR, wish.one_of))
    return ((kind, entries) for kind, entries in given if entries)


def _merged(earlier: Leaf, later: Leaf) -> Leaf:
    return replace(
        earlier,
        spelled=tuple(dict.fromkeys(earlier.spelled + later.spelled)),
        optional=earlier.optional and later.optional,
        sources=tuple(dict.fromkeys(earlier.sources + later.sources)),
    )


def _meaning(wanted: Wanted) -> object:
    """What tells two operators apart, whoever wrote them and under whichever names."""
    if isinstance(wanted, Leaf):
        return wanted.trait, wanted.optional, wanted.negated
    return wanted.kind, tuple(map(_meaning, wanted.parts)), wanted.optional, wanted.negated


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an offer lacks, and how many of the preferences it meets."""

    unmet: tuple[Wanted, ...]  # required and not there
    score: int


def offered_by(traits: Iterable[str], equivalences: Equivalences) -> frozenset[str]:
    """The traits of a profile by the names that stand for their classes."""
    return frozenset(map(equivalences.canonical, traits))


def judged(wanted: Sequence[Wanted], offered: frozenset[str]) -> Verdict:
    """Hold what is wanted against the traits on offer, which ``offered_by`` has named."""
    unmet: list[Wanted] = []
    score = 0
    for one in wanted:
        holds, points = _weighed(one, offered)
        score += points
        if not holds and not one.optional:
            unmet.append(one)
    return Verdict(tuple(unmet), score)


def _weighed(one: Wanted, offered: frozenset[str]) -> tuple[bool, int]:
    """Whether it holds, and how many preferences in it do; an operator needs its entries, preferences or not."""
    if isinstance(one, Leaf):
        holds = (one.trait in offered) != one.negated
        return holds, int(holds and one.optional)
    weighed = [_weighed(part, offered) for part in one.parts]
    holds = _combined(one.kind, [held for held, _ in weighed]) != one.negated
    return holds, sum(points for _, points in weighed) + int(holds and one.optional)


def _combined(kind: OperatorKind, truths: Sequence[bool]) -> bool:
    match kind:
        case OperatorKind.OR:
            return any(truths)
        case OperatorKind.AND:
            return all(truths)
        case OperatorKind.XOR:
            return sum(truths) == 1


def told(wanted: Wanted) -> str:
    """The wish in words, under the names that were written."""
    return _words(wanted) + (", if possible" if wanted.optional else "")


def _words(wanted: Wanted) -> str:
    negation = "not " if wanted.negated else ""
    if isinstance(wanted, Leaf):
        first, *others = wanted.spelled
        return f"{negation}{first}" + (f" (also called {', '.join(others)})" if others else "")
    parts = list(map(_words, wanted.parts))
    if wanted.kind is OperatorKind.XOR:
        return f"{negation}exactly one of ({', '.join(parts)})"
    return f"{negation}({f' {wanted.kind} '.join(parts)})"


def malformed(wishes: Sequence[TraitWish], where: str) -> str | None:
    """What is wrong with the first bad entry of a list that no server has checked, and what to do; None if all is well.

    Goes down no further than wishes may be nested, however deep they are.
    """
    waiting = [(wish, path, 0) for wish, path in reversed(_placed(wishes, where))]
    while waiting:
        wish, path, depth = waiting.pop()
        operators = list(_operators(wish))
        given = [key for key, name in (("trait", wish.trait), ("name", wish.name)) if name] + [*dict(operators)]
        if len(given) != 1:
            has = f"{', '.join(given)} at once" if given else "nothing, or only what is empty"
            return f"{path} has {has}; it must have exactly one of trait (or name, which means the same), or, and, xor"
        if operators and depth == TraitWish.DEPTH:
            return f"{path} is an operator below {depth} others, the most there can be; say it with less nesting"
        for kind, entries in operators:
            waiting += [(entry, at, depth + 1) for entry, at in reversed(_placed(entries, f"{path}.{kind}"))]
    return None


def _placed(wishes: Sequence[TraitWish], where: str) -> list[tuple[TraitWish, str]]:
    return [(wish, f"{where}[{place}]") for place, wish in enumerate(wishes)]
