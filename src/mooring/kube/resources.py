"""What a kind is called on the wire, and the path that leads to it.

A `Resource` is a value: write it down as a constant for kinds that are known, or ask `Client.resource` for
it. Text from outside (a name in somebody's object) goes into a path only through `Resource.path`, which
refuses what could make it point elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

from mooring.api.kinds import Kind, Metadata, Part
from mooring.kube.errors import InvalidName

T = TypeVar("T")
K = TypeVar("K", bound=Kind)

# Decoded objects are plain dicts until a kind brings a type of its own.
Object = dict[str, Any]

_HARMLESS = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """One kind as one API server serves it.

    `decode_as` is what its objects are read into: a plain dict, or a msgspec Struct with a `metadata` that
    has `namespace`, `name`, `uid` and `resource_version`.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    decode_as: type[T]
    # Ask the server for the metadata of objects and nothing else.
    metadata_only: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The path of one object, of one of its subresources, or (without a name) of the collection."""
        parts = ["/apis/", segment(self.group), "/"] if self.group else ["/api/"]
        parts.append(segment(self.version))
        if namespace is not None:
            if not self.namespaced:
                raise InvalidName(f"{self.kind} is not in a namespace, but {namespace!r} was given")
            parts += ["/namespaces/", segment(namespace)]
        parts += ["/", segment(self.plural)]
        if name is not None:
            if self.namespaced and namespace is None:
                raise InvalidName(f"{self.kind} {name!r} needs a namespace")
            parts += ["/", segment(name)]
        if subresource is not None:
            if name is None:
                raise InvalidName(f"a subresource ({subresource}) belongs to one object, and no name was given")
            parts += ["/", segment(subresource)]
        return "".join(parts)


def untyped(
    *, group: str = "", version: str = "v1", plural: str, kind: str, namespaced: bool = True
) -> Resource[Object]:
    """A resource whose objects are read as plain dicts."""
    return Resource(group=group, version=version, plural=plural, kind=kind, namespaced=namespaced, decode_as=dict)


def typed(kind: type[K]) -> Resource[K]:
    """A resource of ours, whose objects are read as its own type."""
    api = kind.API
    return Resource(
        group=api.group,
        version=api.version,
        plural=api.plural,
        kind=api.kind,
        namespaced=api.namespaced,
        decode_as=kind,
    )


class Bare(Part, frozen=True, kw_only=True):
    """An object of which only the metadata was asked for."""

    metadata: Metadata = Metadata()


def metadata_of(resource: Resource[Any]) -> Resource[Bare]:
    """The same kind without its contents: a Secret's data never reach this process."""
    return replace(cast("Resource[Bare]", resource), decode_as=Bare, metadata_only=True)


def segment(text: str) -> str:
    """`text` as exactly one segment of a path, or an error that shows what was wrong with it."""
    if _HARMLESS.fullmatch(text):
        return text
    # A percent sign is escaped correctly by us, but what stands in between may unescape twice. Kubernetes
    # forbids the same three things in names.
    if text in ("", ".", "..") or "/" in text or "%" in text:
        raise InvalidName(f"{text!r} cannot be a name: empty, '.', '..' and anything with '/' or '%' are refused")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise InvalidName(f"{text!r} cannot be a name: it is not valid text") from error
