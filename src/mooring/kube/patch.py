"""The ways to change a part of an object, as values: each knows its content type.

Guarding: put the `resourceVersion` that a decision was made on into a merge patch's `metadata`, and the
server answers 409 when the object has moved on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class MergePatch:
    """Only the changed fields; `None` removes one; lists are replaced whole (RFC 7386)."""

    content_type: ClassVar[str] = "application/merge-patch+json"
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """Operations in order, all or none (RFC 6902). A failed `test` is answered as invalid input."""

    content_type: ClassVar[str] = "application/json-patch+json"
    body: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Apply:
    """Server-side apply: all fields that one manager wants; what it no longer names goes away."""

    # The server reads this type as YAML, and JSON is YAML.
    content_type: ClassVar[str] = "application/apply-patch+yaml"
    body: Any
    force: bool = False


Patch = MergePatch | JsonPatch | Apply
