"""Schemas out of types: what a Struct says to Python, said to the API server in OpenAPI.

Types carry their schema themselves. A field's Python type gives its OpenAPI type; `Annotated[..., about(...)]` adds
what Python cannot say: the sentence that ``kubectl explain`` prints, bounds, defaults and CEL rules. The decoder
does not look at any of it, so it costs nothing per object: the server has checked all that before we read it.

The server estimates the cost of CEL when a definition is installed, by the largest object that the schema allows. So
every list, map and string is bounded: where the type says nothing, by bounds far above what fits a useful object.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache
from inspect import getdoc
from typing import Annotated, Any, Final

import msgspec

Schema = dict[str, Any]

MAX_ITEMS = 1024
MAX_PROPERTIES = 1024
MAX_LENGTH = 65_536

_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule that the server checks; `message` must tell which field is wrong and what it may be.

    A rule with `oldSelf` compares with the stored object, and is not asked on creation.
    """

    rule: str
    message: str
    field_path: str = ""

    def as_schema(self) -> Schema:
        document = {"rule": self.rule, "message": self.message}
        return document | ({"fieldPath": self.field_path} if self.field_path else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the server is told of a type or field, beyond its Python type. Later ones refine earlier ones."""

    description: str = ""
    required: bool | None = None  # None: as in Python, a field without a default is required
    default: Any = _ABSENT
    format: str = ""
    pattern: str = ""
    min_length: int | None = None
    max_length: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    max_properties: int | None = None
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    keeps_unknown: bool = False
    opaque: bool = False  # for a Struct: the server keeps whatever is there and checks none of it
    one_of_required: tuple[str, ...] = ()  # exactly one of these fields; cheaper than CEL deep inside of lists
    rules: tuple[Rule, ...] = ()

    def refined(self, by: About) -> About:
        said = {field.name: getattr(by, field.name) for field in fields(by)}
        new = {name: value for name, value in said.items() if value is not _DEFAULTS[name]}
        return replace(self, **new) if new else self

    def as_schema(self) -> Schema:
        document = {
            keyword: value
            for keyword, name in _KEYWORDS.items()
            if (value := getattr(self, name)) not in ("", None) and value is not False
        }
        if self.list_map_keys:
            document["x-kubernetes-list-map-keys"] = list(self.list_map_keys)
        if self.default is not _ABSENT:
            document["default"] = self.default
        if self.one_of_required:
            document["oneOf"] = [{"required": [name]} for name in self.one_of_required]
        if self.rules:
            document["x-kubernetes-validations"] = [rule.as_schema() for rule in self.rules]
        return document


_NOTHING: Final = About()
_DEFAULTS = {field.name: field.default for field in fields(About)}
_KEYWORDS = {
    "description": "description",
    "format": "format",
    "pattern": "pattern",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minimum": "minimum",
    "maximum": "maximum",
    "minItems": "min_items",
    "maxItems": "max_items",
    "maxProperties": "max_properties",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-preserve-unknown-fields": "keeps_unknown",
}


def about(description: str = "", **said: Any) -> About:
    """An `About` whose first argument is the sentence for people: `about("Name of the cluster.", max_length=253)`."""
    return About(description=" ".join(description.split()), **said)


def schema_of(kind: type[msgspec.Struct]) -> Schema:
    """The structural schema of a Struct and all that is in it."""
    # What is unrolled was made once and stands in many places; whoever gets a schema may change any one of them.
    apart: Schema = msgspec.json.decode(msgspec.json.encode(_struct(kind, _NOTHING, ())))
    return apart


def _typed(hint: Any, known: About, path: tuple[type, ...]) -> Schema:
    """The schema of a type hint; `known` is what the field says, which refines what the type says of itself."""
    if typing.get_origin(hint) is Annotated:
        inner, *notes = typing.get_args(hint)
        said = About()
        for note in notes:
            said = said.refined(note) if isinstance(note, About) else said
        return _typed(inner, said.refined(known), path)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (hint,) = (one for one in arguments if one is not type(None))
        return _typed(hint, known, path)
    if origin is tuple:
        bounds = about(max_items=MAX_ITEMS).refined(known)
        return {"type": "array", **bounds.as_schema(), "items": _typed(arguments[0], _NOTHING, path)}
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments[1], known, path)
    if issubclass(hint, msgspec.Struct):
        return _struct(hint, known, path)
    return _scalar(hint, known)


def _scalar(hint: type, known: About) -> Schema:
    if issubclass(hint, StrEnum):
        return {"type": "string", **known.as_schema(), "enum": [str(member) for member in hint]}
    if hint is bool:
        return {"type": "boolean", **known.as_schema()}
    if hint is int:
        return {"type": "integer", **known.as_schema()}
    if hint is str:
        bounded = known if known.format else about(max_length=MAX_LENGTH).refined(known)
        return {"type": "string", **bounded.as_schema()}
    raise TypeError(f"no schema for {hint!r}")


def _mapping(values: Any, known: About, path: tuple[type, ...]) -> Schema:
    if known.keeps_unknown:
        return {"type": "object", **known.as_schema()}
    bounds = about(max_properties=MAX_PROPERTIES).refined(known)
    return {"type": "object", **bounds.as_schema(), "additionalProperties": _typed(values, _NOTHING, path)}


def _struct(kind: type[msgspec.Struct], known: About, path: tuple[type, ...]) -> Schema:
    return _plain_struct(kind, path) if known is _NOTHING else _described_struct(kind, known, path)


@cache
def _plain_struct(kind: type[msgspec.Struct], path: tuple[type, ...]) -> Schema:
    """Where nothing is said but by the type itself: the same schema for each field that leads there."""
    return _described_struct(kind, _NOTHING, path)


def _described_struct(kind: type[msgspec.Struct], known: About, path: tuple[type, ...]) -> Schema:
    depth = path.count(kind)
    said = about("" if depth > 1 else getdoc(kind) or "").refined(_of_class(kind, depth)).refined(known)
    if said.opaque:
        return {"type": "object", "description": said.description, "x-kubernetes-preserve-unknown-fields": True}
    hints = _hints(kind)
    properties: Schema = {}
    required: list[str] = []
    for field in msgspec.structs.fields(kind):
        if depth >= getattr(kind, "DEPTH", 1) and _refers_to(hints[field.name], kind):
            continue  # a schema cannot recurse: it is unrolled to this depth
        properties[field.encode_name] = _abbreviated(_typed(hints[field.name], _NOTHING, (*path, kind)), depth)
        if _is_required(hints[field.name], field):
            required.append(field.encode_name)
    document = {"type": "object", **said.as_schema(), "properties": properties}
    return document | ({"required": sorted(required)} if required else {})


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


def _abbreviated(schema: Schema, depth: int) -> Schema:
    """An unrolled copy repeats itself many times over: one sentence is enough in the first, and none in the others."""
    if not depth:
        return schema
    if depth > 1:
        return {keyword: value for keyword, value in schema.items() if keyword != "description"}
    return {**schema, "description": schema["description"].split(". ")[0].split("; ")[0].rstrip(".") + "."}


def _of_class(kind: type[msgspec.Struct], depth: int) -> About:
    """What the class says of itself: the same everywhere, or (for one that is unrolled) by its depth."""
    if (by_depth := getattr(kind, "about_at", None)) is not None:
        found: About = by_depth(depth)
        return found
    return getattr(kind, "ABOUT", About())


def _refers_to(hint: Any, kind: type) -> bool:
    return hint is kind or any(_refers_to(argument, kind) for argument in typing.get_args(hint))


def _is_required(hint: Any, field: msgspec.structs.FieldInfo) -> bool:
    for note in reversed(typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()):
        if isinstance(note, About) and note.required is not None:
            return note.required
    return field.required
