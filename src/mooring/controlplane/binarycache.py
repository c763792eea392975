"""The user's cache of fetched programs: whole files, a manifest that knows them, and a lock.

One directory per toolset, version and recipe: ``<user
cache>/mooring/binaries/<toolset>/<version>-<digest>/``. It holds the programs, ``manifest.json``, and while
someone fetches ``.partial/`` with what is not finished. A program enters by rename after its last byte is on
the disk, then the manifest is replaced; a crash between the two leaves a file that doesn't match the
manifest, which the next look notices.

Guarantees: whoever holds the lock is the only writer. Readers need no lock, since they see old or new files
and nothing in between. ``.partial`` belongs to the holder, so a new holder clears what a killed one left
there.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from mooring.controlplane.toolsets import Recipe, Toolset

_FORMAT = 1


class State(StrEnum):
    """What a look at a program found."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


class Source(StrEnum):
    """Where a program came from."""

    NAMED = "named"
    DOWNLOADED = "downloaded"
    BUILT = "built"


class Means(StrEnum):
    """How programs may be got."""

    ANY = "any"
    DOWNLOAD = "download"
    BUILD = "build"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the manifest knows: size and time are for the quick check, the sum is for the thorough one."""

    sha256: str
    size: int
    mtime_ns: int
    version: str
    source: Source


@dataclass(frozen=True, slots=True)
class Manifest:
    """All programs of one directory."""

    format: int = _FORMAT
    binaries: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of one program, and why, in words, if it is not ok."""

    state: State
    reason: str = ""


def cache_home() -> Path:
    """Mooring's part of the user's cache. As XDG says, a relative path in the variable is ignored."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "mooring"


def cache_directory(toolset: Toolset, recipe: Recipe) -> Path:
    """Where the programs of this recipe are, or will be."""
    return cache_home() / "binaries" / toolset.name / f"{recipe.version}-{recipe.digest}"


def cached_directories(toolset: Toolset) -> list[Path]:
    """All that the cache has of a toolset, of whichever recipe."""
    return sorted(path for path in (cache_home() / "binaries" / toolset.name).glob("*") if path.is_dir())


def read_manifest(directory: Path) -> tuple[Manifest, str]:
    """The manifest, and what is wrong with it. One that cannot be understood counts as empty."""
    path = directory / "manifest.json"
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return Manifest(), ""
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return Manifest(), f"{path} cannot be read ({error})"
    if manifest.format != _FORMAT:
        return Manifest(), f"{path} has the unknown format {manifest.format}"
    return manifest, ""


def check_entry(path: Path, entry: Entry | None, *, thorough: bool) -> Verdict:
    """Is this the file that was put here? Unchanged size and time are enough, unless the look is thorough."""
    try:
        status = path.stat()
    except OSError:
        return Verdict(State.MISSING, "is not there")
    if entry is None:
        return Verdict(State.BROKEN, "is not in the manifest")
    if status.st_size != entry.size:
        return Verdict(State.BROKEN, f"has {status.st_size} bytes instead of {entry.size}")
    if not os.access(path, os.X_OK):
        return Verdict(State.BROKEN, "is not executable")
    same_time = status.st_mtime_ns == entry.mtime_ns
    if same_time and not thorough:
        return Verdict(State.OK)
    if sha256_of(path) != entry.sha256:
        return Verdict(State.BROKEN, "has another content than was put there (sha256 differs)")
    if not same_time:
        # Only the time differs (a copied cache, say). Setting it back makes the next quick check quick again.
        with contextlib.suppress(OSError):
            os.utime(path, ns=(status.st_atime_ns, entry.mtime_ns))
    return Verdict(State.OK)


def sha256_of(path: Path) -> str:
    """The file's checksum, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def adopt(draft: Path, directory: Path, name: str, *, version: str, source: Source) -> None:
    """Move a finished program into the directory and write it down. The caller holds the lock."""
    draft.chmod(0o755)
    _sync(draft)
    status = draft.stat()
    entry = Entry(
        sha256=sha256_of(draft),
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        version=version,
        source=source,
    )
    draft.replace(directory / name)
    known, _ = read_manifest(directory)
    _write_manifest(directory, {**known.binaries, name: entry})


@contextlib.contextmanager
def locked(directory: Path, *, on_wait: Callable[[str], None]) -> Iterator[Path]:
    """Hold the directory's lock; yields an empty directory for drafts, which is gone afterwards.

    The lock is a flock on a file that is never deleted (deleting it would let two processes lock two files of
    one name). It ends with its holder, however that one ends. `on_wait` hears who holds it, if we have to
    wait.
    """
    directory.mkdir(parents=True, exist_ok=True)
    partial = directory / ".partial"
    with (directory.parent / f"{directory.name}.lock").open("a+") as file:
        _acquire(file.fileno(), on_wait)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            yield partial
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            os.ftruncate(file.fileno(), 0)


def _acquire(descriptor: int, on_wait: Callable[[str], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        on_wait(holder)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    now = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()}, since {now}\n".encode())


def _write_manifest(directory: Path, binaries: Mapping[str, Entry]) -> None:
    content = msgspec.json.format(msgspec.json.encode(Manifest(binaries=dict(binaries))), indent=2)
    draft = directory / ".partial" / "manifest.json"
    draft.write_bytes(content + b"\n")
    _sync(draft)
    draft.replace(directory / "manifest.json")
    _sync(directory)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
