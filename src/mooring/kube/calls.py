"""One request to an API server as a value, and the escaping of what goes into its URL and headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from multidict import CIMultiDict

from mooring.kube.answers import READS
from mooring.kube.connection import Impersonation


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `path` is escaped, `query` too."""

    verb: str
    path: str
    query: str = ""
    body: bytes | None = None
    content_type: str | None = None
    accept: str | None = None

    @property
    def reads(self) -> bool:
        return self.verb in READS


def standing_headers(user_agent: str, impersonation: Impersonation | None) -> CIMultiDict[str]:
    headers = CIMultiDict(
        {
            "User-Agent": user_agent,
            "Accept": "application/json",
            # The servers that we talk most to are near; packing and unpacking lists costs both sides more.
            "Accept-Encoding": "identity",
        }
    )
    if impersonation is not None:
        headers["Impersonate-User"] = impersonation.user
        if impersonation.uid is not None:
            headers["Impersonate-Uid"] = impersonation.uid
        for group in impersonation.groups:
            headers.add("Impersonate-Group", group)
        for key, values in impersonation.extra.items():
            for value in values:
                headers.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
    return headers


def query(parameters: Mapping[str, str | int | bool | None]) -> str:
    """Parameters as an escaped query string; those that are None are left out."""
    pairs = []
    for name, value in parameters.items():
        if value is None:
            continue
        text = ("true" if value else "false") if isinstance(value, bool) else str(value)
        pairs.append(f"{name}={quote(text, safe='')}")
    return "&".join(pairs)
