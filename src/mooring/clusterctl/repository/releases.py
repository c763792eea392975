"""A provider's releases as the verbs see them: overrides first, files by what they are for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.metadata import METADATA_FILE, Metadata, accepted_contract
from mooring.clusterctl.providers import Provider
from mooring.clusterctl.repository.latest import newest_release
from mooring.clusterctl.repository.local import LATEST
from mooring.clusterctl.repository.overrides import overriding_file
from mooring.clusterctl.repository.source import Source

TEMPLATE: Final = "cluster-template"
CLUSTER_CLASS: Final = "clusterclass"


@dataclass(frozen=True, slots=True)
class ProviderRepository:
    """An opened repository. An empty version means the default one everywhere."""

    provider: Provider
    source: Source
    default_version: str
    overrides: Path
    compat: str = ""

    @property
    def components_name(self) -> str:
        return self.source.components_name

    async def versions(self) -> list[str]:
        return await self.source.versions()

    async def file(self, version: str, name: str) -> bytes:
        version = version or self.default_version
        found = overriding_file(self.overrides, label=self.provider.label, version=version, name=name)
        if found is not None:
            return found
        if version == LATEST and not await self.source.keeps_latest():
            version = await newest_release(self.source, label=self.provider.label, compat=self.compat)
        return await self.source.file(version, name)

    async def components(self, version: str = "") -> str:
        return await self._text(version, self.components_name)

    async def template(self, flavor: str = "", version: str = "") -> str:
        return await self._text(version, template_name(flavor))

    async def cluster_class(self, name: str, version: str = "") -> str:
        return await self._text(version, cluster_class_name(name))

    async def metadata(self, version: str = "") -> Metadata:
        text = await self._text(version, METADATA_FILE)
        where = f"{METADATA_FILE} of {self.provider.label} {version or self.default_version}"
        return Metadata.read(text, where=where, compat=self.compat)

    async def contract(self, version: str = "") -> str:
        """The contract that a version speaks; an error if it is not listed in its metadata, or none that we speak."""
        metadata = await self.metadata(version)
        wanted = version or self.default_version
        return accepted_contract(metadata, wanted, label=self.provider.label, compat=self.compat)

    async def _text(self, version: str, name: str) -> str:
        try:
            return (await self.file(version, name)).decode()
        except UnicodeDecodeError as error:
            raise ClusterctlError(
                f"{name} of {self.provider.label} {version or self.default_version} is not UTF-8 text "
                f"(byte {error.start}): save it as UTF-8"
            ) from None


def template_name(flavor: str) -> str:
    return f"{TEMPLATE}-{flavor}.yaml" if flavor else f"{TEMPLATE}.yaml"


def cluster_class_name(name: str) -> str:
    return f"{CLUSTER_CLASS}-{name}.yaml"
