"""Characters as Go sees them in bytes: what does not decode is one byte wide and counts as U+FFFD.

Python's ``surrogateescape`` cuts broken UTF-8 into the same single bytes, which makes it the way in and out.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import Final

BROKEN: Final = 0xFFFD  # what a byte reads as that belongs to no character
_STRAY: Final = re.compile("[\udc80-\udcff]")
_LONE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")

# Letters and digits of Unicode 15.0, which Go has, that the 14.0 of our oldest Python does not know yet.
_NEWER: Final = (
    (0x1123F, 0x11240),
    (0x11F02, 0x11F02),
    (0x11F04, 0x11F10),
    (0x11F12, 0x11F33),
    (0x11F50, 0x11F59),
    (0x1342F, 0x1342F),
    (0x13441, 0x13446),
    (0x1B132, 0x1B132),
    (0x1B155, 0x1B155),
    (0x1DF25, 0x1DF2A),
    (0x1E030, 0x1E06D),
    (0x1E4D0, 0x1E4EB),
    (0x1E4F0, 0x1E4F9),
    (0x2B739, 0x2B739),
    (0x31350, 0x323AF),
)
_NEWER_STARTS: Final = [first for first, _ in _NEWER]


def to_bytes(text: str) -> bytes:
    """The bytes that a text stands for. Surrogates that stand for no byte become U+FFFD, as Go writes them."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _LONE.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def to_text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def mended(value: bytes) -> str:
    """The characters of a value; each broken byte has become U+FFFD."""
    return _STRAY.sub("\ufffd", to_text(value))


def is_wide(text: bytes, position: int) -> bool:
    """Whether a character of more than one byte begins here."""
    return text[position : position + 1] > b"\x7f" and not _STRAY.match(to_text(text[position : position + 4]))


def is_name_character(character: str) -> bool:
    """A letter or a decimal digit of any script, or an underscore."""
    if character == "_" or character.isalpha() or character.isdecimal():
        return True
    if unicodedata.category(character) != "Cn":
        return False
    place = bisect_right(_NEWER_STARTS, ord(character)) - 1
    return place >= 0 and ord(character) <= _NEWER[place][1]


def upper(character: str) -> str:
    """One character for one, in every place the same: ß stays, and no sigma is a final one."""
    for cased in (character.upper(), character.title()):
        if len(cased) == 1:
            return cased
    return character


def lower(character: str) -> str:
    return character.lower()[0]
