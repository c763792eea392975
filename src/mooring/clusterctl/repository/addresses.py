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

# Patterns are compiled when they are used first: most addresses are plain paths, and need few of them.
_SCHEME: Final = r"([A-Za-z][A-Za-z0-9+.-]*):"
_ESCAPE: Final = rb"%([0-9A-Fa-f]{2})"
_BROKEN_ESCAPE: Final = r"%(?![0-9A-Fa-f]{2})"
_USER: Final = r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*"
_PORT: Final = r"(?::[0-9]*)?"
# What may be escaped in the name of a host is only what is not ASCII; and the percent sign, for the sake of zones.
_ESCAPE_IN_HOST: Final = r"%25|%[89A-Fa-f][0-9A-Fa-f]"
_NOT_IN_HOST: Final = frozenset(" #%/?@\\^`{|}")
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
    if any(letter < " " or letter == "\x7f" for letter in before):
        raise wrong_address(text, "it contains a control character")
    scheme, rest = "", before
    if found := re.match(_SCHEME, before):
        scheme, rest = found.group(1).lower(), before[found.end() :]
    rest = rest.partition("?")[0]
    if before.startswith(":") or (not scheme and ":" in rest.partition("/")[0]):
        raise wrong_address(text, "there is no scheme before the colon")
    if scheme and not rest.startswith("/"):
        rest = ""  # such as file:relative/path: no path at all
    authority = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    user, _, host = authority.rpartition("@")
    if problem := _wrong_user(user) or _wrong_host(host, scheme):
        raise wrong_address(text, problem)
    if _has_broken_escapes(rest) or _has_broken_escapes(fragment):
        raise wrong_address(text, "a % must be followed by two hexadecimal digits")
    return Address(text=text, scheme=scheme, user=user, host=host, raw_path=rest, path=_unescaped(rest))


def is_loopback(host: str) -> bool:
    """Whether a host, with or without port, is this machine."""
    name, _, port = host.rpartition(":")
    return host in _LOOPBACK or (name in _LOOPBACK and port.isdecimal())


def wrong_address(text: str, problem: str) -> ClusterctlError:
    """The error about an address; what is before an @ in it may be a password, and is not shown."""
    shown = re.sub(r"//[^/?#]*@", "//…@", text, count=1)
    return ClusterctlError(f"invalid provider url {shown[:200]!r}: {problem}")


def _wrong_user(user: str) -> str:
    if user and (not re.fullmatch(_USER, user) or _has_broken_escapes(user)):
        return "the name of the user, before the @, has characters that must be escaped"
    return ""


def _wrong_host(host: str, scheme: str) -> str:
    if "[" in host:
        return _wrong_literal(host)
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0 and not re.fullmatch(_PORT, host[colon:]):
        return f"{host[colon:]!r} behind the host is no port"
    plain = re.sub(_ESCAPE_IN_HOST, "", host) if "%" in host else host
    return "" if _NOT_IN_HOST.isdisjoint(plain) else f"{host!r} is not the name of a host"


def _wrong_literal(host: str) -> str:
    """An IPv6 address in brackets, perhaps with a zone behind %25."""
    import ipaddress  # here, because nearly no address has one

    inside, bracket, port = host.removeprefix("[").rpartition("]")
    try:
        ipaddress.IPv6Address(inside.replace("%25", "%", 1))
    except ValueError:
        bracket = ""
    right = host.rfind("[") == 0 and bracket and "%" not in inside.partition("%25")[0] and re.fullmatch(_PORT, port)
    return "" if right else f"{host!r} is not an IPv6 address in brackets"


def _has_broken_escapes(text: str) -> bool:
    return "%" in text and re.search(_BROKEN_ESCAPE, text) is not None


def _unescaped(path: str) -> str:
    if "%" not in path:
        return path
    return os.fsdecode(re.sub(_ESCAPE, lambda found: bytes([int(found.group(1), 16)]), os.fsencode(path)))
