"""What is read for a move: the kinds that clusterctl has installed, and their objects in a namespace.

Everything comes from lists, one for each kind. Beyond the namespace there are: Secrets beside infrastructure providers
(a credential in no namespace may own one), the ClusterClasses of other namespaces that Clusters here are made from,
with their templates, and all Clusters elsewhere, to see which ClusterClasses they need.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.move.graph import BUILT_IN, CLASS, CLUSTER, ROOTS, SECRETS, Graph, Kind, build, class_of, keep
from mooring.clusterctl.move.sequence import Sequence as Order
from mooring.clusterctl.move.sequence import arrange
from mooring.clusterctl.objects import at, namespace_of, text_at
from mooring.clusterctl.providers import CLUSTERCTL_LABEL, MOVE_HIERARCHY_LABEL, MOVE_LABEL, ProviderType
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.kube import Client, Object, Resource, untyped
from mooring.kube.errors import BadRequest, NotFound, UnknownKind

T = TypeVar("T")

_LISTS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to move: the namespace, and which of its Clusters; by default all."""

    namespace: str
    clusters: Sequence[str] = ()
    selector: str = ""

    @property
    def is_everything(self) -> bool:
        return not self.clusters and not self.selector

    @property
    def words(self) -> str:
        """The same for the same wish."""
        return f"namespace={self.namespace} cluster={','.join(sorted(set(self.clusters)))} selector={self.selector}"


@dataclass(slots=True)
class View:
    """The source at one moment."""

    graph: Graph
    order: Order
    kinds: Sequence[Kind]
    chosen: frozenset[str] | None  # uids of Clusters; None: all
    lacking: str = ""  # which of the chosen Clusters are not there
    provider_namespaces: Sequence[str] = field(default_factory=list)

    @property
    def revisions(self) -> dict[str, str]:
        return {one.uid: one.revision for one in self.order.nodes}


async def known_kinds(client: Client) -> list[Kind]:
    """Secrets, ConfigMaps, and every kind whose definition carries clusterctl's label, as it is stored."""
    definitions = await client.list(DEFINITIONS, label_selector=CLUSTERCTL_LABEL)
    found = [_kind(one) for one in definitions.items]
    return [*BUILT_IN, *(one for one in found if one is not None)]


def _kind(definition: Object) -> Kind | None:
    spec, labels = definition["spec"], at(definition, "metadata", "labels") or {}
    served = [one for one in spec["versions"] if one.get("served")]
    version = next((one for one in served if one.get("storage")), served[0] if served else None)
    if version is None:
        return None  # nobody can read its objects
    names = spec["names"]
    with_hierarchy = MOVE_HIERARCHY_LABEL in labels or (spec["group"], names["kind"]) in ROOTS
    return Kind(
        untyped(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
        ),
        moves=with_hierarchy or MOVE_LABEL in labels,
        with_hierarchy=with_hierarchy,
    )


async def survey(client: Client, choice: Choice) -> View:
    """Read the source."""
    kinds = await known_kinds(client)
    installed = await Inventory(client).list_if_defined()
    providers = {one.namespace for one in installed if one.type is ProviderType.INFRASTRUCTURE}
    beside = sorted(providers - {choice.namespace})
    wishes: list[tuple[Kind, str | None]] = [(one, choice.namespace) for one in kinds if one.group_kind != CLUSTER]
    wishes += [(Kind(SECRETS), namespace) for namespace in beside]
    lists = await side_by_side([_lister(client, kind, namespace) for kind, namespace in wishes])
    objects = [one for found in lists for one in found]
    clusters = [one for kind in kinds if kind.group_kind == CLUSTER for one in await _lister(client, kind, None)()]
    here = [one for one in clusters if namespace_of(one) == choice.namespace]
    objects += here
    objects += await _foreign_classes(client, kinds, here, choice.namespace)
    graph = build(objects, kinds)
    _keep_classes(graph, choice.namespace, [one for one in clusters if namespace_of(one) != choice.namespace])
    chosen, lacking = await _chosen(client, kinds, graph, choice)
    return View(graph, arrange(graph, chosen), kinds, chosen, lacking, beside)


