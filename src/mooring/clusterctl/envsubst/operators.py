"""What the operators of ``${name operator arguments}`` do to a value. Values and arguments are bytes.

The oddities are upstream's and are kept: ``:?`` and ``:+`` are defaults like ``:=``; a replacement at the beginning or
end does nothing if its new text is empty; ``${v,^}`` does nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mooring.clusterctl.envsubst.faults import Fault
from mooring.clusterctl.envsubst.globs import TooMuch, matching, reversed_characters
from mooring.clusterctl.envsubst.runes import lower, mended, to_bytes, to_text, upper

Operation = Callable[[bytes, Sequence[bytes]], bytes]

_NUMBER: Final = re.compile(rb"([+-]?)0*([0-9]{1,19})")
_LARGEST_NUMBER: Final = (1 << 63) - 1
_LARGEST_RESULT: Final = 1 << 28  # replacements within replacements double what they are given, each


class Impossible(Exception):
    """An operation that these values do not allow."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def _length(value: bytes, _: Sequence[bytes]) -> bytes:
    return b"%d" % len(value)


def _cased(change: Callable[[str], str]) -> Operation:
    def all_of_it(value: bytes, _: Sequence[bytes]) -> bytes:
        return "".join(map(change, mended(value))).encode()

    return all_of_it


def _first_cased(change: Callable[[str], str]) -> Operation:
    def first_of_it(value: bytes, _: Sequence[bytes]) -> bytes:
        first = mended(value[:4])[:1]
        width = len(to_bytes(to_text(value[:4])[:1]))
        return change(first).encode() + value[width:] if first else value

    return first_of_it


def _number(text: bytes) -> int | None:
    """A number of 64 bits, in decimal digits and nothing else."""
    read = _NUMBER.fullmatch(text)
    if read is None:
        return None
    number = int(read[2])
    if read[1] == b"-":
        return -number if number <= _LARGEST_NUMBER + 1 else None
    return number if number <= _LARGEST_NUMBER else None


def _substring(value: bytes, arguments: Sequence[bytes]) -> bytes:
    """Of bytes. What is no number leaves the value whole; counting from the end stops at the beginning."""
    offset = _number(arguments[0])
    if offset is None:
        return value
    start = offset if offset >= 0 else max(0, len(value) + offset)
    if len(arguments) == 1:
        return value[start:]
    length = _number(arguments[1])
    if length is None:
        return value
    end = start + length
    if end > _LARGEST_NUMBER or end < min(start, len(value)):
        raise Impossible(Fault.BOUNDS)
    return value[start:end]


def _replaced(value: bytes, old: bytes, new: bytes, count: int) -> bytes:
    times = value.count(old) if old else len(value) + 1
    if times * len(new) > _LARGEST_RESULT and count != 1:
        raise Impossible(Fault.EFFORT)
    if old:
        return value.replace(old, new, count)
    # Nothing is found before each character and at the end.
    return to_bytes(to_text(value).replace("", to_text(new), count))


def _replace(count: int) -> Operation:
    def replace(value: bytes, arguments: Sequence[bytes]) -> bytes:
        old, new = (*arguments, b"")[:2]
        return _replaced(value, old, new, count)

    return replace


def _replace_beginning(value: bytes, arguments: Sequence[bytes]) -> bytes:
    if len(arguments) < 2 or not value.startswith(arguments[0]):
        return value
    return arguments[1] + value[len(arguments[0]) :]


def _replace_end(value: bytes, arguments: Sequence[bytes]) -> bytes:
    if len(arguments) < 2 or not value.endswith(arguments[0]):
        return value
    return value[: len(value) - len(arguments[0])] + arguments[1]


def _trim_beginning(*, longest: bool) -> Operation:
    def trim(value: bytes, arguments: Sequence[bytes]) -> bytes:
        try:
            return value[matching(arguments[0], value, longest=longest) :]
        except TooMuch:
            raise Impossible(Fault.EFFORT) from None

    return trim


def _trim_end(*, longest: bool) -> Operation:
    """Upstream turns value and pattern around, also where that makes another pattern of it."""
    trim = _trim_beginning(longest=longest)

    def trim_turned(value: bytes, arguments: Sequence[bytes]) -> bytes:
        turned = [reversed_characters(one) for one in arguments]
        return reversed_characters(trim(reversed_characters(value), turned))

    return trim_turned


def _hash(value: bytes, arguments: Sequence[bytes]) -> bytes:
    return (_trim_beginning(longest=False) if arguments else _length)(value, arguments)


# Operators that are not here give the value, or, if it is empty, their arguments.
OPERATIONS: Final[Mapping[str, Operation]] = {
    "^": _first_cased(upper),
    "^^": _cased(upper),
    ",": _first_cased(lower),
    ",,": _cased(lower),
    ":": _substring,
    "#": _hash,
    "##": _trim_beginning(longest=True),
    "%": _trim_end(longest=False),
    "%%": _trim_end(longest=True),
    "/": _replace(1),
    "//": _replace(-1),
    "/#": _replace_beginning,
    "/%": _replace_end,
}
