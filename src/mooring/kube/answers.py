"""From an HTTP answer, or a Status object in a watch, to the error that it stands for.

Neighbours: `errors` has the types; `transport` and `watch` ask here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mooring.kube.errors import BY_CODE, AlreadyExists, ApiError, Gone, ServerError

READS = frozenset({"GET", "HEAD", "OPTIONS", "WATCH"})

# A warning in a header: its code, who says so, and the text; 299 is what stays true until somebody changes something.
_WARNING = re.compile(r'\b299 \S+ "((?:[^"\\]|\\.)*)"')
_CAMEL = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")
_LONGEST_TEXT = 500


class Status(msgspec.Struct, frozen=True):
    """What Kubernetes answers instead of the object when it refuses. Everything in it may be missing."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: dict[str, Any] | None = None


_STATUS = msgspec.json.Decoder(Status)


def warnings_in(headers: Iterable[str]) -> list[str]:
    """The texts of warnings; one header may hold several."""
    return [re.sub(r"\\(.)", r"\1", text) for header in headers for text in _WARNING.findall(header)]


def error_from_answer(*, code: int, body: bytes, verb: str, path: str, retry_after: str | None = None) -> ApiError:
    """The error for a refused HTTP call. What stands between us and the server may answer with plain text."""
    try:
        status = _STATUS.decode(body)
    except msgspec.MsgspecError:
        status = Status(message=_plain(body))
    return error_from_status(status, verb=verb, path=path, code=code, retry_after=_seconds(retry_after))


def error_from_status(
    status: Status, *, verb: str, path: str, code: int | None = None, retry_after: float | None = None
) -> ApiError:
    """The error for a Status; without an HTTP code of its own (inside a watch) the Status' code counts."""
    number = code or status.code or 500
    details = status.details or {}
    kind = _kind(number, status.reason or "")
    return kind(
        code=number,
        reason=status.reason if status.reason and _CAMEL.fullmatch(status.reason) else "",
        message=status.message or "the server gave no message",
        details=details,
        verb=verb,
        path=path,
        retry_after=retry_after if retry_after is not None else _asked_wait(details),
        # A server that lost its store in mid-write answers 5xx, and the write may still be in the store.
        outcome_unknown=number >= 500 and verb not in READS,
    )


def _kind(code: int, reason: str) -> type[ApiError]:
    if reason == "AlreadyExists":
        return AlreadyExists
    if reason in ("Expired", "Gone"):
        return Gone
    if code >= 500:
        return ServerError
    return BY_CODE.get(code, ApiError)


def _asked_wait(details: Mapping[str, Any]) -> float | None:
    seconds = details.get("retryAfterSeconds")
    return float(seconds) if isinstance(seconds, int) and seconds > 0 else None


def _seconds(header: str | None) -> float | None:
    # The header may also hold a date; Kubernetes never sends one, and guessing the server's clock is worse
    # than treating it as absent.
    return float(header) if header is not None and header.isascii() and header.isdigit() else None


def _plain(body: bytes) -> str:
    text = body[: 4 * _LONGEST_TEXT].decode("utf-8", "replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_LONGEST_TEXT]
