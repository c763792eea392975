"""What every kind of repository can do, and the names that may be asked of one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from mooring.clusterctl.errors import ClusterctlError, NotHere

SIZE_LIMIT: Final = 64 * 1024 * 1024  # of a file; the largest components of today's providers are a tenth of it


class NoSuchRelease(NotHere):
    """A version is listed but has not been released: ``latest`` goes on to the next one."""


class Source(Protocol):
    """One provider's releases at one place."""

    @property
    def components_name(self) -> str:
        """The file with the components, as the address names it."""
        ...

    @property
    def version_in_address(self) -> str:
        """The version that the address names; may be ``latest``."""
        ...

    @property
    def versions_as_written(self) -> bool:
        """Whether a version is asked for as it is listed; otherwise with a leading v, listed so or not."""
        ...

    async def keeps_latest(self) -> bool:
        """Whether the place itself keeps something under the name ``latest``, so that it is not for us to find out."""
        ...

    async def versions(self) -> list[str]:
        """The versions that are there: semantic ones, in the order of the place."""
        ...

    async def file(self, version: str, name: str) -> bytes:
        """A file of a version. `NotHere` names version and file, and what is there instead."""
        ...


def checked_version(version: str) -> str:
    return _segment(version, "version")


def checked_name(name: str) -> str:
    return _segment(name, "file name")


def _segment(text: str, what: str) -> str:
    """Versions and names come from flags and templates: one step of a path, never a way out of a folder."""
    if not text or text in (".", "..") or "/" in text or any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        raise ClusterctlError(
            f"invalid {what} {text!r}: it must be the name of one file or folder, "
            f"without slashes and control characters"
        )
    return text


def content_of(path: Path) -> bytes:
    """A file of this machine, unless it is larger than any file of a provider."""
    with path.open("rb") as file:
        content = file.read(SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        raise ClusterctlError(f"{path} is larger than {SIZE_LIMIT // 1024 // 1024} MiB: that is no file of a provider")
    return content


def listed(names: Iterable[str], *, most: int = 20) -> str:
    """Names for an error: what is there instead."""
    found = sorted(names)
    if not found:
        return "nothing"
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
