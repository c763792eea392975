"""Where landscapes are kept, and which one is meant."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

DEFAULT_LANDSCAPE = "default"

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


class SettingError(Exception):
    """A setting that makes no sense; the message names it, its value and what it may be."""


@dataclass(frozen=True, slots=True)
class Place:
    """A landscape's name and directory."""

    name: str
    directory: Path


def place(name: str = DEFAULT_LANDSCAPE, parent: Path | None = None) -> Place:
    """The place of a landscape, under the given directory or the user's data directory."""
    if _NAME.fullmatch(name) is None:
        raise SettingError(
            f"{name!r} cannot be the name of a landscape: use up to 40 lower-case letters, digits and inner hyphens."
        )
    try:
        return Place(name, (parent or data_directory()).expanduser().absolute() / name)
    except (RuntimeError, OSError) as error:  # no such user, no home, or the current directory is gone
        raise SettingError(f"Cannot tell where landscapes are kept: {error}. Give a directory with --dir.") from error


def data_directory() -> Path:
    """Where landscapes are if nobody says otherwise."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # As the XDG specification wants it, a relative path counts as not set.
    root = Path(base) if base.startswith("/") else Path.home() / ".local" / "share"
    return root / "mooring" / "landscapes"
