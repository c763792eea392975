"""Files replayed without an API server: ``mooring simulate``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mooring.app.configuration_texts import BadText, Text, documents_of, read_texts
from mooring.app.settings import SettingError
from mooring.kube import ObjectKey
from mooring.scheduling.configuration import Configuration
from mooring.scheduling.manifests import BadManifest, Document, Manifests, manifests
from mooring.scheduling.simulation import Simulation, simulated

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnusableFiles(SettingError):
    """The files cannot be replayed, for all of these reasons."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n  ".join(["Nothing was simulated:", *problems]))


def simulation(paths: Sequence[Path], configuration: Configuration, *, explain: Sequence[str] = ()) -> Simulation:
    """Replay the files; the stories of the requests named in ``explain`` (NAME or NAMESPACE/NAME) are told as well."""
    world = read(paths)
    if not world.requests:
        raise UnusableFiles([f"there is no ClusterRequest in {', '.join(map(str, paths))}"])
    known = [ObjectKey(one.metadata.namespace, one.metadata.name) for one in world.requests]
    for name in explain:
        if not any(_is_named(key, name) for key in known):
            there = ", ".join(map(str, known[:10])) + (", …" if len(known) > 10 else "")
            raise UnusableFiles([f"--explain: there is no ClusterRequest {name!r} in the files (there are: {there})"])
    return simulated(world, configuration, explained=lambda key: any(_is_named(key, name) for name in explain))


def _is_named(key: ObjectKey, name: str) -> bool:
    return name in (key.name, str(key))


def read(paths: Sequence[Path]) -> Manifests:
    """All objects in the files; what is wrong with any of them is told at once."""
    reading = read_texts(paths)
    problems = list(reading.problems)
    documents: list[Document] = []
    for text in reading.texts:
        try:
            documents += _documents(text)
        except BadText as error:
            problems.append(str(error))
    found = Manifests()
    try:
        found = manifests(documents)
    except BadManifest as error:
        problems += error.problems
    if problems:
        raise UnusableFiles(problems)
    return found


def _documents(text: Text) -> Iterator[Document]:
    documents_of(text)  # whatever is dangerous or no YAML is refused there; below, only the counting is left to do
    loaded = yaml.load_all(text.content.decode("utf-8-sig"), _Loader)
    for number, content in enumerate(loaded, start=1):
        where = f"{text.origin}, document {number}"
        if not content:
            continue
        if content.get("kind") == "List" and isinstance(content.get("items"), list):
            yield from _items(where, content["items"])
        else:
            yield Document(where, content)


def _items(where: str, items: Sequence[Mapping[str, Any]]) -> Iterator[Document]:
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise BadText(f"{where}, item {number} is not a map of fields")
        yield Document(f"{where}, item {number}", item)
