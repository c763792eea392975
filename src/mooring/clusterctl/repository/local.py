"""Repositories in a folder of this machine: ``[file://]/{base}/{provider-label}/{version|latest}/{components.yaml}``."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from mooring.clusterctl.errors import NotHere
from mooring.clusterctl.providers import Provider
from mooring.clusterctl.repository.addresses import Address, wrong_address
from mooring.clusterctl.repository.source import checked_name, checked_version, content_of, listed
from mooring.clusterctl.semver import Version

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class LabelledPath:
    """The path of an address in the form ``{base}/{provider-label}/{version}/{components.yaml}``."""

    base: str
    label: str
    version: str
    components: str


def labelled_path(path: str, provider: Provider) -> LabelledPath:
    """Take such a path apart. Local folders, web servers and OCI layouts are addressed in the same form."""
    form = "{base}/{provider-label}/{version|latest}/{components.yaml}"
    if not path.startswith("/"):
        raise wrong_address(provider.url, f"the path must be absolute, in the form {form}")
    if "\0" in path:
        raise wrong_address(provider.url, "%00 cannot be part of a path")
    steps = path.split("/")
    if len(steps) < 4 or steps[-1] in ("", ".", ".."):
        raise wrong_address(provider.url, f"the path must be in the form {form}")
    label, version, components = steps[-3:]
    if version != LATEST and Version.read(version) is None:
        raise wrong_address(provider.url, f"{version!r} must be a semantic version or {LATEST!r}, in the form {form}")
    if label != provider.label:
        raise wrong_address(
            provider.url,
            f"the folder above the version is {label!r}, and must be "
            f"{provider.label!r} for the {provider.type} {provider.name!r}, in the form {form}",
        )
    return LabelledPath(base="/".join(steps[:-3]) or "/", label=label, version=version, components=components)


class LocalSource:
    """Reads releases from a folder, always afresh: authors change files between two runs."""

    versions_as_written = False

    def __init__(self, provider: Provider, address: Address) -> None:
        place = labelled_path(address.path, provider)
        self.components_name = place.components
        self.version_in_address = place.version
        self._folder = Path(os.path.normpath(place.base)) / place.label

    async def keeps_latest(self) -> bool:
        return False

    async def versions(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            raise NotHere(f"cannot list the versions in {self._folder}: {error.strerror}") from None
        return [name for name in sorted(names, key=os.fsencode) if Version.read(name) is not None]

    async def file(self, version: str, name: str) -> bytes:
        path = self._folder / checked_version(version) / checked_name(name)
        try:
            if stat.S_ISDIR(path.stat().st_mode):
                raise NotHere(f"{path} is a folder, and a file was expected")
            return content_of(path)
        except FileNotFoundError:
            raise NotHere(self._instead(version, name)) from None
        except OSError as error:
            raise NotHere(f"cannot read {path}: {error.strerror}") from None

    def _instead(self, version: str, name: str) -> str:
        folder = self._folder / version
        if folder.is_dir():
            there = listed(entry.name for entry in folder.iterdir())
            return f"version {version} of {self._folder.name} has no file {name}: in {folder} there is {there}"
        if self._folder.is_dir():
            there = listed(entry.name for entry in self._folder.iterdir() if entry.is_dir())
            return f"{self._folder.name} has no version {version} (for {name}): in {self._folder} there is {there}"
        return f"{self._folder} does not exist (for {name} of version {version}): check the provider's url"
