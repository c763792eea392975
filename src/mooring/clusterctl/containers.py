"""The containers of Deployments and DaemonSets: which images they need, and where to get these instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.objects import at, described, kind_of

if TYPE_CHECKING:
    from mooring.kube import Object

MANAGER: Final = "manager"  # what the container with a provider's controller must be called
WORKLOADS: Final = frozenset({"Deployment", "DaemonSet"})


def with_images(objects: Sequence[Object], replaced: Callable[[str], str], *, old: bool = False) -> list[Object]:
    """The objects, every image replaced. An image that cannot be read is an error that names the container."""
    return [_with_images(one, replaced, old=old) if kind_of(one) in WORKLOADS else one for one in objects]


def images_of(objects: Iterable[Object]) -> list[str]:
    """The images that the objects need: of each, those of its containers first."""
    workloads = (one for one in objects if kind_of(one) in WORKLOADS)
    return [container.get("image", "") for one in workloads for container in containers_of(one)]


def containers_of(workload: Object) -> Iterator[dict[str, Any]]:
    for field in ("containers", "initContainers"):
        yield from at(workload, "spec", "template", "spec", field) or []


def has_manager(obj: Object) -> bool:
    """Whether this is a Deployment of a provider's controller."""
    if kind_of(obj) != "Deployment":
        return False
    found = at(obj, "spec", "template", "spec", "containers")
    return isinstance(found, list) and any(at(one, "name") == MANAGER for one in found)


def _with_images(obj: Object, replaced: Callable[[str], str], *, old: bool) -> Object:
    from mooring.clusterctl.typed import as_typed

    obj = as_typed(obj, old=old)
    for container in containers_of(obj):
        try:
            image = replaced(container.get("image", ""))
        except ClusterctlError as error:
            raise ClusterctlError(f"{described(obj)}, container {container.get('name', '')!r}: {error}") from error
        if image:
            container["image"] = image
    return obj
