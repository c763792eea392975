"""ClusterClasses that Clusters of a template refer to: put in front of them, unless the cluster has them already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.objects import described, group_of, kind_of, name_of, namespace_of, text_at, version_of
from mooring.clusterctl.repository.releases import cluster_class_name
from mooring.clusterctl.templates import Template, about, merged, template_of

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration
    from mooring.clusterctl.repository import ProviderRepository
    from mooring.kube import Client, Object

GROUP: Final = "cluster.x-k8s.io"
_VERSIONS: Final = frozenset({"v1beta1", "v1beta2"})


@dataclass(frozen=True, slots=True)
class ClassReference:
    """Which ClusterClass a Cluster is made of."""

    name: str
    namespace: str


def references_in(objects: Iterable[Object]) -> list[ClassReference]:
    """The classes of all Clusters, in their order, as often as they are named."""
    return [found for one in objects if (found := _reference(one)) is not None]


async def with_classes(
    template: Template,
    repository: ProviderRepository,
    version: str,
    configuration: Configuration,
    client: Client | None,
) -> Template:
    """The template with the classes that it needs before it.

    ``client`` is of a cluster with Cluster API, in which classes may be; None if there is no such cluster. A class
    comes whole or not at all: if the cluster has only some of the objects in its file, that is an error.
    """
    parts: list[Template] = []
    for reference in references_in(template.objects):
        if client is not None and await _has_class(client, reference):
            continue
        try:
            text = await repository.cluster_class(reference.name, version)
        except ClusterctlError as error:
            raise type(error)(
                f"the template needs the ClusterClass {reference.name!r} in namespace {reference.namespace!r}: {error}"
            ) from error
        with about(f"{cluster_class_name(reference.name)} of {repository.provider.label} {version}"):
            found = template_of(text, configuration, namespace=reference.namespace)
        if client is not None:
            await _refuse_present(client, found.objects, reference)
        parts.append(found)
    return merged([*parts, template])


def _reference(obj: Object) -> ClassReference | None:
    if group_of(obj) != GROUP or kind_of(obj) != "Cluster" or version_of(obj) not in _VERSIONS:
        return None
    from mooring.clusterctl.typed import as_typed

    topology = as_typed(obj)["spec"].get("topology")  # upstream refuses a Cluster with a field of the wrong type here
    if version_of(obj) == "v1beta1":
        name, namespace = text_at(topology, "class"), text_at(topology, "classNamespace")
        is_defined = topology is not None
    else:
        name, namespace = (text_at(topology, "classRef", field) for field in ("name", "namespace"))
        is_defined = _says_something(topology)
    return ClassReference(name, namespace or namespace_of(obj)) if is_defined else None


def _says_something(value: Any) -> bool:
    """Whether there is anything in it but mappings of nothing."""
    return any(map(_says_something, value.values())) if isinstance(value, dict) else value is not None


async def _has_class(client: Client, reference: ClassReference) -> bool:
    head = {"apiVersion": f"{GROUP}/v1beta2", "kind": "ClusterClass"}
    return await _exists(client, {**head, "metadata": {"name": reference.name, "namespace": reference.namespace}})


async def _refuse_present(client: Client, objects: Iterable[Object], reference: ClassReference) -> None:
    for one in objects:
        if await _exists(client, one):
            raise ClusterctlError(
                f"{described(one)} of the ClusterClass {reference.name!r} is already in the cluster, but the class is "
                f"not: it may be another one's; delete or rename it"
            )


async def _exists(client: Client, obj: Object) -> bool:
    from mooring.kube.errors import NotFound

    resource = await client.resource(text_at(obj, "apiVersion"), kind_of(obj))
    namespace = namespace_of(obj) if resource.namespaced else None
    try:
        await client.get(resource, name_of(obj), namespace=namespace)
    except NotFound:
        return False
    return True
