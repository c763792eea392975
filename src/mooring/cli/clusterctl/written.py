"""Files with what may hold credentials: for their owner only, and there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from mooring.cli.clusterctl.tree import UsageError


def write_privately(target: str, text: str) -> None:
    """Write a file that nobody else can read, over what is there; what is no plain file (a pipe) is written into."""
    path = Path(target).resolve()
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path, text)
    except OSError as error:
        raise UsageError(f"cannot write to {target!r}: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:  # made with mode 0600
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
