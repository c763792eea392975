"""Which objects of a kind a store shows, as its watch asks for them, and whether a given object is one of them.

The watch leaves the choice to the server. We need it too, for what we wrote ourselves: an object that the watch will
never tell of must not get into the store, because nobody would take it out again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mooring.api.selectors import LabelRequirement, LabelSelector, matches
from mooring.kube import key_of
from mooring.runtime.predicates import labels_of
from mooring.runtime.writing import plain

# One requirement of a selector in its short form: a=b, a!=b, a in (b,c), a notin (b,c), a, !a
_REQUIREMENT = re.compile(
    r"\s*(?:(?P<absent>!)\s*)?(?P<key>[^\s,=!()]+)\s*"
    r"(?:(?P<sign>==|=|!=)\s*(?P<value>[^\s,()]*)|(?P<word>in|notin)\s*\((?P<values>[^()]*)\))?\s*(?:,|$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a store shows of a kind: everything, unless told otherwise."""

    namespace: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None

    def admits(self, thing: object) -> bool:
        """Whether a watch of this scope would show the object."""
        if self.namespace is not None and key_of(thing).namespace != self.namespace:
            return False
        if self.label_selector and not matches(_parsed(self.label_selector), labels_of(thing)):
            return False
        return not self.field_selector or _fields_match(_parsed(self.field_selector), plain(thing))


@cache
def _parsed(selector: str) -> LabelSelector:
    found, position = [], 0
    while position < len(selector):
        one = _REQUIREMENT.match(selector, position)
        if one is None:
            raise ValueError(f"not a selector: {selector!r}")
        found.append(_requirement(one))
        position = one.end()
    return LabelSelector(match_expressions=tuple(found))


def _requirement(one: re.Match[str]) -> LabelRequirement:
    if one["sign"]:
        return LabelRequirement(
            key=one["key"], operator="NotIn" if one["sign"] == "!=" else "In", values=(one["value"],)
        )
    if one["word"]:
        values = tuple(value.strip() for value in one["values"].split(","))
        return LabelRequirement(key=one["key"], operator="In" if one["word"] == "in" else "NotIn", values=values)
    return LabelRequirement(key=one["key"], operator="DoesNotExist" if one["absent"] else "Exists")


def _fields_match(selector: LabelSelector, thing: Mapping[str, Any]) -> bool:
    """A field that is not there is the empty text, as for the server."""
    paths = {one.key for one in selector.match_expressions}
    return matches(selector, {path: _text_at(thing, path) for path in paths})


def _text_at(thing: Any, path: str) -> str:
    for step in path.split("."):
        thing = thing.get(step) if isinstance(thing, Mapping) else None
    if isinstance(thing, bool):
        return "true" if thing else "false"
    return "" if thing is None else str(thing)
