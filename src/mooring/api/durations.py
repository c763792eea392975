"""Lengths of time as Kubernetes writes them: Go's durations, such as ``72h`` or ``1h30m``."""

from __future__ import annotations

import re
from typing import Final

# What the server lets through for a field that cannot be negative.
DURATION_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"

_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PIECE: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


def seconds_of(text: str) -> float:
    """The length in seconds; raises ValueError for what Go would not read either."""
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    total, end = 0.0, 0
    while (piece := _PIECE.match(rest, end)) is not None:
        total += float(piece[1]) * _SECONDS[piece[2]]
        end = piece.end()
    if not rest or end != len(rest):
        raise ValueError(f"{text!r} is not a length of time; write it like 90s, 45m, 72h or 1h30m")
    return sign * total
