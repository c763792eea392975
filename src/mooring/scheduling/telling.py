"""A story as text, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from mooring.api.requests import RequestPhase
from mooring.api.texts import aligned, printable
from mooring.scheduling.candidates import Candidate, ProfileJudgement, Verdict
from mooring.scheduling.remedies import Who
from mooring.scheduling.story import Asked, Outcome, Story
from mooring.scheduling.traits import REQUEST

_WIDTH = 100

_MARKS = {Verdict.HELD: "*", Verdict.TAKEN: "*", Verdict.FITS: "+", Verdict.PASSED_OVER: "-"}
_WHO = {Who.REQUESTER: "You", Who.OWNER: "The owner of the platform"}
_STANDING = {RequestPhase.GRANTED: "granted", RequestPhase.PENDING: "waiting", RequestPhase.DENIED: "denied"}


def as_text(told: Story) -> str:
    """All of it, in the order in which it happened."""
    chapters = [
        (_headline(told), ()),
        ("What was asked", _asked(told)),
        (_counted("Clusters", told.clusters), _clusters(told)),
        (_counted("Profiles for a new cluster", len(told.profiles)), _profiles(told.profiles)),
        ("Decision", decision(told.outcome)),
        ("Good to know", [line for one in told.notes for line in wrapped(one)]),
        ("What would have to change", _remedies(told)),
    ]
    parts = []
    for title, lines in chapters:
        body = [f"  {printable(line)}".rstrip() for line in lines]
        if body or title == chapters[0][0]:
            parts.append("\n".join([printable(title), *body]))
    return "\n\n".join(parts) + "\n"


def _headline(told: Story) -> str:
    outcome = told.outcome
    standing = _STANDING[outcome.phase]
    if outcome.phase is RequestPhase.GRANTED:
        return f"The request {told.request} {'is' if outcome.held else 'would be'} {standing}."
    return f"The request {told.request} is {standing}: {outcome.reason}."


def _counted(title: str, count: int) -> str:
    return f"{title} ({count})"


def _asked(told: Story) -> Iterator[str]:
    if told.asked is None:
        yield f"for      {', '.join(told.purposes) or '(nothing)'}"
        return
    asked = told.asked
    yield f"for      {', '.join(asked.purposes)}"
    yield f"sharing  {_sharing(asked)}"
    yield f"version  {_version(asked)}"
    if asked.profile:
        yield f"profile  {asked.profile} (purpose {asked.template_of} says so)"
    if asked.selectors:
        yield "labels   as the selectors of its purposes and of the configuration want them"
    rows = [
        (one.wish, "required" if one.required else "if possible", f"asked for by {' and '.join(one.asked_by)}")
        for one in asked.traits
    ]
    for number, (line, one) in enumerate(zip(aligned(rows), asked.traits, strict=True)):
        yield f"{'traits ' if not number else '       '}  {line}"
        if one.same_as:
            yield f"           also known as {', '.join(one.same_as)}"


def _sharing(asked: Asked) -> str:
    if asked.dedicated:
        return f"a cluster of its own ({asked.dedicated_by} says so)"
    by = "the request says so" if asked.dedicated_by == REQUEST else "as its purposes allow"
    seats = f", at most {asked.seats} on each" if asked.seats else ""
    return f"a cluster that other requests may use too ({by}){seats}; strategy {asked.strategy}"


def _version(asked: Asked) -> str:
    return f"{asked.version} ({asked.version_by})" if asked.version else "any"


def _clusters(told: Story) -> Iterator[str]:
    rows = [(f"{_MARKS[one.verdict]} {one.cluster}", _seats(one), one.why) for one in told.candidates]
    more = "more" if rows else "of them"
    rows += [(f"- {one.count} {more}", "", f"{one.why} (such as {one.example})") for one in told.others]
    yield from aligned(rows)


def _seats(one: Candidate) -> str:
    version = f", {one.version}" if one.version else ""
    seats = f"{one.taken} of {one.seats}" if one.seats else str(one.taken)
    return f"{one.profile}{version}, {seats} taken"


def _profiles(profiles: Sequence[ProfileJudgement]) -> Iterator[str]:
    rows = []
    for one in profiles:
        mark = "*" if one.chosen else "+" if one.rank and "full" not in one.why else "-"
        place = f"{one.rank}." if one.rank else ""
        yes = f"{one.version or 'any version'}, {_preferences(one.score)}" if one.rank else ""
        rows.append((f"{mark} {place:<2} {one.profile}", yes, one.why))
    yield from aligned(rows)


def _preferences(score: int) -> str:
    return f"{score or 'no'} optional trait{'' if score == 1 else 's'}"


def decision(outcome: Outcome) -> Iterator[str]:
    """Where it ends, in a few lines."""
    yield from wrapped(outcome.message)
    if outcome.prefix:
        yield f"Whatever it names there cluster-wide begins with {outcome.prefix}"
    if outcome.since:
        yield f"It does so since {outcome.since}."


def _remedies(told: Story) -> Iterator[str]:
    for who in Who:
        some = [one.what for one in told.remedies if one.who is who]
        if some:
            yield f"{_WHO[who]} can do one of these:" if len(some) > 1 else f"{_WHO[who]} can do this:"
            for one in some:
                first, *rest = wrapped(one)
                yield f"  - {first}"
                yield from (f"    {line}" for line in rest)


def wrapped(text: str) -> list[str]:
    """A text of any length as lines that fit a terminal; names are not torn apart."""
    return textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
