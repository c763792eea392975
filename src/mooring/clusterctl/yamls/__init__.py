"""YAML as the Go programs around Kubernetes read and write it: the door of this package.

Their parser resolves ``y``, ``0o17``, ``1e3``, dates, keys that are no text, large integers and merges in ways of its
own, and a template must mean here what it means there. `documents` reads a file of Kubernetes objects, `load` one
value; `dump` and `dump_one` write so that both sides read the same values again.
"""

from __future__ import annotations

from typing import Any

from mooring.clusterctl.yamls.reading import YamlError, read
from mooring.clusterctl.yamls.splitting import split
from mooring.clusterctl.yamls.writing import dump, dump_one

__all__ = ["Object", "YamlError", "documents", "dump", "dump_one", "load"]

Object = dict[str, Any]


def load(text: str) -> Any:
    """The first document of a text, whatever it is; None if there is nothing in it."""
    return read(text)


def documents(text: str) -> list[Object]:
    """The objects of a file, in their order. Empty documents are left out; all others must be mappings."""
    found: list[Object] = []
    for number, (part, line) in enumerate(split(text), 1):
        value = read(part, line=line, document=number)
        if value is None:
            continue
        if not isinstance(value, dict):
            what = "a list" if isinstance(value, list) else f"{value!r:.40}"
            raise YamlError(f"document {number}, line {line}: a Kubernetes object must be a mapping, found {what}")
        found.append(value)
    return found
