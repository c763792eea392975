"""Repositories in an OCI image layout: ``oci-layout:/{layout}/{provider-label}/{version|latest}/{components.yaml}``.

One manifest is one version of one provider, and each of its layers is a file of the release, titled with its name.
"""

from __future__ import annotations

from dataclasses import dataclass

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.providers import Provider
from mooring.clusterctl.repository.addresses import Address
from mooring.clusterctl.repository.local import labelled_path
from mooring.clusterctl.repository.oci_layout import REFERENCE, TITLE, VERSION, Descriptor, Document, Layout
from mooring.clusterctl.repository.source import checked_name, checked_version, listed
from mooring.clusterctl.semver import Version

_PACKED = ("+gzip", "+zstd", ".tar", "+tar")


@dataclass(frozen=True, slots=True)
class _Release:
    digest: str
    manifest: Document


class LayoutSource:
    """Releases of one provider in a layout that may hold many. The layout is looked through once."""

    versions_as_written = True

    def __init__(self, provider: Provider, address: Address) -> None:
        place = labelled_path(address.path, provider)
        self.components_name = place.components
        self.version_in_address = place.version
        self._label = place.label
        self._layout = Layout(place.base)
        self._known: dict[str, _Release] | None = None

    async def keeps_latest(self) -> bool:
        return False

    async def versions(self) -> list[str]:
        return list(self._releases())

    async def file(self, version: str, name: str) -> bytes:
        releases = self._releases()
        if checked_version(version) not in releases:
            raise NotHere(
                f"{self._label} has no version {version} (for {name}): "
                f"in the layout {self._layout.folder} there is {listed(releases)}"
            )
        files = _files(releases[version].manifest, where=f"{self._label}:{version}")
        if checked_name(name) not in files:
            raise NotHere(f"version {version} of {self._label} has no file {name}: its manifest lists {listed(files)}")
        layer = files[name]
        if layer.media_type.endswith(_PACKED):
            raise ClusterctlError(
                f"{name} of {self._label}:{version} is packed ({layer.media_type}): files of a release must be layers "
                f"as they are, such as application/yaml"
            )
        return self._layout.blob(layer)

    def _releases(self) -> dict[str, _Release]:
        if self._known is None:
            self._known = {}
            for way, manifest in self._layout.manifests():
                if version := _version_of(self._label, way, manifest):
                    self._add(version, _Release(way[-1].digest, manifest))
        return self._known

    def _add(self, version: str, release: _Release) -> None:
        assert self._known is not None  # noqa: S101
        if self._known.setdefault(version, release).digest != release.digest:
            raise ClusterctlError(
                f"the layout {self._layout.folder} has two different manifests for {self._label}:{version}: "
                f"{self._known[version].digest} and {release.digest}"
            )


def _version_of(label: str, way: tuple[Descriptor, ...], manifest: Document) -> str:
    """The version that a manifest is of the labelled provider, or nothing. What is nearest to the manifest counts.

    The nearest is its descriptor, then the indexes around, which may name what all in them share; last the manifest.
    """
    names = [(one.annotated(TITLE), one.annotated(VERSION), one.annotated(REFERENCE)) for one in reversed(way)]
    own = manifest.annotations or {}
    names.append((own.get(TITLE, ""), own.get(VERSION, ""), own.get(REFERENCE, "")))
    version, ours = "", False
    for title, stated, reference in names:
        named, tagged = _parts(reference)
        version = version or next((text for text in (stated, tagged) if Version.read(text) is not None), "")
        ours = ours or label in (title, named)
        if not ours and named and tagged:
            return ""  # it says plainly whose it is
    return version if ours else ""


def _parts(reference: str) -> tuple[str, str]:
    """``registry/path/label:version``, ``label:version``, ``label`` or ``version``. A tag writes ``+`` as ``_``."""
    name, colon, tag = reference.rpartition(":")
    if not colon or "/" in tag:  # the colon was that of a port
        name, tag = (reference, "")
    if not tag and Version.read(name.replace("_", "+")) is not None:
        name, tag = "", name
    return name.rpartition("/")[2], tag.replace("_", "+")


def _files(manifest: Document, *, where: str) -> dict[str, Descriptor]:
    found: dict[str, Descriptor] = {}
    for layer in manifest.layers:
        title = layer.annotated(TITLE)
        if not title:
            continue
        if found.setdefault(title, layer).digest != layer.digest:
            raise ClusterctlError(f"the manifest of {where} lists {title!r} twice, with different contents")
    return found
