"""What stands at the top of any object: kind, group, name, namespace, labels. Plain dictionaries, read with care.

An object comes out of somebody's YAML, so that every field may be missing or of another type than it should be. Such a
field reads as empty here; who needs it says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring.kube import Object


def text_at(value: Any, *path: str) -> str:
    """The text at the end of this path; empty if there is none."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def at(value: Any, *path: str) -> Any:
    """What is at the end of this path, or None."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def kind_of(obj: Object) -> str:
    return text_at(obj, "kind")


def group_of(obj: Object) -> str:
    group, slash, _ = text_at(obj, "apiVersion").partition("/")
    return group if slash else ""


def version_of(obj: Object) -> str:
    return text_at(obj, "apiVersion").rpartition("/")[2]


def name_of(obj: Object) -> str:
    return text_at(obj, "metadata", "name")


def namespace_of(obj: Object) -> str:
    return text_at(obj, "metadata", "namespace")


def texts_at(obj: Object, field: str) -> dict[str, str]:
    """The labels or annotations: a copy, empty as soon as one of them is neither text nor null, which is no text."""
    found = at(obj, "metadata", field)
    if not isinstance(found, dict) or not all(isinstance(value, str | None) for value in found.values()):
        return {}
    return {key: value or "" for key, value in found.items()}


def set_metadata(obj: Object, field: str, value: Any) -> None:
    """Set a field of the metadata, unless what is there is no metadata."""
    metadata = obj.setdefault("metadata", {})
    if isinstance(metadata, dict):
        metadata[field] = value


def described(obj: Object) -> str:
    """How messages call an object."""
    name = name_of(obj) or text_at(obj, "metadata", "generateName") or "without a name"
    return f"{kind_of(obj) or 'object'} {name}"
