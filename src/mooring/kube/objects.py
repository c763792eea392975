"""The few fields that every object has, read from a dict or from a msgspec Struct alike."""

from __future__ import annotations

from typing import Any, NamedTuple


class ObjectKey(NamedTuple):
    """Which object of a kind. The namespace is empty for kinds that have none."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(thing: object) -> ObjectKey:
    return ObjectKey(_metadata(thing, "namespace", "namespace"), _metadata(thing, "name", "name"))


def uid_of(thing: object) -> str:
    return _metadata(thing, "uid", "uid")


def revision_of(thing: object) -> str:
    """Its resourceVersion; empty if it has none."""
    return _metadata(thing, "resourceVersion", "resource_version")


def _metadata(thing: object, key: str, attribute: str) -> str:
    if isinstance(thing, dict):
        metadata: Any = thing.get("metadata")
        value = metadata.get(key) if isinstance(metadata, dict) else None
    else:
        value = getattr(getattr(thing, "metadata", None), attribute, None)
    return value if isinstance(value, str) else ""
