"""Single settings of the configuration: what form each may have, and what is wrong with it otherwise.

Upstream is lenient about forms: a number or a boolean does where text is meant, one provider does where a list is.
"""

from __future__ import annotations

import re
from typing import Any, Final

from mooring.clusterctl.configuration_file import Moment, text_of
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.providers import Provider, ProviderType
from mooring.clusterctl.repository.addresses import read_address

_CORE: Final = "cluster-api"
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SPAN: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")


def as_mapping(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise ClusterctlError(f"{what} in the configuration must be a mapping, found {value!r:.60}")


def as_joined_mapping(value: Any, what: str) -> dict[str, Any]:
    """A mapping; or a list of mappings, which is all of them together."""
    if isinstance(value, list):
        return {key: inner for one in value for key, inner in as_mapping(one, what).items()}
    return as_mapping(value, what)


def as_list(value: Any, what: str) -> list[Any]:
    if value is None or value in ({}, ""):
        return []
    return value if isinstance(value, list) else [value]


def as_text(value: Any, what: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Moment):
        raise ClusterctlError(f"{what} in the configuration is a date to YAML, and must be text: put it in quotes")
    if isinstance(value, str | int | float):
        return text_of(value)
    raise ClusterctlError(f"{what} in the configuration must be text, found {value!r:.60}")


def switch(text: str, what: str) -> bool:
    if text not in _TRUE | _FALSE:
        raise ClusterctlError(f"{what} in the configuration must be true or false, found {text!r}")
    return text in _TRUE


def seconds(text: str, otherwise: float) -> float:
    """A span of time such as ``1h30m``. Upstream goes on with its default where it cannot read one, and so do we."""
    sign, rest = (-1.0 if text[:1] == "-" else 1.0), text.lstrip("+-") if text[:2] not in ("++", "--") else text
    if rest == "0":
        return 0.0
    parts = _SPAN.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        return otherwise
    return sign * sum(float(number) * _UNITS[unit] for number, unit in parts)


def checked_provider(name: str, type_: str, url: str) -> Provider:
    """A provider of the configuration file, or what must be mended there."""
    wrong = _wrong_name(name, type_) or _wrong_url(url)
    if not wrong and type_ not in set(ProviderType):
        wrong = f"the type must be one of {', '.join(ProviderType)}, found {type_!r}"
    if wrong:
        raise ClusterctlError(
            f"the {type_ or 'provider'} {name!r} under `providers` in the configuration file: {wrong}"
        )
    return Provider(name, ProviderType(type_), url)


def _wrong_name(name: str, type_: str) -> str:
    if not name:
        return "it needs a name"
    if name != name.lower():
        return "the name must be in lower case"
    if (name == _CORE) != (type_ == ProviderType.CORE):
        return f"the name {_CORE} belongs to the type {ProviderType.CORE}, and the type to the name"
    if len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        return "the name must be of lower-case letters, digits, hyphens and dots, with a letter or digit at both ends"
    return ""


def _wrong_url(url: str) -> str:
    if not url:
        return "it needs a url"
    try:
        read_address(url)
    except ClusterctlError as error:
        return f"{error}"
    return ""
