"""Versions of providers: strict semantic versions, as the tags of releases and the names of folders spell them.

A leading ``v`` and spaces around are allowed and mean nothing; what else is not a semantic version is refused, so that
folders and tags of other kinds are not taken for releases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Final

from mooring.clusterctl.errors import ClusterctlError

_BLANK: Final = r"[\t\n\f\r ]"
_WORDS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION: Final = re.compile(rf"{_BLANK}*v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:-({_WORDS}))?(?:\+({_WORDS}))?[\t\f\r ]*")
_LARGEST: Final = 2**64 - 1  # a number beyond it is none to the tools that we share repositories with


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A semantic version. Build metadata are shown, but neither order nor tell apart."""

    major: int
    minor: int
    patch: int
    prerelease: str = ""
    build: str = ""

    @classmethod
    def parse(cls, text: str) -> Version:
        found = _VERSION.fullmatch(text)
        if found is None:
            raise ClusterctlError(f"{text!r} is not a semantic version: write it like v1.2.3 or v1.2.3-rc.1")
        major, minor, patch = (_number(digits, text) for digits in found.group(1, 2, 3))
        prerelease, build = found.group(4) or "", found.group(5) or ""
        for word in prerelease.split("."):
            if _as_number(word) is not None:
                _number(word, text)
        return cls(major, minor, patch, prerelease, build)

    @classmethod
    def read(cls, text: str) -> Version | None:
        """Like `parse`, with None for what is no version."""
        try:
            return cls.parse(text)
        except ClusterctlError:
            return None

    @property
    def is_prerelease(self) -> bool:
        return self.prerelease != ""

    @property
    def series(self) -> tuple[int, int]:
        return self.major, self.minor

    @property
    def tag(self) -> str:
        """As releases are tagged: with a leading v."""
        return f"v{self}"

    def __str__(self) -> str:
        prerelease = f"-{self.prerelease}" if self.prerelease else ""
        build = f"+{self.build}" if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}{build}"

    def __eq__(self, other: object) -> bool:
        return _compared(self, other) == 0 if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return _compared(self, other) < 0

    def __hash__(self) -> int:
        return hash((self.major, self.minor, self.patch))


def _number(digits: str, text: str) -> int:
    if digits.startswith("0") and digits != "0":
        raise ClusterctlError(f"{text!r} is not a semantic version: {digits!r} must not begin with a zero")
    number = _as_number(digits)
    if number is None:
        raise ClusterctlError(f"{text!r} is not a semantic version: {digits!r} is too large a number")
    return number


def _as_number(word: str) -> int | None:
    """The word as a number, or None; very long ones are words, and cost nothing."""
    if not word.isdecimal() or len(word.lstrip("0")) > 20:
        return None
    number = int(word)
    return number if number <= _LARGEST else None


def _compared(one: Version, other: Version) -> int:
    ours, theirs = (one.major, one.minor, one.patch), (other.major, other.minor, other.patch)
    if ours != theirs:
        return 1 if ours > theirs else -1
    if one.prerelease == other.prerelease:
        return 0
    if not one.prerelease or not other.prerelease:
        return -1 if one.prerelease else 1
    return _compared_prereleases(one.prerelease.split("."), other.prerelease.split("."))


def _compared_prereleases(ours: list[str], theirs: list[str]) -> int:
    """Word by word: two numbers by value, anything else by spelling; if all are equal, the longer one is newer."""
    for mine, your in zip(ours, theirs, strict=False):
        my_number, your_number = _as_number(mine), _as_number(your)
        if my_number is not None and your_number is not None:
            if my_number != your_number:
                return 1 if my_number > your_number else -1
        elif mine != your:
            return 1 if mine > your else -1
    return (len(ours) > len(theirs)) - (len(ours) < len(theirs))
