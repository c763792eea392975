"""What a cluster serves, in its own words: one question for the core group, and one for all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from mooring.kube import Client
from mooring.kube.errors import BadAnswer

# All groups in one answer; servers older than 1.30 have the same under an older name.
_ACCEPT: Final = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedKind:
    """One resource of a group, with all that people call it."""

    group: str
    plural: str
    kind: str
    singular: str = ""
    short_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[set[str], ...]:
        """Its names in small letters, those that count most first: the kind, what its objects are called, the rest."""
        by_weight = ((self.kind,), (self.plural, self.singular), self.short_names)
        return tuple({name.lower() for name in names if name} for names in by_weight)


class Served:
    """What is served, by its names."""

    def __init__(self, kinds: Iterable[ServedKind]) -> None:
        self._named: dict[str, list[ServedKind]] = {}
        for one in kinds:
            for name in set().union(*one.names):
                self._named.setdefault(name, []).append(one)

    def is_resource(self, word: str, groups: Sequence[str] | None) -> bool:
        """Whether it is the plural of something in one of these groups (None: in any), to the letter."""
        return any(one.plural == word for one in self._called(word, groups))

    def plurals_of(self, word: str, groups: Sequence[str] | None) -> Mapping[str, str]:
        """By group, the plural of what is called so there. What is a kind's name is no short name of another's."""
        found = [(one, one.names) for one in self._called(word, groups)]
        for weight in range(3):
            plurals = {one.group: one.plural for one, names in found if word.lower() in names[weight]}
            if plurals:
                return plurals
        return {}

    def _called(self, word: str, groups: Sequence[str] | None) -> list[ServedKind]:
        return [one for one in self._named.get(word.lower(), ()) if groups is None or one.group in groups]


# -- as servers tell it -----------------------------------------------------------------------------------------------


class _Named(msgspec.Struct):
    name: str = ""


class _ResponseKind(msgspec.Struct):
    kind: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    response_kind: _ResponseKind | None = None
    singular_resource: str = ""
    short_names: tuple[str, ...] = ()


class _Version(msgspec.Struct):
    resources: tuple[_Resource, ...] = ()


class _Group(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct):
    kind: str
    items: tuple[_Group, ...] = ()


_read = msgspec.json.Decoder(_Groups).decode


async def served_by(client: Client) -> Served:
    """Ask a cluster what it serves."""
    return Served([one for path in ("/api", "/apis") for one in await _kinds(client, path)])


async def _kinds(client: Client, path: str) -> list[ServedKind]:
    try:
        answer = _read(await client.raw("GET", path, accept=_ACCEPT))
    except msgspec.MsgspecError as error:
        raise BadAnswer(f"not a list of what is served: {error}", verb="GET", path=path) from error
    if answer.kind != "APIGroupDiscoveryList":
        raise BadAnswer("the server does not tell what it serves in one list", verb="GET", path=path)
    return [
        ServedKind(
            group=group.metadata.name,
            plural=one.resource,
            kind=one.response_kind.kind if one.response_kind is not None else "",
            singular=one.singular_resource,
            short_names=one.short_names,
        )
        for group in answer.items
        for version in group.versions
        for one in version.resources
    ]
