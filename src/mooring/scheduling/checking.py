"""Documents held against the schema of their kind, as the API server would do it, in words for people.

Goes down no further than the schema does, however deep a document is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from mooring.api.kinds import Kind
from mooring.api.schema import Schema, schema_of
from mooring.api.traits import TraitWish


@cache
def _schema(kind: type[Kind]) -> Schema:
    return schema_of(kind)


def schema_problems(kind: type[Kind], content: Mapping[str, Any]) -> list[str]:
    """What is wrong with an object but for its metadata; each begins with the field."""
    schema = _schema(kind)
    problems: list[str] = []
    for key, value in content.items():
        if key in ("apiVersion", "kind", "metadata"):
            continue
        if key not in schema["properties"]:
            problems.append(_unknown(key, schema, ""))
        elif value is not None:
            problems += _checked(value, schema["properties"][key], key)
    problems += [
        f"{key}: is missing" for key in schema.get("required", ()) if key != "metadata" and content.get(key) is None
    ]
    if kind.API.kind in ("Cluster", "ClusterProfile", "ClusterProvider") and content.get("spec") is None:
        problems.append("spec: is missing")
    return problems


def _checked(value: Any, schema: Schema, path: str) -> list[str]:
    """What is wrong with a value; goes no deeper than the schema does."""
    expected = schema.get("type")
    if expected == "object":
        return _checked_map(value, schema, path)
    if expected == "array":
        return _checked_list(value, schema, path)
    if expected == "boolean":
        return [] if isinstance(value, bool) else [f"{path}: {shown(value)} must be true or false, without quotes"]
    if expected == "integer":
        return _checked_number(value, schema, path)
    return _checked_text(value, schema, path)


def _checked_map(value: Any, schema: Schema, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {shown(value)} must be a map of fields"]
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return []
    problems: list[str] = []
    values = schema.get("additionalProperties")
    properties = schema.get("properties", {})
    for key, inner in value.items():
        if values is not None:
            problems += [] if inner is None else _checked(inner, values, f"{path}.{key}")
        elif key not in properties:
            problems.append(_unknown(key, schema, path))
        elif inner is not None:
            problems += _checked(inner, properties[key], f"{path}.{key}")
    problems += [f"{path}.{key}: is missing" for key in schema.get("required", ()) if value.get(key) is None]
    return problems


def _unknown(key: object, schema: Schema, path: str) -> str:
    where = f"{path}." if path else ""
    if key in ("or", "and", "xor"):
        return f"{where}{key}: operators nest up to {TraitWish.DEPTH} deep; say it with less nesting"
    known = ", ".join(schema.get("properties", {}))
    return f"{where}{key}: there is no such field; there are {known}"


def _checked_list(value: Any, schema: Schema, path: str) -> list[str]:
    if not isinstance(value, list):
        return [f"{path}: {shown(value)} must be a list"]
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least or (most is not None and len(value) > most):
        return [f"{path}: has {len(value)} entries; there may be {least} to {most}"]
    return [
        problem for place, one in enumerate(value) for problem in _checked(one, schema["items"], f"{path}[{place}]")
    ]


def _checked_number(value: Any, schema: Schema, path: str) -> list[str]:
    if not isinstance(value, int) or isinstance(value, bool):
        return [f"{path}: {shown(value)} must be a whole number"]
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        return [f"{path}: {value} is below {least}"]
    return [f"{path}: {value} is above {most}"] if most is not None and value > most else []


def _checked_text(value: Any, schema: Schema, path: str) -> list[str]:
    if not isinstance(value, str):
        return [f"{path}: {shown(value)} must be a text (put it in quotes)"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{path}: {shown(value)} must be one of {', '.join(schema['enum'])}"]
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if len(value) < least or (most is not None and len(value) > most):
        return [f"{path}: {shown(value)} has {len(value)} characters; there may be {least} to {most}"]
    if "pattern" in schema and re.search(schema["pattern"], value) is None:
        return [f"{path}: {shown(value)} does not have the form {schema['pattern']}"]
    return []


def shown(value: object) -> str:
    """A value, short enough for a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
