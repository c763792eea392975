"""Prefixes that keep the tenants of a shared cluster out of each other's names.

Whoever was granted a prefix begins every cluster-scoped name with it. That avoids clashes only if no prefix on the
cluster begins with another one, so this holds for every grant: a proposal that would break it is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from mooring.api.names import name_hash
from mooring.api.requests import LONGEST_PREFIX, PREFIX_PATTERN, SHORTEST_PREFIX

_FORM: Final = re.compile(PREFIX_PATTERN)
# Two hashes meet about never; only claims by others with prefixes of one letter can make us try more than a few.
_ATTEMPTS: Final = 1000


def granted_prefix(proposed: str, taken: Collection[str], *, uid: str) -> str:
    """The proposal if it may be granted beside what is taken, else one that only looks random.

    It comes from the uid of the request, so that a plan that is made again comes to the same prefix. Raises ValueError
    if others hold prefixes so short that nothing is left.
    """
    if is_well_formed(proposed) and is_free(proposed, taken):
        return proposed
    for attempt in range(_ATTEMPTS):
        prefix = f"{name_hash(uid, str(attempt))}-"
        # Some kinds of objects do not take names that begin with a digit.
        if prefix[0].isalpha() and is_free(prefix, taken):
            return prefix
    shortest = min(filter(None, taken), key=len)
    raise ValueError(
        f"no prefix is left beside the {len(taken)} that are taken; release short ones, such as {shortest!r}"
    )


def is_well_formed(prefix: str) -> bool:
    """Whether this can be a prefix at all, wherever it is proposed."""
    return SHORTEST_PREFIX <= len(prefix) <= LONGEST_PREFIX and _FORM.fullmatch(prefix) is not None


def is_free(prefix: str, taken: Collection[str]) -> bool:
    """Whether the prefix clashes with none of these. Claims without a prefix, which are empty here, are no obstacle."""
    others = tuple(filter(None, taken))
    return not prefix.startswith(others) and not any(other.startswith(prefix) for other in others)


def clashes(one: str, other: str) -> bool:
    """Whether a name could begin with both."""
    return one.startswith(other) or other.startswith(one)
