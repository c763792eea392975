"""Nothing secret leaves a provider: what it says about a cluster is looked through before it is written anywhere.

A net, not a wall: it catches what credentials of Kubernetes look like, so that a mistake in a provider does not end up
in a status that many can read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

HIDDEN: Final = "(hidden)"

_PRIVATE_KEY = r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
_ENCODED_PEM = r"LS0tLS1CRUdJTi[A-Za-z0-9+/=\s]*"  # how base64 of "-----BEGIN" begins
_JWT = r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"  # three parts, the first is JSON
_NAMED = (
    r"\b(?:client-key-data|client-certificate-data|id-token|refresh-token|token|password)\b"
    r"[\"']?\s*[:=]\s*[\"']?[^\s\"',}]{8,}"
)
_BEARER = r"\bbearer\s+[^\s\"',}]{16,}"
_SECRET = re.compile("|".join((_PRIVATE_KEY, _ENCODED_PEM, _JWT, _NAMED, _BEARER)), re.IGNORECASE)
_KUBECONFIG = re.compile(
    r"\bkind[\"']?:\s*[\"']?Config\b[\s\S]*\busers[\"']?:|\busers[\"']?:[\s\S]*\bkind[\"']?:\s*[\"']?Config\b"
)
_TELLING_NAMES = re.compile(
    r"(?i)(kube-?config|password|passwd|private-?key|client-?key(-?data)?|(^|-)token|secret-?data)$"
)


def scrubbed(text: str) -> str:
    """The text without what looks like a credential."""
    return HIDDEN if _KUBECONFIG.search(text) else _SECRET.sub(HIDDEN, text)


def secret_in(value: Any, path: str = "") -> str | None:
    """Where in the value something looks like a credential: a path such as ``.admin.token``; None if nowhere."""
    if isinstance(value, Mapping):
        found = (_secret_under(str(name), inner, f"{path}.{name}") for name, inner in value.items())
        return next((one for one in found if one is not None), None)
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode(errors="replace")
        return (path or ".") if scrubbed(text) != text or _has_password(text) else None
    if isinstance(value, Sequence):
        found = (secret_in(inner, f"{path}[{number}]") for number, inner in enumerate(value))
        return next((one for one in found if one is not None), None)
    return None


def _secret_under(name: str, value: Any, path: str) -> str | None:
    # camelCase and snake_case are read as words that are joined by hyphens
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", "-", name)
    if _TELLING_NAMES.search(words) and isinstance(value, str | bytes | Mapping) and value:
        return path
    return secret_in(value, path)


def _has_password(text: str) -> bool:
    """Whether it is an address with somebody's password in it."""
    if "://" not in text or "@" not in text:
        return False
    try:
        return urlsplit(text).password is not None
    except ValueError:
        return False
