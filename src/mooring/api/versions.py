"""Versions of Kubernetes: in full as clusters have them, in part as requests may ask for them.

The order is that of semantic versioning. What follows a hyphen counts as a pre-release there, also where a vendor
means something else by it (``1.33.3-gke.100``); what follows a plus (``1.33.3+k3s1``) says nothing about the order, and
only decides between versions that are otherwise the same, so that there is always one newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

_PARTS: Final = 3
_LONGEST: Final = 256
_FORM: Final = re.compile(
    r"v?(?P<numbers>[0-9]{1,9}(?:\.[0-9]{1,9}){0,2})(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+(?P<build>[0-9A-Za-z.+-]+))?"
)

_Identifier = tuple[int, int, str]  # its class, then its value as a number or as text
_Rank = tuple[tuple[int, ...], tuple[_Identifier, ...], str]
_RELEASED: Final[tuple[_Identifier, ...]] = ((2, 0, ""),)  # above every identifier that a pre-release can have


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A version, in full or in part; in the order, numbers that are absent count as 0. Made by ``parse``."""

    rank: _Rank = field(repr=False)
    text: str = field(compare=False)
    numbers: tuple[int, ...] = field(compare=False, repr=False)
    pre: str = field(compare=False, repr=False)
    build: str = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read a version; the same text is read only once."""
        version = _read(text)
        if version is None:
            raise ValueError(
                f"{text[:_LONGEST]!r} is not a version of Kubernetes; write it in full (1.33.3) or in part (1.33)"
            )
        return version

    @property
    def parts(self) -> int:
        """How many numbers were given: 1 to 3."""
        return len(self.numbers)


def satisfies(wanted: str, actual: str) -> bool:
    """Whether a cluster of the actual version is what was wanted.

    Nothing wanted is satisfied by all, a part (``1.33``) by all that begins with it. A version in full does not admit
    its pre-releases, but any build of it; a wanted pre-release or build must be there just so. An actual version that
    cannot be read satisfies nobody who wants one; a wanted one that cannot be read raises ValueError.
    """
    if not wanted:
        return True
    asked = Version.parse(wanted)
    found = _read(actual)
    if found is None or found.numbers[: asked.parts] != asked.numbers:
        return False
    if asked.pre or asked.build:
        return (asked.pre, asked.build) == (found.pre, found.build)
    return asked.parts < _PARTS or not found.pre


def is_full(wanted: str) -> bool:
    """Whether the version is given down to its patch; raises ValueError if it cannot be read."""
    return bool(wanted) and Version.parse(wanted).parts == _PARTS


def newest(versions: Iterable[str]) -> str | None:
    """The newest of them, as it was written. Those that cannot be read do not count."""
    found = [version for version in map(_read, versions) if version is not None]
    return max(found).text if found else None


@lru_cache(maxsize=4096)
def _read(text: str) -> Version | None:
    form = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if form is None:
        return None
    numbers = tuple(map(int, form["numbers"].split(".")))
    pre = form["pre"] or ""
    padded = numbers + (0,) * (_PARTS - len(numbers))
    rank = (padded, tuple(map(_identifier, pre.split("."))) if pre else _RELEASED, text)
    return Version(rank, text, numbers, pre, form["build"] or "")


def _identifier(text: str) -> _Identifier:
    """Numbers are below words, and are compared as numbers."""
    return (0, int(text), "") if text.isdigit() else (1, 0, text)
