"""Upstream's schemas, what they say about each field, and objects that they allow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.crds import definition_of, file_name
from mooring.api.kinds import Kind
from mooring.api.providers import ClusterProvider
from mooring.api.requests import ClusterRequest

Schema = dict[str, Any]

KINDS: tuple[type[Kind], ...] = (ClusterProvider, ClusterProfile, ClusterRequest, Cluster, AccessRequest)

# One text for each pattern that upstream's schemas have.
_FITTING = {
    "^https?://": "https://issuer.example.com",
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?": "example.com/SomeType",
    "^[A-Za-z](": "SomeReason",
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?": "some-name",
    r"^(\+|-)?": "10Mi",
}


def upstream_definition(kind: type[Kind]) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "upstream" / file_name(kind)).read_text())
    return found


def upstream_schema(kind: type[Kind]) -> Schema:
    return schema_in(upstream_definition(kind))


def our_schema(kind: type[Kind]) -> Schema:
    return schema_in(definition_of(kind))


def schema_in(definition: dict[str, Any]) -> Schema:
    schema: Schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def paths(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every node of a schema with its path: ``.spec.env[].name``; ``{}`` stands for any key of a map."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from paths(inner, f"{path}.{name}")
    if "items" in schema:
        yield from paths(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from paths(schema["additionalProperties"], f"{path}{{}}")


def maximal(schema: Schema, *, without: tuple[str, ...] = ()) -> Any:
    """A value with every field that the schema knows, none of them at its default; lists and maps have one entry."""
    if schema.get("x-kubernetes-int-or-string"):
        return "10Mi"
    match schema["type"]:
        case "object" if "properties" in schema:
            return {k: maximal(v, without=without) for k, v in schema["properties"].items() if k not in without}
        case "object" if "additionalProperties" in schema:
            return {"some-key": maximal(schema["additionalProperties"])}
        case "object":
            return {"anything": {"goes": [1, "two"]}}
        case "array":
            return [maximal(schema["items"], without=without)]
        case "string":
            return _text(schema)
        case "integer":
            return max(schema.get("minimum", 0), 7)
        case "boolean":
            return True
    raise AssertionError(schema)


def minimal(schema: Schema) -> Any:
    """A value with the required fields only."""
    if schema["type"] == "object":
        return {name: minimal(schema["properties"][name]) for name in schema.get("required", ())}
    if schema["type"] == "array":
        return [minimal(schema["items"]) for _ in range(schema.get("minItems", 0))]
    if schema["type"] == "boolean":
        return False
    if schema["type"] == "integer":
        return schema.get("minimum", 0)
    return _text(schema) if schema.keys() & {"minLength", "pattern", "enum", "format"} else ""


def with_defaults(value: Any, schema: Schema) -> Any:
    """The value as a server with this schema would store it."""
    if isinstance(value, list):
        return [with_defaults(one, schema["items"]) for one in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    known = schema["properties"]
    filled = {name: inner["default"] for name, inner in known.items() if "default" in inner and name not in value}
    return filled | {name: with_defaults(inner, known.get(name, {})) for name, inner in value.items()}


def _text(schema: Schema) -> str:
    if "enum" in schema:
        return str(schema["enum"][-1])
    if schema.get("format") == "date-time":
        return "2026-11-16T10:00:00Z"
    if "pattern" in schema:
        return next(text for begin, text in _FITTING.items() if schema["pattern"].startswith(begin))
    return "some-text".ljust(schema.get("minLength", 0), "x")
