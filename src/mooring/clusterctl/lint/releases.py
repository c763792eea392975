"""Checks of folders, files and metadata."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.lint.material import COMPONENTS, Material, NothingToLookAt, Release, provider_of
from mooring.clusterctl.metadata import METADATA_FILE, Metadata
from mooring.clusterctl.providers import ProviderType
from mooring.clusterctl.semver import Version


def any_release(material: Material) -> Iterator[str]:
    if not material.releases and material.provider is not None:
        yield f"{material.folder} has no folder that is called after a version, such as v1.0.0"


def labelled_folder(material: Material) -> Iterator[str]:
    if material.provider is None:
        below = [name for name in material.others if provider_of(name) is not None]
        hint = f"; did you mean its {' or '.join(below[:3])}?" if below else ""
        yield (
            f"{material.folder.name!r} is not a label: it is cluster-api, or begins with "
            f"{', '.join(one.prefix for one in ProviderType if one.prefix)}{hint}"
        )


def version_folders(material: Material) -> Iterator[str]:
    for name in material.others:
        yield f"{name!r} is not a semantic version: rename it (v1.0.0), or move it elsewhere"


def has_metadata(release: Release) -> Iterator[str]:
    if METADATA_FILE not in release.names:
        yield f"{METADATA_FILE} is missing"


def has_components(release: Release) -> Iterator[str]:
    if release.components is None:
        yield f"{COMPONENTS[release.provider.type]} is missing"


def has_templates(release: Release) -> Iterator[str]:
    if release.provider.type is ProviderType.INFRASTRUCTURE and not release.templates:
        yield "there is no cluster-template.yaml, nor one with a flavor"


def readable_metadata(release: Release) -> Iterator[str]:
    if release.metadata is None:
        raise NothingToLookAt(f"There is no {METADATA_FILE} (P02).")
    if isinstance(release.metadata, ClusterctlError):
        yield str(release.metadata)


def readable(release: Release) -> Metadata:
    """What metadata.yaml says; `NothingToLookAt` if it says nothing."""
    if not isinstance(release.metadata, Metadata):
        raise NothingToLookAt(f"There is no {METADATA_FILE} that can be read (P02, P08).")
    return release.metadata


def own_series(release: Release) -> Iterator[str]:
    metadata = readable(release)
    version = Version.parse(release.version)
    contract = metadata.contract_of(version)
    if contract is None:
        yield f"{METADATA_FILE} does not list the series {version.major}.{version.minor}"
    for one in metadata.series:
        if not one.contract:
            yield f"{METADATA_FILE} names no contract for the series {one.major}.{one.minor}"


def series_kept(material: Material) -> Iterator[str]:
    """What one release lists, the next ones list, too."""
    known: dict[tuple[int, int], str] = {}
    for release in material.releases:
        if not isinstance(release.metadata, Metadata):
            continue
        listed = {(one.major, one.minor) for one in release.metadata.series}
        for (major, minor), where in known.items():
            if (major, minor) not in listed:
                yield f"{release.version} does not list the series {major}.{minor} any more, which {where} did"
        known |= dict.fromkeys(listed - known.keys(), release.version)


def components_name(release: Release) -> Iterator[str]:
    wanted = COMPONENTS[release.provider.type]
    if release.components is not None and release.components.name != wanted:
        yield f"{release.components.name} should be called {wanted}"
