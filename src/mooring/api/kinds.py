"""What every kind has: its names on the wire, spelled once, and the metadata that we read.

A kind is a Struct with a class attribute ``API``. From it come the paths that a client uses and the definition that
the server is given, so a group that is renamed is renamed in one place.

Structs are frozen, and their objects hold no cycles, so the garbage collector need not visit them (``gc=False``); what
we do not use of an object (``managedFields`` before all) is not kept. Unknown fields are ignored, and survive because
we write patches, never whole objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec.structs import force_setattr

from mooring.api.schema import about

Document = dict[str, Any]

CLUSTERS_GROUP: Final = "clusters.openmcp.cloud"
PLATFORM_GROUP: Final = "openmcp.cloud"
VERSION: Final = "v1alpha1"

# The default of every map: one object that nobody can fill, not one dict for each object.
EMPTY: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of ``kubectl get``; with a priority above 0 only of ``-o wide``."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


def label_path(label: str) -> str:
    """The path of a label for a column; the dots in its name are no steps."""
    return ".metadata.labels." + label.replace(".", r"\.")


def annotation_path(annotation: str) -> str:
    return ".metadata.annotations." + annotation.replace(".", r"\.")


AGE_COLUMN: Final = Column(name="Age", path=".metadata.creationTimestamp", type="date")
READY_COLUMN: Final = Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status')


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Where and how a kind is served."""

    group: str
    version: str = VERSION
    kind: str
    plural: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[str, ...] = ()
    has_status: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def definition_name(self) -> str:
        """The name of its CustomResourceDefinition."""
        return f"{self.plural}.{self.group}"


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """A part of an object: immutable, compact, written without the fields that say nothing."""


def share(part: Part, *names: str) -> None:
    """Let all objects with the same text in these fields hold one copy of it: half of a cache is such texts."""
    for name in names:
        force_setattr(part, name, intern(str(getattr(part, name))))  # an enum is a text, too


class OwnerReference(Part, frozen=True, kw_only=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False

    def __post_init__(self) -> None:
        share(self, "api_version", "kind")


class Metadata(Part, frozen=True, kw_only=True):
    """The metadata that we use. Times are as the server writes them; no ``deletion_timestamp``, no deletion."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = EMPTY
    annotations: Mapping[str, str] = EMPTY
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str = ""

    def __post_init__(self) -> None:
        share(self, "namespace", "creation_timestamp")
        force_setattr(self, "finalizers", tuple(map(intern, self.finalizers)))

    @property
    def deleting(self) -> bool:
        return bool(self.deletion_timestamp)


class Kind(Part, frozen=True, kw_only=True):
    """An object of the API. Subclasses say what they are in ``API`` and bring their spec and status."""

    API: ClassVar[Api]

    metadata: Annotated[Metadata, about("Standard metadata of the object.", required=False)]


def api_of(kind: type[Kind]) -> Api:
    """How a kind is served: all that a client needs to reach its objects."""
    return kind.API


def as_document(thing: Kind) -> Document:
    """The object as plain data with its apiVersion and kind, ready to be written."""
    body: Document = msgspec.json.decode(msgspec.json.encode(thing))
    return {"apiVersion": thing.API.api_version, "kind": thing.API.kind, **body}


def owned_by(owner: Kind, *, controller: bool = True, blocking: bool = False) -> OwnerReference:
    """The reference that ties an object's life to its owner's. ``blocking``: an owner that is deleted waits for it."""
    api, metadata = owner.API, owner.metadata
    return OwnerReference(
        api_version=api.api_version,
        kind=api.kind,
        name=metadata.name,
        uid=metadata.uid,
        controller=controller,
        block_owner_deletion=blocking,
    )
