"""What a provider repository holds, read once: folders, files, their objects and their variables.

Files are a stranger's: whatever is wrong with one is kept as words, and the others are read all the same.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl import variables, yamls
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.metadata import METADATA_FILE, Metadata
from mooring.clusterctl.providers import Provider, ProviderType
from mooring.clusterctl.semver import Version

if TYPE_CHECKING:
    from mooring.kube import Object

COMPONENTS: Final = {type_: f"{type_.prefix or 'core-'}components.yaml" for type_ in ProviderType}
TEMPLATE: Final = "cluster-template"
CLUSTER_CLASS: Final = "clusterclass-"
DEEPEST: Final = 100  # levels of an object; none of Kubernetes is nearly as deep
_LARGEST: Final = 32 << 20  # bytes; no file of a release is nearly as large
_MANY: Final = 10_000
_VARIABLE: Final = "variable-"


def placeholder(name: str) -> str:
    """What stands for the value of a variable when nobody gives one: a name, so that one is known from another."""
    return f"{_VARIABLE}{name.lower().replace('_', '-')}"


def mappings(value: Any) -> list[Any]:
    """The mappings of a list, whatever else a stranger has put there."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


class NothingToLookAt(Exception):
    """What a rule is about is not there, or cannot be read, so that nothing can be said about the rule."""


@dataclass(frozen=True)
class File:
    """One YAML of a release: its text, and its objects with placeholders for the variables."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def _read(self) -> tuple[str, str]:
        try:
            if self.path.stat().st_size > _LARGEST:
                return "", f"{self.name} is larger than {_LARGEST >> 20} MB"
            return self.path.read_text(encoding="utf-8"), ""
        except OSError as error:
            return "", f"{self.name} cannot be read: {error.strerror}"
        except UnicodeDecodeError as error:
            return "", f"{self.name} is not UTF-8: byte {error.start}"

    @property
    def text(self) -> str:
        return self._read[0]

    @cached_property
    def variables(self) -> dict[str, str | None]:
        """Its variables with their defaults; None for those that must be given."""
        try:
            return variables.inspect(self.text)
        except ClusterctlError:
            return {}

    @cached_property
    def _parsed(self) -> tuple[list[Object], str]:
        if self._read[1]:
            return [], self._read[1]
        try:
            return yamls.documents(variables.process(self.text, placeholder)), ""
        except ClusterctlError as error:
            return [], f"{self.name}: {error}"

    @property
    def objects(self) -> list[Object]:
        return self._parsed[0]

    @property
    def trouble(self) -> str:
        """Why there are no objects; empty if it can be read."""
        return self._parsed[1]


@dataclass(frozen=True)
class Release:
    """The folder of one version."""

    folder: Path
    provider: Provider
    names: tuple[str, ...]  # of its files
    components: File | None
    templates: tuple[File, ...] = ()
    cluster_classes: tuple[File, ...] = ()
    deeper: tuple[str, ...] = ()  # files in folders of it, by their paths from here

    @property
    def version(self) -> str:
        return self.folder.name

    @cached_property
    def metadata(self) -> Metadata | ClusterctlError | None:
        """What metadata.yaml says; the error if it is wrong, None if it is not there."""
        if METADATA_FILE not in self.names:
            return None
        file = File(self.folder / METADATA_FILE)
        try:
            return Metadata.read(file.text, where=METADATA_FILE)
        except ClusterctlError as error:
            return error

    @property
    def objects(self) -> list[Object]:
        """Those of the components; `NothingToLookAt` if there are none to be judged."""
        if self.components is None:
            raise NothingToLookAt("There is no components YAML (P03).")
        if self.components.trouble:
            raise NothingToLookAt("The components YAML cannot be read (P11).")
        return self.components.objects

    @property
    def objects_if_any(self) -> list[Object]:
        return self.components.objects if self.components is not None else []

    @property
    def files(self) -> tuple[File, ...]:
        """All that have objects in them."""
        components = (self.components,) if self.components is not None else ()
        return (*components, *self.templates, *self.cluster_classes)


@dataclass(frozen=True)
class Material:
    """A provider's folder, with its releases in the order of their versions."""

    folder: Path
    provider: Provider | None  # None: the folder's name is not a provider's label
    releases: tuple[Release, ...] = ()
    others: tuple[str, ...] = field(default=())  # folders whose names are no versions


def read_material(folder: Path) -> Material:
    """Read a provider's folder, ``…/<label>``, that of one version, ``…/<label>/<version>``, or of a file in there."""
    folder = folder.expanduser().absolute()
    if folder.is_file():
        folder = folder.parent  # as configurations name the components
    if not folder.is_dir():
        raise ClusterctlError(f"{folder} is not a folder: name a provider's, such as …/infrastructure-aws")
    if Version.read(folder.name) is not None:
        provider = provider_of(folder.parent.name)
        return Material(folder.parent, provider, (_release(folder, provider),) if provider is not None else ())
    provider = provider_of(folder.name)
    below = sorted(one for one in folder.iterdir() if one.is_dir())
    versions = [one for one in below if Version.read(one.name) is not None]
    versions.sort(key=lambda one: Version.parse(one.name))
    others = tuple(one.name for one in below if one not in versions)
    releases = tuple(_release(one, provider) for one in versions) if provider is not None else ()
    return Material(folder, provider, releases, others)


def provider_of(label: str) -> Provider | None:
    """The provider that a folder is called after."""
    for type_ in ProviderType:
        if type_.prefix and label.startswith(type_.prefix) and label != type_.prefix:
            return Provider(label.removeprefix(type_.prefix), type_, "")
    return Provider(label, ProviderType.CORE, "") if label == "cluster-api" else None


def _release(folder: Path, provider: Provider) -> Release:
    names = tuple(sorted(name for name in os.listdir(folder) if (folder / name).is_file()))

    def files(prefix: str) -> tuple[File, ...]:
        return tuple(File(folder / name) for name in names if name.startswith(prefix) and name.endswith(".yaml"))

    components = _components(folder, provider, names)
    return Release(folder, provider, names, components, files(TEMPLATE), files(CLUSTER_CLASS), _deeper(folder))


def _deeper(folder: Path) -> tuple[str, ...]:
    """What lies where nobody looks. A release has a handful of files: whoever has more has put something else here."""
    paths = (Path(root, name) for root, _, names in os.walk(folder) if root != str(folder) for name in names)
    return tuple(sorted(str(path.relative_to(folder)) for path in islice(paths, _MANY)))


def _components(folder: Path, provider: Provider, names: tuple[str, ...]) -> File | None:
    """By its recommended name; else the one file that is called so or so; else none."""
    if COMPONENTS[provider.type] in names:
        return File(folder / COMPONENTS[provider.type])
    found = [name for name in names if "components" in name and name.endswith((".yaml", ".yml"))]
    return File(folder / found[0]) if len(found) == 1 else None
