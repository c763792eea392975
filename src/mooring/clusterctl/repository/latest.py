"""Which version ``latest`` is.

The newest release counts, pre-releases only where there is nothing else; it must really be there, which its metadata
prove; and if those say that an older series is the newest one of our contract, the newest release of that series wins.
In the days of v1alpha3 a version was taken as its folder or tag was spelled, and metadata were not needed for it.
"""

from __future__ import annotations

from typing import Final

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.metadata import METADATA_FILE, Metadata, contract_for
from mooring.clusterctl.providers import OLD_CONTRACT
from mooring.clusterctl.repository.source import NoSuchRelease, Source, listed
from mooring.clusterctl.semver import Version

CANDIDATES: Final = 5  # as many of the newest are tried before we say that there is none


async def default_version(source: Source, *, label: str, compat: str = "") -> str:
    """The version that is meant if nobody names one: newest of our contract, where the metadata tell."""
    newest = await newest_release(source, label=label, compat=compat)
    metadata = await _known_metadata(source, newest, compat)
    series = metadata.newest_of(contract_for(compat)) if metadata else None
    if series is None or Version.parse(newest).series == (series.major, series.minor):
        return newest
    return await newest_release(source, label=label, compat=compat, series=(series.major, series.minor))


async def newest_release(source: Source, *, label: str, compat: str = "", series: tuple[int, int] | None = None) -> str:
    """The newest release, of one series if given."""
    names = await source.versions()
    found = [(version, name) for name in names if (version := Version.read(name))]
    if series is not None:
        found = [(version, name) for version, name in found if version.series == series]
    # Sorting is stable: of versions that differ only in build metadata, the first one listed wins.
    found.sort(key=lambda pair: (not pair[0].is_prerelease, pair[0]), reverse=True)
    if compat == OLD_CONTRACT and found:
        return found[0][1]
    for version, name in found[:CANDIDATES]:
        spelled = name if source.versions_as_written else version.tag
        try:
            await source.file(spelled, METADATA_FILE)
        except NoSuchRelease:
            continue
        return spelled
    of_series = f" of the series {series[0]}.{series[1]}" if series else ""
    raise NotHere(
        f"there is no release of {label}{of_series} that is tagged with a semantic version and has a "
        f"{METADATA_FILE}: there is {listed(names)}"
    )


async def _known_metadata(source: Source, version: str, compat: str) -> Metadata | None:
    """The metadata of a version as far as they help: a file that cannot be read narrows nothing."""
    try:
        text = (await source.file(version, METADATA_FILE)).decode()
        return Metadata.decode(text, where=METADATA_FILE, compat=compat)
    except NoSuchRelease:
        raise
    except (ClusterctlError, UnicodeDecodeError):
        return None
