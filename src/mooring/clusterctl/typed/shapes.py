"""The table of structures and their fields; a line of it is read only when its structure is needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("shapes.txt")
_MARKS: Final = "?=!"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a structure."""

    name: str
    type: str
    if_empty: str  # "?" leave it out, "=" write it, "!" leave out what is no time

    @property
    def omit_empty(self) -> bool:
        return self.if_empty != "="


@cache
def fields_of(structure: str) -> tuple[Field, ...]:
    return tuple(map(_field, _lines()[structure].split()))


def is_structure(type_: str) -> bool:
    return type_ in _lines()


@cache
def _lines() -> dict[str, str]:
    lines = _FILE.read_text("utf-8").splitlines()
    return {name: fields for name, _, fields in (line.partition(" ") for line in lines if line[:1] not in ("", "#"))}


def _field(text: str) -> Field:
    end = min(place for mark in _MARKS if (place := text.find(mark)) > 0)
    return Field(text[:end], text[end + 1 :], text[end])
