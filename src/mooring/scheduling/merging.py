"""Several configuration documents as one: the later one speaks over the earlier one.

Maps are merged key by key, everything else is replaced. An empty value (null, an empty text, list or map, 0, false)
replaces nothing: upstream's loader cannot tell it from a value that was not given, and files are written for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def merged(documents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What the documents say together. Nothing in it is shared with any of them."""
    result: dict[str, Any] = {}
    for document in documents:
        _merge(result, document)
    return result


def _merge(into: dict[str, Any], document: Mapping[str, Any]) -> None:
    for key, value in document.items():
        earlier = into.get(key)
        if isinstance(earlier, dict) and isinstance(value, Mapping):
            _merge(earlier, value)
        elif value or key not in into:
            into[key] = _copied(value)


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_copied(one) for one in value]
    return value
