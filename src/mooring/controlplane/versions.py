"""Which versions of Kubernetes can be run here: the landscape's own, and those in directories that the user names.

``MOORING_MORE_BINARIES`` holds ``VERSION=DIRECTORY``, several of them joined by commas; each directory holds a
kube-apiserver and a kube-controller-manager of that version. And then there is what the cache still has from an earlier
Mooring, which pinned another version: clusters that run it are to come back after an update.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from mooring.api.versions import is_full
from mooring.controlplane.binaries import Binaries, Binary
from mooring.controlplane.binarycache import State, cached_directories, check_entry, read_manifest
from mooring.controlplane.components import API_SERVER, CONTROLLER_MANAGER
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.findings import ask_version
from mooring.controlplane.plane import Executables
from mooring.controlplane.toolsets import KUBERNETES

VARIABLE = "MOORING_MORE_BINARIES"

_API_SERVER = next(tool for tool in KUBERNETES.tools if tool.name == API_SERVER)


def versions_at_hand(binaries: Binaries) -> Mapping[str, Executables]:
    """The programs by version (``1.36.4``). May run one of them to ask for it: not for an event loop."""
    own = binaries.programs[API_SERVER]
    return further_versions(os.environ.get(VARIABLE, "")) | {
        _version_of(own): Executables(api_server=own.path, controller_manager=binaries.path(CONTROLLER_MANAGER))
    }


def further_versions(text: str) -> dict[str, Executables]:
    """What the variable names."""
    found = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        version, _, directory = entry.partition("=")
        found[_checked(version)] = _executables_in(Path(directory), entry)
    return found


def cached_versions(*, known: Collection[str]) -> dict[str, Executables]:
    """What the cache has besides. Each is run to ask for its version: a cache may serve machines of several kinds."""
    found: dict[str, Executables] = {}
    for directory in cached_directories(KUBERNETES):
        entries = read_manifest(directory)[0].binaries
        paths = [directory / name for name in (API_SERVER, CONTROLLER_MANAGER)]
        if any(check_entry(one, entries.get(one.name), thorough=False).state is not State.OK for one in paths):
            continue
        version = entries[API_SERVER].version.removeprefix("v")
        if version not in (*known, *found) and ask_version(paths[0], _API_SERVER) == f"v{version}":
            found[version] = Executables(*paths)
    return found


def _checked(version: str) -> str:
    try:
        full = is_full(version)
    except ValueError:
        full = False
    if not full:
        raise BinariesError(
            f"{VARIABLE} names the version {version!r}; write it in full, such as 1.36.4=/some/directory."
        )
    return version.removeprefix("v")


def _executables_in(directory: Path, entry: str) -> Executables:
    paths = [directory / name for name in (API_SERVER, CONTROLLER_MANAGER)]
    for path in paths:
        if not (directory.is_absolute() and path.is_file() and os.access(path, os.X_OK)):
            raise BinariesError(
                f"{VARIABLE} has {entry!r}, but {path} is no program. Name the whole path of a directory."
            )
    return Executables(*paths)


def _version_of(own: Binary) -> str:
    # What lies in a directory of the user's has to be asked.
    version = own.version or ask_version(own.path, _API_SERVER)
    if version is None:
        raise BinariesError(f"{own.path} does not tell its version when it is run. Replace it with a whole program.")
    return version.removeprefix("v")
