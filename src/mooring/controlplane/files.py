"""Files of a landscape: whole or not at all, and never readable by anyone else.

Everything a landscape keeps goes through here, so that a crash in the middle of a write leaves the old content, a key
is 0600 from its first byte on, and a full disk or a read-only directory is one clear sentence that names the path.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mooring.controlplane.errors import StateError

T = TypeVar("T")

REMEDY = "Restore it from a backup, or remove the landscape with 'mooring down --purge' and start anew."

_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600


def private_directory(path: Path) -> Path:
    """The directory, made with its parents if need be; the mode of what is made lets nobody else in."""
    if not path.parent.exists():
        private_directory(path.parent)
    with _naming(path, "create the directory"):
        path.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)
        if path.stat().st_mode & 0o077:
            path.chmod(_DIRECTORY_MODE)
    return path


def write_private(path: Path, content: bytes) -> None:
    """Replace the file's content at once, with mode 0600; unchanged content is not written again."""
    with _naming(path, "write"):
        if _holds(path, content):
            return
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            os.replace(draft, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
            raise


def remove_tree(path: Path) -> None:
    """Remove a directory and all in it; one that is gone already is fine."""
    with _naming(path, "remove"), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


def read_private(path: Path) -> bytes:
    """The file's content."""
    with _naming(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError as error:
            raise StateError(f"The file {path} is missing. {REMEDY}") from error


def write_state(path: Path, value: Any) -> None:
    """Write a state file."""
    write_private(path, state_text(value))


def state_text(value: Any) -> bytes:
    """What a state file holds: JSON that a person can read."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def read_state(path: Path, kind: type[T]) -> T:
    """Read a state file; what is not of its form is named, with the remedy."""
    content = read_private(path)
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StateError(f"The state file {path} is damaged ({error}). {REMEDY}") from error


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content and path.stat().st_mode & 0o777 == _FILE_MODE
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _naming(path: Path, deed: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(
            f"Cannot {deed} {path}: {error.strerror or error}. Free some space or fix the permissions there, or "
            f"choose another place with --dir."
        ) from error
