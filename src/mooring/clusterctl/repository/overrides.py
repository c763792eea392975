"""The overrides folder: a file ``{folder}/{provider-label}/{version}/{name}`` is used instead of the repository's."""

from __future__ import annotations

from pathlib import Path

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.repository.source import checked_name, checked_version, content_of


def overriding_file(folder: Path, *, label: str, version: str, name: str) -> bytes | None:
    """The user's own file, or None. It never takes part in finding out which versions there are."""
    path = folder / checked_name(label) / checked_version(version) / checked_name(name)
    try:
        return content_of(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ClusterctlError(f"cannot read the override {path}: {error.strerror}; repair or remove it") from None
