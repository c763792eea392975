"""What a scalar means: the resolution of YAML 1.1 as the Go programs around Kubernetes do it, and nobody else.

``y`` and ``off`` are booleans, ``017`` and ``0o17`` are both fifteen, ``1:30`` and a date are text, an integer that
does not fit 64 bits is a float, and a float that does not fit 64 bits is text. Numbers then travel through JSON into
floats of 64 bits, so that whole numbers come back as integers and those beyond 2^53 rounded.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from datetime import date
from typing import Any, Final

_TAGS: Final = "tag:yaml.org,2002:"
STR, BOOL, INT, FLOAT, NULL = (f"{_TAGS}{name}" for name in ("str", "bool", "int", "float", "null"))
TIMESTAMP, BINARY, MERGE = (f"{_TAGS}{name}" for name in ("timestamp", "binary", "merge"))

_EXACT: Final = 1 << 53  # integers up to here are floats without loss
_INT_LEAST, _INT_MOST, _UINT_MOST = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1

_INFINITY: Final = float("inf")
_WORDS: Final[dict[str, tuple[str, Any]]] = {
    word: (tag, value)
    for tag, value, words in (
        (BOOL, True, "y Y yes Yes YES true True TRUE on On ON"),
        (BOOL, False, "n N no No NO false False FALSE off Off OFF"),
        (NULL, None, "~ null Null NULL"),
        (FLOAT, float("nan"), ".nan .NaN .NAN"),
        (FLOAT, _INFINITY, ".inf .Inf .INF +.inf +.Inf +.INF"),
        (FLOAT, -_INFINITY, "-.inf -.Inf -.INF"),
    )
    for word in words.split()
} | {"": (NULL, None)}

# With underscores gone, as they are wherever a digit or a sign begins.
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_SIGN_INSIDE: Final = re.compile(r"0b([-+][01]+)")  # binary, and after the prefix a sign: read all the same
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_POINT_FIRST: Final = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?")
_DATE: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+]([0-9]{2}):([0-9]{2}))"
    r"| +([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?)?"
)
_RESOLVABLE: Final = frozenset({STR, BOOL, INT, FLOAT, NULL, TIMESTAMP})


class Unreadable(Exception):
    """A scalar that its own tag contradicts, or that JSON has no word for."""


def plain(text: str) -> tuple[str, Any]:
    """The tag and value of a scalar without quotes and without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first in "0123456789+-":
        if text[4:5] == "-" and _is_time(text):
            return TIMESTAMP, text  # text to all who read objects, and yet written in quotes
        return _number(text.replace("_", "")) or (STR, text)
    if first == "." and _POINT_FIRST.fullmatch(text):
        value = float(text)
        if abs(value) != _INFINITY:
            return FLOAT, value
    return STR, text


def tagged(tag: str, text: str) -> Any:
    """The value of a scalar that carries a tag."""
    if tag == BINARY:
        return _bytes(text)
    if tag not in _RESOLVABLE or tag == STR:
        return text
    if tag == TIMESTAMP:
        if _is_time(text):
            return text
        raise Unreadable(f"{text!r} is not a !!timestamp")
    found, value = plain(text)
    if found == tag:
        return value
    if tag == FLOAT and found == INT and value <= _INT_MOST:
        return float(value)
    raise Unreadable(f"{text!r} is not a !!{tag.removeprefix(_TAGS)}")


def as_key(value: Any) -> str:
    """How a key that is no text is written as one."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value <= _INT_MOST:
        return str(value)
    if isinstance(value, float):
        return _short(value)
    what = "null" if value is None else f"{value}, which is beyond 64 bits with a sign,"
    raise Unreadable(f"{what} cannot be a key: put it in quotes")


def as_json(value: Any) -> Any:
    """The number that is left after JSON: floats of 64 bits, and whole ones are integers."""
    if isinstance(value, float):
        return _whole(value)
    if isinstance(value, int) and not -_EXACT <= value <= _EXACT:
        return _whole(float(value))
    return value


def _number(text: str) -> tuple[str, Any] | None:
    if match := _INTEGER.fullmatch(text):
        sign, sixteen, two, eight, ten = match.groups()
        digits, base = next((d, b) for d, b in ((sixteen, 16), (two, 2), (eight, 8), (ten, 10)) if d is not None)
        value = int(sign + digits, base) if base != 10 or len(digits) < 25 else None
        if value is not None and _INT_LEAST <= value <= (_INT_MOST if sign else _UINT_MOST):
            return INT, value
    if _FLOAT.fullmatch(text):
        near = float(text)
        return (FLOAT, near) if abs(near) != _INFINITY else None
    if match := _SIGN_INSIDE.fullmatch(text):
        value = int(match[1], 2)
        return (INT, value) if _INT_LEAST <= value <= _INT_MOST else None
    return None


def _whole(value: float) -> Any:
    if value != value or abs(value) == _INFINITY:
        raise Unreadable(f"{value} has no form in JSON: put it in quotes if it is text")
    if abs(value) <= _EXACT:
        return int(value) if value == int(value) else value
    # Written with the fewest digits that mean it, and read again: an integer, if it fits.
    digits, exponent = _digits(repr(value))
    whole = int(digits) * 10 ** (exponent + 1 - len(digits.lstrip("-"))) if exponent < 21 else 0
    return whole if whole and _INT_LEAST <= whole <= _UINT_MOST else value


def float_text(value: float) -> str:
    """The fewest digits that mean it, with an exponent from a million on, and of two digits."""
    return _in_go(repr(value))


def _short(value: float) -> str:
    """A float as a key: the same among floats of 32 bits."""
    if value != value:
        return ".nan"
    try:
        near = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        near = _INFINITY if value > 0 else -_INFINITY
    if abs(near) == _INFINITY:
        return ".inf" if near > 0 else "-.inf"
    return _in_go(
        next(t for n in range(9) if struct.unpack("f", struct.pack("f", float(t := f"{near:.{n}e}")))[0] == near)
    )


def _digits(text: str) -> tuple[str, int]:
    """The digits of a decimal number, with its sign and without zeros around, and the power of ten of the first one."""
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    head, _, tail = mantissa.lstrip("-").partition(".")
    all_ = (head + tail).lstrip("0")
    first = int(exponent or 0) + len(head) - 1 - (len(head + tail) - len(all_))
    return sign + (all_.rstrip("0") or "0"), first if all_ else 0


def _in_go(text: str) -> str:
    digits, exponent = _digits(text)
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    if exponent < -4 or exponent >= 6:
        point = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{point}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, rest = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def _bytes(text: str) -> str:
    packed = text.replace("\n", "").replace("\r", "")
    try:
        data = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable("a !!binary value is not base64") from None
    # JSON has no bytes: each one that is no UTF-8 becomes the sign for a lost character.
    return re.sub("[\udc80-\udcff]", "�", data.decode("utf-8", "surrogateescape"))


def _is_time(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if not match:
        return False
    year, month, day, *clock = (int(part) if part else 0 for part in match.groups())
    try:
        date(year or 4, month, day)  # there is no year 0 here; it would be a leap year
    except ValueError:
        return False
    hour, minute, second, zone_hour, zone_minute, hour_, minute_, second_ = clock
    return max(hour, hour_) < 24 and max(minute, minute_, second, second_, zone_minute) < 60 and zone_hour <= 24
