"""The target of a move, as it is: what is there already, and what of it was made by a run of ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from mooring.api.kinds import Metadata
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.move.discovery import known_kinds, side_by_side
from mooring.clusterctl.move.graph import CLUSTER, SECRET, GroupKind, Node, class_of
from mooring.clusterctl.move.progress import PAUSED, Origin, Run, origin_in
from mooring.clusterctl.objects import at, name_of, namespace_of, text_at, texts_at
from mooring.kube import Bare, Client, Object, Resource, metadata_of
from mooring.kube.errors import NotFound, UnknownKind

Place = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Landed:
    """An object at the target."""

    kind: GroupKind
    resource: Resource[Bare]
    namespace: str
    name: str
    uid: str
    origin: Origin | None = None
    is_live: bool = False  # a Cluster with infrastructure, that is not paused

    @property
    def place(self) -> Place:
        return (*self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind[1]} {self.namespace}/{self.name}" if self.namespace else f"{self.kind[1]} {self.name}"


@dataclass(slots=True)
class Landing:
    """What was found at the target, by place; kept up to date by whoever writes there."""

    run: Run
    objects: dict[Place, Landed] = field(default_factory=dict)

    @property
    def ours(self) -> list[Landed]:
        """Made by this run, or by one with the same words before it."""
        return [one for one in self.objects.values() if one.origin is not None and one.origin.is_of(self.run)]

    @property
    def made(self) -> list[Landed]:
        """Those of them in whose place nothing was before."""
        return [one for one in self.ours if one.origin is not None and not one.origin.over]

    def namespaces(self, nodes: Iterable[Node]) -> list[str]:
        """Those that a run may have made: of what it found here, and of what is to come."""
        found = {one.namespace for one in self.objects.values()} | {one.namespace for one in nodes}
        return sorted(found - {""})

    def add(self, landed: Landed) -> None:
        self.objects[landed.place] = landed


def written(resource: Resource[Object]) -> Resource[Bare]:
    """The same resource for writing: of the answer, only the metadata are read."""
    return replace(cast("Resource[Bare]", resource), decode_as=Bare)


@dataclass(frozen=True, slots=True)
class Shore:
    """Where at the target something of a move may be, beside the places of what is to come."""

    namespace: str = ""  # the one that moves: there may be anything
    beside: Sequence[str] = ()  # those of providers: there may be Secrets


async def land(target: Client, run: Run, nodes: Sequence[Node], shore: Shore) -> Landing:
    """Read the target, where something may be."""
    landing = Landing(run)
    kinds = await _kinds(target, nodes)
    wanted = {(one.namespace, one.group_kind) for one in nodes}
    wanted |= {(one, SECRET) for one in shore.beside}
    if shore.namespace:
        wanted |= {(shore.namespace, kind) for kind in kinds}
    for namespace in sorted({one for one, kind in wanted if kind == CLUSTER}):
        for body in (await target.list(kinds[CLUSTER], namespace=namespace)).items:
            landing.add(_cluster(kinds[CLUSTER], body))
            # A class elsewhere is not seen at the source any more, once the last Cluster of it is gone from there.
            if (named := class_of(body)) is not None:
                wanted |= {(named[0], kind) for kind in kinds}
    wishes = {
        (kinds[kind], namespace if kinds[kind].namespaced else None) for namespace, kind in wanted if kind != CLUSTER
    }
    asked = sorted(wishes, key=lambda one: (one[0].group, one[0].plural, one[1] or ""))
    lists = await side_by_side([_lister(target, resource, namespace) for resource, namespace in asked])
    for (resource, _), found in zip(asked, lists, strict=True):
        for one in found:
            landing.add(landed_of(resource, one.metadata))
    return landing


async def _kinds(target: Client, nodes: Sequence[Node]) -> dict[GroupKind, Resource[Object]]:
    """Those that are known there, and those that are to come, in the versions of the source. An error if the target
    does not serve one."""
    found: dict[GroupKind, Resource[Object]] = {one.group_kind: one.resource for one in await known_kinds(target)}
    for api_version, kind in sorted({(one.api_version, one.kind) for one in nodes}):
        try:
            resource = await target.resource(api_version, kind)
        except UnknownKind as error:
            raise ClusterctlError(
                f"the target cluster does not serve {kind} in {api_version}, but there are objects of it to move: "
                f"install or upgrade the provider there"
            ) from error
        found[resource.group, resource.kind] = resource
    return found


def _lister(
    target: Client, resource: Resource[Object], namespace: str | None
) -> Callable[[], Awaitable[Sequence[Bare]]]:
    async def listed() -> Sequence[Bare]:
        try:
            return (await target.list(metadata_of(resource), namespace=namespace)).items
        except NotFound:
            return []

    return listed


def landed_of(resource: Resource[Any], metadata: Metadata) -> Landed:
    return Landed(
        (resource.group, resource.kind),
        written(resource),
        metadata.namespace,
        metadata.name,
        metadata.uid,
        origin_in(metadata.annotations),
    )


def _cluster(resource: Resource[Object], body: Object) -> Landed:
    return Landed(
        (resource.group, resource.kind),
        written(resource),
        namespace_of(body),
        name_of(body),
        text_at(body, "metadata", "uid"),
        origin_in(texts_at(body, "annotations")),
        is_live=_is_live(body),
    )


def _is_live(cluster: Object) -> bool:
    paused = at(cluster, "spec", "paused") is True or PAUSED in texts_at(cluster, "annotations")
    return not paused and at(cluster, "status", "initialization", "infrastructureProvisioned") is True
