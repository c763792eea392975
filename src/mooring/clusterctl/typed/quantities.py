"""Amounts such as ``500m`` and ``1Gi`` in the form that Kubernetes writes them in.

It looks at an amount twice. Whatever seems usual at a first glance is left as it is written, be it ``010`` or ``+5``;
all else is brought into the one usual form. The glance has rules of its own, and so has this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_AMOUNT: Final = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_POWER: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SMALLEST: Final = -9  # a billionth
_LARGEST: Final = 2**63 - 1
_LONGEST, _FARTHEST = 1000, 100_000


class BadQuantity(ValueError):
    """Not an amount."""


@dataclass(frozen=True, slots=True)
class _Written:
    """What is written: digits before and behind the point, and the suffix."""

    text: str
    sign: int
    number: str
    fraction: str
    suffix: str
    power: int  # of ten, or of two

    @property
    def is_binary(self) -> bool:
        return self.suffix in _BINARY

    @property
    def in_powers(self) -> bool:
        """Whether with an exponent, rather than with a letter."""
        return not self.is_binary and self.suffix not in _DECIMAL


def canonical(text: str) -> str:
    """The usual form. What is smaller than a billionth is rounded up to one."""
    if text == "0":
        return text
    one = _read(text)
    glance = _at_a_glance_binary(one) if one.is_binary else _at_a_glance(one)
    if glance is not None:
        digits, power, as_is = glance
        return text if as_is else _formed(one.sign * digits, power, one)
    return _formed(one.sign * _exactly(one), _SMALLEST, one)


def _read(text: str) -> _Written:
    match = _AMOUNT.fullmatch(text)
    if not text or len(text) > _LONGEST or match is None:
        raise BadQuantity(f"{text!r:.60} is not an amount such as 500m, 2 or 1Gi")
    suffix = match[4]
    if suffix in _DECIMAL or suffix in _BINARY:
        power = _DECIMAL[suffix] if suffix in _DECIMAL else _BINARY[suffix]
    elif found := _POWER.fullmatch(suffix):
        power = int(found[1])
    else:
        raise BadQuantity(f"{text!r:.60} ends in {suffix!r:.60}, which is none of {' '.join((*_DECIMAL, *_BINARY))}")
    if abs(power) > _FARTHEST:
        raise BadQuantity(f"{text!r:.60} is out of all proportion")
    return _Written(text, -1 if match[1] == "-" else 1, match[2] or "0", match[3] or "", suffix, power)


def _at_a_glance(one: _Written) -> tuple[int, int, bool] | None:
    """Digits, power of ten, and whether it stays as it is; nothing if a glance is not enough."""
    digits, power = one.number + one.fraction, one.power - len(one.fraction)
    if len(digits) > 18 or power < _SMALLEST:
        return None
    return int(digits), power, power % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _at_a_glance_binary(one: _Written) -> tuple[int, int, bool] | None:
    if one.fraction or len(one.number) + one.power * 3 // 10 > 14:
        return None
    number = int(one.number)
    return number << one.power, 0, number % 8 != 0


def _exactly(one: _Written) -> int:
    """How many billionths, rounded up."""
    if not re.search("[0-9]", one.text.removesuffix(one.suffix)):
        raise BadQuantity(f"{one.text!r:.60} has no digits")
    digits = int(one.number + one.fraction) << (one.power if one.is_binary else 0)
    power = (0 if one.is_binary else one.power) - len(one.fraction) - _SMALLEST
    billionths = digits * _ten(power) if power >= 0 else -(-digits // _ten(-power))
    return min(billionths, _LARGEST * _ten(-_SMALLEST)) if one.is_binary else billionths


def _formed(digits: int, power: int, one: _Written) -> str:
    """The usual form of so many times a power of ten."""
    if not digits:
        return "0"
    if one.is_binary and (whole := _whole(digits, power)) is not None and abs(whole) >= 1024:
        return _in_1024s(whole)
    while not digits % 10:
        digits, power = digits // 10, power + 1
    digits, power = digits * _ten(power % 3), power - power % 3
    if one.in_powers:
        return f"{digits}e{power}" if power else str(digits)
    return f"{digits}{_SUFFIXES.get(power, '')}"


def _whole(digits: int, power: int) -> int | None:
    if power >= 0:
        return digits * _ten(power)
    return None if digits % _ten(-power) else digits // _ten(-power)


def _ten(power: int) -> int:
    return int(10**power)


def _in_1024s(whole: int) -> str:
    times = 0
    while not whole % 1024:
        whole, times = whole // 1024, times + 1
    return f"{whole}{('', *_BINARY)[times]}"
