"""Repositories on any other web server: a local repository's folders, and an index that says what is in them.

``https://{host}/{base}/{provider-label}/{version|latest}/{components.yaml}``, with ``index.yaml`` beside the version
folders, because a web server cannot be asked what it has.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from mooring.clusterctl import yamls
from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.providers import Provider
from mooring.clusterctl.repository.addresses import Address
from mooring.clusterctl.repository.http import Fetcher, quoted
from mooring.clusterctl.repository.local import labelled_path
from mooring.clusterctl.repository.source import checked_name, checked_version, listed
from mooring.clusterctl.semver import Version

INDEX_FILE: Final = "index.yaml"
INDEX_VERSION: Final = "clusterctl.mooring.dev/v1"
INDEX_KIND: Final = "RepositoryIndex"

_SIZE_LIMIT: Final = 4 * 1024 * 1024
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")

Files = Mapping[str, str]  # file name -> digest, or nothing where none is given


class IndexedSource:
    """Releases below one address, as its index lists them."""

    versions_as_written = True

    def __init__(self, provider: Provider, address: Address, fetcher: Fetcher) -> None:
        place = labelled_path(address.path, provider)
        self.components_name = place.components
        self.version_in_address = place.version
        self._label = place.label
        base = address.raw_path.rsplit("/", 2)[0]
        self._folder = f"{address.server}{base}"
        self._fetcher = fetcher

    async def keeps_latest(self) -> bool:
        return False

    async def versions(self) -> list[str]:
        return [name for name in await self._index() if Version.read(name) is not None]

    async def file(self, version: str, name: str) -> bytes:
        index = await self._index()
        if checked_version(version) not in index:
            raise NotHere(f"{self._label} has no version {version} (for {name}): {self._folder} lists {listed(index)}")
        files = index[version]
        if files is not None and checked_name(name) not in files:
            raise NotHere(f"version {version} of {self._label} has no file {name}: its index lists {listed(files)}")
        address = f"{self._folder}/{quoted(version)}/{quoted(checked_name(name))}"
        answer = await self._fetcher.get(address)
        if answer.status == 404:
            raise NotHere(f"version {version} of {self._label} has no file {name}: {address} answers 404")
        if answer.status != 200:
            raise ClusterctlError(f"cannot get {name} of {self._label} {version}: {address} answers {answer.status}")
        _verify(answer.body, (files or {}).get(name, ""), address)
        return answer.body

    async def _index(self) -> dict[str, Files | None]:
        address = f"{self._folder}/{INDEX_FILE}"
        answer = await self._fetcher.get(address)
        if answer.status != 200:
            raise ClusterctlError(
                f"{self._folder} is neither on GitHub nor a GitLab package registry, and {address} answers "
                f"{answer.status}: publish an index there, or use a local repository"
            )
        return read_index(answer.body, where=address)


def read_index(content: bytes, *, where: str) -> dict[str, Files | None]:
    """Versions, and their files where the index lists them. An index of another kind or version is refused."""
    if len(content) > _SIZE_LIMIT:
        raise ClusterctlError(f"{where} has {len(content)} bytes: at most {_SIZE_LIMIT} are read")
    try:
        document = yamls.load(content.decode())
    except UnicodeDecodeError:
        raise ClusterctlError(f"{where} is not UTF-8 text") from None
    except ClusterctlError as error:
        raise ClusterctlError(f"{where}: {error}") from None
    if not isinstance(document, dict):
        raise ClusterctlError(f"{where} is no index: it must be a mapping with apiVersion, kind, versions")
    for field, expected in (("apiVersion", INDEX_VERSION), ("kind", INDEX_KIND)):
        if document.get(field) != expected:
            raise ClusterctlError(f"{where}: {field} is {document.get(field)!r:.60}, and must be {expected}")
    rows = document.get("versions")
    if not isinstance(rows, list):
        raise ClusterctlError(f"{where}: versions must be a list of {{name, files}}")
    return dict(_row(row, f"{where}: versions[{at}]") for at, row in enumerate(rows))


def _row(row: Any, where: str) -> tuple[str, Files | None]:
    name = row.get("name") if isinstance(row, dict) else None
    if not isinstance(name, str) or Version.read(name) is None:
        raise ClusterctlError(f"{where}.name is {name!r:.60}, and must be a semantic version such as v1.2.3")
    files = row.get("files")
    if files is None:
        return name, None
    if not isinstance(files, dict):
        raise ClusterctlError(f"{where}.files must map each file's name to its digest (sha256:…) or to nothing")
    for file, digest in files.items():
        if digest is not None and not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            raise ClusterctlError(
                f"{where}.files[{file}] is {digest!r:.60}, and must be sha256: and 64 digits, or nothing"
            )
    return name, {str(file): digest or "" for file, digest in files.items()}


def _verify(content: bytes, digest: str, address: str) -> None:
    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if digest and found != digest:
        raise ClusterctlError(
            f"{address} is {found}, and its index says {digest}: it was changed after the index was written"
        )
