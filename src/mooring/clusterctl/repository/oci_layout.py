"""An OCI image layout on disk, read with suspicion: it may have come a long way, on a stick.

Guarantees: nothing outside of the layout's folder is opened (digests are checked before they become names, symbolic
links are not followed), nothing is read that is not a plain file of the size its descriptor states, and no content is
returned whose digest differs.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.repository.source import SIZE_LIMIT

INDEX_TYPE: Final = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
TITLE: Final = "org.opencontainers.image.title"
REFERENCE: Final = "org.opencontainers.image.ref.name"
VERSION: Final = "org.opencontainers.image.version"

DOCUMENT_LIMIT: Final = 4 * 1024 * 1024
DEPTH_LIMIT: Final = 8
MANIFESTS_LIMIT: Final = 10_000

_T = TypeVar("_T")
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PLAIN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Descriptor(msgspec.Struct, frozen=True, rename="camel"):
    """Where content is, how large it is, and what."""

    digest: str
    size: int
    media_type: str = ""
    annotations: dict[str, str] | None = None

    def annotated(self, name: str) -> str:
        return (self.annotations or {}).get(name, "")


class Document(msgspec.Struct, frozen=True, rename="camel"):
    """An index or a manifest, which of the two its fields tell."""

    schema_version: int
    media_type: str = ""
    artifact_type: str = ""
    manifests: list[Descriptor] = []
    layers: list[Descriptor] = []
    annotations: dict[str, str] | None = None


class _Marker(msgspec.Struct, rename="camel"):
    image_layout_version: str


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout."""

    folder: str

    def check(self) -> None:
        content = self._read(("oci-layout",), limit=1024)
        if content is None:
            raise NotHere(f"{self.folder} is no OCI image layout: it has no file oci-layout")
        marker = _decoded(content, _Marker, f"{self.folder}/oci-layout")
        if marker.image_layout_version != "1.0.0":
            raise ClusterctlError(
                f"{self.folder}/oci-layout: imageLayoutVersion is {marker.image_layout_version!r:.40}, "
                f"and must be 1.0.0"
            )

    def manifests(self) -> Iterator[tuple[tuple[Descriptor, ...], Document]]:
        """Every manifest with the descriptors that lead to it, outermost first."""
        self.check()
        content = self._read(("index.json",), limit=DOCUMENT_LIMIT)
        if content is None:
            raise NotHere(f"{self.folder} is no OCI image layout: it has no file index.json")
        index = _decoded(content, Document, f"{self.folder}/index.json")
        # Nested indexes can lead to the same manifest by very many ways: a budget, and no recursion.
        # What was read once is not read again on the next way: its digest says that it is the same.
        budget, known = _Budget(self.folder), dict[str, Document]()
        waiting: list[tuple[tuple[Descriptor, ...], Descriptor]] = [((), one) for one in reversed(index.manifests)]
        while waiting:
            way, descriptor = waiting.pop()
            budget.spend(depth=len(way))
            way = (*way, descriptor)
            if descriptor.media_type not in (INDEX_TYPE, MANIFEST_TYPE):
                continue  # an index may list what other tools understand
            document = known.get(descriptor.digest) or self.document(descriptor)
            known[descriptor.digest] = document
            if descriptor.media_type == MANIFEST_TYPE:
                yield way, document
            else:
                waiting += [(way, one) for one in reversed(document.manifests)]

    def document(self, descriptor: Descriptor) -> Document:
        return _decoded(self.blob(descriptor, limit=DOCUMENT_LIMIT), Document, f"the blob {descriptor.digest}")

    def blob(self, descriptor: Descriptor, *, limit: int = SIZE_LIMIT) -> bytes:
        """Content, proved to be what its descriptor says."""
        found = _DIGEST.fullmatch(descriptor.digest)
        if found is None:
            raise ClusterctlError(
                f"the layout {self.folder} names the digest {descriptor.digest!r:.90}: "
                f"only sha256: and 64 digits are read"
            )
        if not 0 <= descriptor.size <= limit:
            raise ClusterctlError(
                f"the layout {self.folder} says that the blob {descriptor.digest} has {descriptor.size} bytes: "
                f"between 0 and {limit} are read"
            )
        content = self._read(("blobs", "sha256", found.group(1)), limit=limit, size=descriptor.size)
        if content is None:
            raise NotHere(f"the layout {self.folder} lacks the blob {descriptor.digest}: copy it again, completely")
        if hashlib.sha256(content).hexdigest() != found.group(1):
            raise ClusterctlError(
                f"the blob {descriptor.digest} of the layout {self.folder} has another digest: it is damaged"
            )
        return content

    def _read(self, steps: tuple[str, ...], *, limit: int, size: int | None = None) -> bytes | None:
        """A plain file below the folder, or None. Each step is opened in the folder before it, and is no link."""
        where = "/".join((self.folder, *steps))
        with ExitStack() as opened:
            try:
                folder = os.open(self.folder, _FOLDER)
                opened.callback(os.close, folder)
                for step in steps[:-1]:
                    folder = os.open(step, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                    opened.callback(os.close, folder)
                handle = os.open(steps[-1], _PLAIN, dir_fd=folder)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise ClusterctlError(
                    f"cannot open {where}: {error.strerror} (symbolic links are not followed)"
                ) from None
            opened.callback(os.close, handle)
            return _content(handle, where, limit=limit, size=size)


def _content(handle: int, where: str, *, limit: int, size: int | None) -> bytes:
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        raise ClusterctlError(f"{where} is not a plain file")
    if size is not None and state.st_size != size:
        raise ClusterctlError(f"{where} has {state.st_size} bytes, and its descriptor says {size}")
    if state.st_size > limit:
        raise ClusterctlError(f"{where} has {state.st_size} bytes: at most {limit} are read")
    with os.fdopen(os.dup(handle), "rb") as file:
        return file.read(limit)


def _decoded(content: bytes, type_: type[_T], where: str) -> _T:
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ClusterctlError(f"{where} is not what it should be: {error}") from None


@dataclass(slots=True)
class _Budget:
    folder: str
    left: int = field(default=MANIFESTS_LIMIT)

    def spend(self, *, depth: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise ClusterctlError(f"the layout {self.folder} lists more than {MANIFESTS_LIMIT} manifests and indexes")
        if depth >= DEPTH_LIMIT:
            raise ClusterctlError(f"the layout {self.folder} nests indexes deeper than {DEPTH_LIMIT}")
