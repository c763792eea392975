"""Addresses of repositories, taken apart the way that existing configuration files expect it.

``urllib.parse`` is more lenient (it drops control characters and keeps broken escapes), so that a typo would turn into
another folder without a word.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from mooring.clusterctl.errors import ClusterctlError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_LOOPBACK: Final = frozenset({"127.0.0.1", "[::1]", "localhost"})


@dataclass(frozen=True, slots=True)
class Address:
    """An address without its query and fragment."""

    text: str
    scheme: str  # lower case; empty for a plain path
    host: str  # with the port
    raw_path: str  # escapes as they were written
    path: str

    @property
    def server(self) -> str:
        return f"{self.scheme}://{self.host}"

    @property
    def is_web(self) -> bool:
        """https; http only on this machine, where nobody is in between."""
        return bool(self.host) and (self.scheme == "https" or (self.scheme == "http" and is_loopback(self.host)))


def read_address(text: str) -> Address:
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        raise ClusterctlError(f"invalid provider url {text!r}: it contains a control character")
    rest = text.partition("#")[0].partition("?")[0]
    scheme = ""
    if found := _SCHEME.match(rest):
        scheme, rest = found.group(1).lower(), rest[found.end() :]
    elif ":" in rest.partition("/")[0]:
        raise ClusterctlError(f"invalid provider url {text!r}: there is no scheme before the colon")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        host, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    if scheme and not rest.startswith("/"):
        rest = ""  # such as file:relative/path: no path at all
    return Address(text=text, scheme=scheme, host=host, raw_path=rest, path=_unescaped(rest, text))


def is_loopback(host: str) -> bool:
    """Whether a host, with or without port, is this machine."""
    name, _, port = host.rpartition(":")
    return host in _LOOPBACK or (name in _LOOPBACK and port.isdecimal())


def _unescaped(path: str, text: str) -> str:
    raw = os.fsencode(path)
    plain = _ESCAPE.sub(lambda found: bytes([int(found.group(1), 16)]), raw)
    if raw.count(b"%") != len(_ESCAPE.findall(raw)):
        raise ClusterctlError(f"invalid provider url {text!r}: a % must be followed by two hexadecimal digits")
    if b"\0" in plain:
        raise ClusterctlError(f"invalid provider url {text!r}: %00 cannot be part of a path")
    return os.fsdecode(plain)
