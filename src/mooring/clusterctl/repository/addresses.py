"""Addresses of repositories, taken apart the way that existing configuration files expect it.

``urllib.parse`` is more lenient (it drops control characters and keeps broken escapes), so that a typo would turn into
another folder without a word. What upstream's library refuses is refused here, and nothing else.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from mooring.clusterctl.errors import ClusterctlError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USER: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
# What may be escaped in the name of a host is only what is not ASCII; and the percent sign, for the sake of zones.
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:\]<>\"\x80-\U0010ffff-]|%25|%[89A-Fa-f][0-9A-Fa-f])*")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_LOOPBACK: Final = frozenset({"127.0.0.1", "[::1]", "localhost"})


@dataclass(frozen=True, slots=True)
class Address:
    """An address without its query and fragment."""

    text: str
    scheme: str  # lower case; empty for a plain path
    user: str  # with the password, as written
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
    """Take an address apart, or say what is wrong with it."""
    before, _, fragment = text.partition("#")
    if _CONTROL.search(before):
        raise _refusal(text, "it contains a control character")
    scheme, rest = "", before
    if found := _SCHEME.match(before):
        scheme, rest = found.group(1).lower(), before[found.end() :]
    rest = rest.partition("?")[0]
    if before.startswith(":") or (not scheme and ":" in rest.partition("/")[0]):
        raise _refusal(text, "there is no scheme before the colon")
    if scheme and not rest.startswith("/"):
        rest = ""  # such as file:relative/path: no path at all
    authority = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    user, _, host = authority.rpartition("@")
    if problem := _wrong_user(user) or _wrong_host(host, scheme):
        raise _refusal(text, problem)
    if _BROKEN_ESCAPE.search(rest) or _BROKEN_ESCAPE.search(fragment):
        raise _refusal(text, "a % must be followed by two hexadecimal digits")
    return Address(text=text, scheme=scheme, user=user, host=host, raw_path=rest, path=_unescaped(rest))


def is_loopback(host: str) -> bool:
    """Whether a host, with or without port, is this machine."""
    name, _, port = host.rpartition(":")
    return host in _LOOPBACK or (name in _LOOPBACK and port.isdecimal())


def _refusal(text: str, problem: str) -> ClusterctlError:
    return ClusterctlError(f"invalid provider url {text!r:.200}: {problem}")


def _wrong_user(user: str) -> str:
    if not _USER.fullmatch(user) or _BROKEN_ESCAPE.search(user):
        return "the name of the user, before the @, has characters that must be escaped"
    return ""


def _wrong_host(host: str, scheme: str) -> str:
    if "[" in host:
        return _wrong_literal(host)
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0 and not _PORT.fullmatch(host, colon):
        return f"{host[colon:]!r} behind the host is no port"
    return "" if _HOST.fullmatch(host) else f"{host!r} is not the name of a host"


def _wrong_literal(host: str) -> str:
    """An IPv6 address in brackets, perhaps with a zone behind %25."""
    import ipaddress  # here, because nearly no address has one

    inside, bracket, port = host.removeprefix("[").rpartition("]")
    try:
        ipaddress.IPv6Address(inside.replace("%25", "%", 1))
    except ValueError:
        bracket = ""
    right = host.rfind("[") == 0 and bracket and "%" not in inside.partition("%25")[0] and _PORT.fullmatch(port)
    return "" if right else f"{host!r} is not an IPv6 address in brackets"


def _unescaped(path: str) -> str:
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found.group(1), 16)]), os.fsencode(path)))
