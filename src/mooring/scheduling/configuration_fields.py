"""A place in a configuration document: its path, what stands there, and what is wrong with it.

Reading never stops at a fault. Each reader notes the problem and answers with something harmless, so that a person
learns of all faults at once; `configuration` looks at the notes in the end. What hangs below a faulty place is read
too, but its complaints are dropped: they would only repeat the fault above.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

V = TypeVar("V")
E = TypeVar("E", bound=StrEnum)

_PLAIN_KEY = re.compile(r"[\w-]+", re.ASCII)
_LONGEST_SHOWN = 80
_LARGEST_INTEGER = 2**31 - 1  # what the same field of an object can hold


class FixedMap(dict[str, V]):
    """A map that cannot be changed. It is a dict all the same, so it is encoded and compared like one."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a configuration cannot be changed; copy the map first")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FixedMap, (dict(self),)  # else a copy would be filled entry by entry


@dataclass(frozen=True, slots=True)
class Field:
    """One place. An absent one has the value None, as one that is null has."""

    path: str
    value: Any
    problems: list[str] = field(default_factory=list)

    def refuse(self, remedy: str) -> None:
        self.problems.append(f"{self.path} is {_shown(self.value)}: {remedy}")

    def parts(self, *known: str) -> dict[str, Field]:
        """The fields of a map that has no others than these."""
        entries = self.entries()
        for key, unknown in entries.items():
            if key not in known:
                self.problems.append(f"{unknown.path} is not a field here: {_suggestion(key, known)}")
        return {key: entries.get(key) or Field(_below(self.path, key), None, self._notes) for key in known}

    def entries(self) -> dict[str, Field]:
        """The fields of a map whose keys anybody may choose."""
        if not self._holds_map:
            if self.value is not None:
                self.refuse("a map is expected here")
            return {}
        found = {}
        for key, value in self.value.items():
            if isinstance(key, str):
                found[key] = Field(_below(self.path, key), value, self.problems)
            else:
                self.problems.append(f"{self.path} has the key {_shown(key)}: put it in quotes, keys are texts")
        return found

    def items(self) -> list[Field]:
        if self.value is not None and not isinstance(self.value, list):
            self.refuse("a list is expected here")
            return []
        return [Field(f"{self.path}[{index}]", one, self.problems) for index, one in enumerate(self.value or ())]

    def text(self) -> str:
        """The text; an absent one is empty."""
        if self.value is None or isinstance(self.value, str):
            return self.value or ""
        self.refuse("a text is expected here" + ("" if isinstance(self.value, (list, dict)) else ", put it in quotes"))
        return ""

    def integer(self) -> int:
        """The number, 0 or more; an absent one is 0."""
        if self.value is None:
            return 0
        if type(self.value) is int and 0 <= self.value <= _LARGEST_INTEGER:
            return self.value
        self.refuse(f"a whole number from 0 to {_LARGEST_INTEGER} is expected here")
        return 0

    def one_of(self, choices: type[E]) -> E | None:
        """The choice that was made; None for none, and for one that does not exist."""
        if self.value in (None, ""):
            return None
        if isinstance(self.value, str) and self.value in list(choices):
            return choices(self.value)
        self.refuse(f"use {_either(list(choices))}")
        return None

    @property
    def _holds_map(self) -> bool:
        return isinstance(self.value, Mapping)

    @property
    def _notes(self) -> list[str]:
        """Where the places below complain."""
        return self.problems if self.value is None or self._holds_map else []


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def _shown(value: Any) -> str:
    if value is None:
        return "absent"
    text = json.dumps(value, default=str, skipkeys=True, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _suggestion(key: str, known: tuple[str, ...]) -> str:
    by_lower = {one.lower(): one for one in known}
    nearest = difflib.get_close_matches(key.lower(), by_lower, n=1, cutoff=0.5)
    return f"did you mean {by_lower[nearest[0]]}?" if nearest else f"use {_either(known)}"


def _either(choices: tuple[str, ...] | list[Any]) -> str:
    *others, last = map(str, choices)
    return f"{', '.join(others)} or {last}" if others else last
