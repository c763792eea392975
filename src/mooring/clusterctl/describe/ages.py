"""How long ago something was, in as few letters as kubectl needs."""

from __future__ import annotations

from datetime import datetime, timedelta

_LONG_AGO = "292y"  # as far back as clusterctl can count: for a time that nobody has written down


def age(since: datetime | None, now: datetime) -> str:
    return shortened(now - since) if since is not None else _LONG_AGO


def shortened(span: timedelta) -> str:
    """Two or three digits' worth of it."""
    total = span.total_seconds()
    seconds = int(total)
    if seconds < 0:
        return "<invalid>" if seconds < -1 else "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, its: str, small: int, of: str) -> str:
    return f"{large}{its}{small}{of}" if small else f"{large}{its}"
