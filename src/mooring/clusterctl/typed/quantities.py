"""Amounts such as ``500m`` and ``1Gi`` in the one form that Kubernetes writes them in."""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from typing import Final

_AMOUNT: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SMALLEST: Final = Decimal(1).scaleb(-9)
_LARGEST: Final = 2**63 - 1
_EXACT: Final = Context(prec=400)
_LONGEST: Final = 100


class BadQuantity(ValueError):
    """Not an amount."""


def canonical(text: str) -> str:
    """The usual form. What is smaller than a billionth is rounded up to one, what is too large is the largest."""
    match = _AMOUNT.fullmatch(text)
    if len(text) > _LONGEST or match is None or not (match[2] or match[3]):
        raise BadQuantity(f"{text!r} is not an amount such as 500m, 2 or 1Gi")
    sign, suffix = match[1], match[4] or ""
    number = Decimal(f"{sign}{match[2] or '0'}.{match[3] or '0'}")
    if suffix in _BINARY:
        return _binary(number * 2 ** _BINARY[suffix])
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    if not -300 < exponent < 300:
        raise BadQuantity(f"{text!r} is out of all proportion")
    value = _bounded(_EXACT.scaleb(number, exponent))
    return _decimal(value, in_powers=suffix not in _DECIMAL)


def _binary(value: Decimal) -> str:
    value = _bounded(value)
    if abs(value) < 1024 or value != value.to_integral_value():
        return _decimal(value, in_powers=False)
    number, suffix = int(value), ""
    for name in _BINARY:
        if number % 1024:
            break
        number, suffix = number // 1024, name
    return f"{number}{suffix}"


def _decimal(value: Decimal, *, in_powers: bool) -> str:
    if not value:
        return "0"
    digits = int(_EXACT.scaleb(value, 9))
    power = -9
    while not digits % 1000 and power < 18:
        digits, power = digits // 1000, power + 3
    return f"{digits}{_power(power) if in_powers else _SUFFIXES[power]}"


def _power(power: int) -> str:
    return f"e{power}" if power else ""


def _bounded(value: Decimal) -> Decimal:
    rounded = value.quantize(_SMALLEST, rounding=ROUND_UP, context=_EXACT)
    return max(min(rounded, Decimal(_LARGEST)), Decimal(-_LARGEST))
