"""The configuration file: where it is looked for, what formats it may have, and what its values are.

Upstream reads it with other rules than manifests: ``yes`` and ``off`` are text here, a date is a point in time, a key
may not come twice, and the case of keys does not count. Of the formats that upstream takes, YAML, JSON and TOML are
read; ``.env`` files are refused with a sentence that says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.repository.source import content_of
from mooring.clusterctl.yamls import scalars
from mooring.clusterctl.yamls.reading import Dialect, read

NAME: Final = "clusterctl"
# In the order in which upstream looks; the ones that nobody can read any more are found all the same.
_ENDINGS: Final = (
    *("json", "toml", "yaml", "yml", "properties", "props", "prop"),
    *("hcl", "tfvars", "dotenv", "env", "ini"),
)
_NOT_BOOLEAN: Final = frozenset(re.findall(r"\w+", "y Y yes Yes YES on On ON n N no No NO off Off OFF"))
_SIGN_INSIDE: Final = re.compile(r"0o[-+][0-7]{1,21}")
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:(?:[Tt]| +)([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,]([0-9]+))?"
    r"(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)


def folders(environ: Mapping[str, str]) -> tuple[Path, Path]:
    """Where the file and the overrides are looked for: today's place, then the one of old."""
    home = environ.get("HOME") or str(Path.home())
    text = environ.get("XDG_CONFIG_HOME", "")
    for short in ("~", "$HOME"):
        if text.startswith(short):
            text = f"{home}/{text.removeprefix(short)}"
    base = Path(text) if text.startswith("/") else Path(home, ".config")
    return base / "cluster-api", Path(home) / ".cluster-api"


def read_file(path: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings under the lower-cased names of their keys; empty if no file is named and none is there."""
    if path.lower().startswith(("http://", "https://")):
        return _settings(_fetched(path), "yaml", path)
    file = Path(path) if path else _found(environ)
    if file is None:
        return {}
    try:
        data = content_of(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ClusterctlError(f"cannot read the configuration file {str(file)!r}: {reason}") from None
    ending = file.name.rpartition(".")[2] if "." in file.name else ""
    return _settings(data, ending, str(file))


def _found(environ: Mapping[str, str]) -> Path | None:
    """The first file that is there; or what stands in its place, so that it is not passed over in silence."""
    places = (folder / f"{NAME}.{ending}" for folder in folders(environ) for ending in _ENDINGS)
    there = [place for place in places if place.exists()]
    return next((file for file in there if not file.is_dir()), there[0] if there else None)


def _fetched(url: str) -> bytes:
    """From the network. Who writes http: has chosen an open wire; https stays https."""
    from mooring.clusterctl.repository.http import fetch

    try:
        answer = fetch(url, open_wire=url.lower().startswith("http:"))
    except ClusterctlError as error:
        raise ClusterctlError(f"cannot read the configuration: {error}") from None
    if answer.status != 200:
        raise ClusterctlError(f"cannot read the configuration from {url}: the server answers {answer.status}")
    return answer.body


def _settings(data: bytes, ending: str, where: str) -> dict[str, Any]:
    try:
        value = _parsed(data.decode(), ending, where)
    except UnicodeDecodeError:
        raise ClusterctlError(f"the configuration {where} is not UTF-8") from None
    except ClusterctlError as error:
        raise ClusterctlError(f"the configuration {where}: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ClusterctlError(f"the configuration {where} must be a mapping of names to values")
    found: dict[str, Any] = _lowered(value)
    return found


def _parsed(text: str, ending: str, where: str) -> Any:
    if ending in ("yaml", "yml"):
        return read(text, dialect=_SETTINGS)
    if ending == "json":
        try:
            return json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_number)
        except (ValueError, RecursionError) as error:
            raise ClusterctlError(f"not JSON: {error}") from None
    if ending == "toml":
        import tomllib

        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ClusterctlError(f"not TOML: {error}") from None
    kind = f"a .{ending} file" if ending else "a file without an ending"
    raise ClusterctlError(f"{kind} cannot be read: write it as YAML, in a file that ends in .yaml (or .json, .toml)")


def _number(word: str) -> float:
    """Every number in JSON is one with a fraction to upstream, with the digits that such a number has room for."""
    value = float(word)
    if value - value != 0:  # endless, or none
        raise ValueError(f"{word:.40} is no number in JSON")
    return value


def _lowered(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key).lower(): _lowered(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_lowered(inner) for inner in value]
    return value


class Moment(str):
    """A point in time: text where a variable is meant, and no text where a setting is."""

    __slots__ = ()


# The YAML of settings.


def _plain(text: str) -> tuple[str, Any]:
    if text in _NOT_BOOLEAN:
        return scalars.STR, text
    if (moment := _moment(text)) is not None:
        return scalars.TIMESTAMP, moment
    if _SIGN_INSIDE.fullmatch(text):
        return scalars.INT, int(text[2:], 8)
    return scalars.plain(text)


def _tagged(tag: str, text: str) -> Any:
    if tag == scalars.BOOL and text in _NOT_BOOLEAN:
        raise scalars.Unreadable(f"{text!r} is not a !!bool: write true or false")
    if tag == scalars.TIMESTAMP and (moment := _moment(text)) is not None:
        return moment
    return scalars.tagged(tag, text)


def _moment(text: str) -> Moment | None:
    """A point in time as it is printed when text is wanted; None for what is no such point."""
    match = _TIME.fullmatch(text) if text[:1].isdigit() else None
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups(default="")
    if hour and bool(zone) != (text[len(f"{year}-{month}-{day}")] in "Tt"):
        return None  # a T asks for a zone, and spaces for none
    try:
        datetime(int(year) or 4, int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    except ValueError:
        return None
    away = "+0000" if zone in ("", "Z") else zone.replace(":", "")
    name = "UTC" if away == "+0000" else away
    rest = f".{fraction[:9]}".rstrip("0").rstrip(".")
    at = f"{int(hour or 0):02d}:{int(minute or 0):02d}:{int(second or 0):02d}{rest}"
    return Moment(f"{year}-{int(month):02d}-{int(day):02d} {at} {away} {name}")


def _key(value: Any) -> str:
    return "" if value is None else text_of(value)


def text_of(value: Any) -> str:
    """A value as text, where a setting or a variable is text: what has no such form is empty."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case datetime() if value.tzinfo is not None:
            return _moment(value.isoformat()) or ""
        case date() | time():
            return value.isoformat()  # of TOML, without a zone
    return ""


def _float_text(value: float) -> str:
    """All digits, and no exponent."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    from decimal import Decimal

    text = f"{Decimal(repr(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_SETTINGS: Final = Dialect(_plain, _tagged, _key, lambda value: value, may_repeat=False, own_keys_win=True)
