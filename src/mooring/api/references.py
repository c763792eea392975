"""References to other objects, and the bounds of the names in them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from mooring.api.kinds import Part, share
from mooring.api.schema import About, Rule, about

# What Kubernetes itself allows as the name of an object, and of a namespace: a reference cannot need more.
Name = Annotated[str, about(max_length=253)]
NamespaceName = Annotated[str, about(max_length=63)]
Time = Annotated[str, about(format="date-time")]


class LocalReference(Part, frozen=True, kw_only=True):
    """A reference by name to an object whose kind and namespace are known from the context."""

    ABOUT: ClassVar[About] = about(map_type="atomic")

    name: Annotated[Name, about("Name of the object that is meant.", default="")] = ""


class ObjectReference(Part, frozen=True, kw_only=True):
    """A reference to an object in a namespace."""

    name: Annotated[Name, about("Name of the object that is meant.")]
    namespace: Annotated[NamespaceName, about("Namespace that the object is in.")]

    def __post_init__(self) -> None:
        share(self, "namespace")


class NearbyReference(Part, frozen=True, kw_only=True):
    """A reference to an object in a namespace, which may be left out if it is the referring object's own."""

    name: Annotated[Name, about("Name of the object that is meant.")]
    namespace: Annotated[
        NamespaceName,
        about("""Namespace that the object is in; if absent, the namespace of the object that holds this reference.
        A missing namespace may be filled in later, a given one cannot be changed."""),
    ] = ""


def fixed_reference(field: str) -> Rule:
    """The rule for a `NearbyReference` that, once set, always means the same object."""
    # `namespace` is a reserved word in CEL, and is written with underscores there.
    kept = "!has(oldSelf.__namespace__) || (has(self.__namespace__) && self.__namespace__ == oldSelf.__namespace__)"
    return Rule(
        f"self.name == oldSelf.name && ({kept})",
        f"{field} is immutable: its name cannot change, and its namespace can only be filled in if it was absent",
    )


def not_removable(field: str, *, where: str = "") -> Rule:
    """The rule that a field, once set, stays set."""
    return Rule(f"!has(oldSelf.{field}) || has(self.{field})", f"{where}{field} may not be removed once set")


def immutable(field: str, *, message: str) -> Rule:
    """The rule, for the object around it, that a field is neither set, nor removed, nor changed."""
    same = f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    return Rule(same, message, field_path=f".{field}")