def _lister(client: Client, kind: Kind, namespace: str | None) -> Callable[[], Awaitable[list[Object]]]:
    async def listed() -> list[Object]:
        where = namespace if kind.resource.namespaced else None
        try:
            return (await client.list(kind.resource, namespace=where)).items
        except NotFound:
            return []  # its definition has just gone, or is not served yet

    return listed


async def side_by_side(deeds: Iterable[Callable[[], Awaitable[T]]]) -> list[T]:
    """Reads, some at a time; answers in their order."""
    seats = asyncio.Semaphore(_LISTS_AT_ONCE)

    async def seated(deed: Callable[[], Awaitable[T]]) -> T:
        async with seats:
            return await deed()

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(seated(deed)) for deed in deeds]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [one.result() for one in tasks]


def _keep_classes(graph: Graph, namespace: str, elsewhere: Iterable[Object]) -> None:
    """Classes outside, and classes that Clusters outside are made from, stay."""
    needed = {class_of(one) for one in elsewhere}
    keep(graph, [one for one in graph.of(CLASS) if one.namespace != namespace or (namespace, one.name) in needed])


async def _foreign_classes(
    client: Client, kinds: Sequence[Kind], clusters: Iterable[Object], here: str
) -> list[Object]:
    """ClusterClasses of other namespaces that these Clusters are made from, and the templates that those name."""
    resource = next((one.resource for one in kinds if one.group_kind == CLASS), None)
    wanted = {named for one in clusters if (named := class_of(one)) is not None and named[0] != here and named[1]}
    objects: list[Object] = []
    for namespace, name in sorted(wanted):
        if resource is None:
            raise ClusterctlError(f"there is no kind ClusterClass, but a Cluster needs {namespace}/{name}")
        found = await _fetched(client, resource, name, namespace)
        objects.append(found)
        for reference in _templates(found):
            try:
                kind = await client.resource(text_at(reference, "apiVersion"), text_at(reference, "kind"))
            except UnknownKind as error:
                raise ClusterctlError(f"ClusterClass {namespace}/{name}: {error}") from error
            objects.append(await _fetched(client, kind, text_at(reference, "name"), namespace))
    return objects


async def _fetched(client: Client, resource: Resource[Object], name: str, namespace: str) -> Object:
    try:
        return await client.get(resource, name, namespace=namespace)
    except NotFound as error:
        raise ClusterctlError(
            f"{resource.kind} {namespace}/{name} is not there, but a Cluster that is to move needs it"
        ) from error


def _templates(cluster_class: Object) -> list[Any]:
    spec = cluster_class.get("spec") or {}
    workers = [*(at(spec, "workers", "machineDeployments") or ()), *(at(spec, "workers", "machinePools") or ())]
    parts = [
        at(spec, "infrastructure"),
        at(spec, "controlPlane"),
        at(spec, "controlPlane", "machineInfrastructure"),
        *(at(one, part) for one in workers for part in ("infrastructure", "bootstrap")),
    ]
    found = [at(one, "templateRef") for one in parts]
    return list({str(one): one for one in found if one}.values())


async def _chosen(
    client: Client, kinds: Sequence[Kind], graph: Graph, choice: Choice
) -> tuple[frozenset[str] | None, str]:
    """The uids of the Clusters that were asked for by name or by label; and which are not there."""
    if choice.is_everything:
        return None, ""
    here = {one.name: one.uid for one in graph.of(CLUSTER) if one.namespace == choice.namespace}
    chosen = {here[name] for name in choice.clusters if name in here}
    if choice.selector:
        resource = next(one.resource for one in kinds if one.group_kind == CLUSTER)
        try:
            fitting = await client.list(resource, namespace=choice.namespace, label_selector=choice.selector)
        except BadRequest as error:
            raise ClusterctlError(f"{choice.selector!r} is not a selector of labels: {error.message}") from error
        chosen |= {text_at(one, "metadata", "uid") for one in fitting.items} & set(here.values())
    lacking = ", ".join(sorted(set(choice.clusters) - here.keys()))
    if lacking:
        known = ", ".join(sorted(here)) or "none"
        lacking = f"there is no Cluster {lacking} in namespace {choice.namespace}: there are {known}"
    elif not chosen:
        lacking = f"no Cluster in namespace {choice.namespace} has labels that fit {choice.selector!r}"
    return frozenset(chosen), lacking
