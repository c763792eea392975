"""Everything that a server has, as far as two servers can be compared in it.

``await dump(client)`` reads all objects of all kinds; ``difference(one, other)`` says in what two dumps differ, object
by object and field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mooring.clusterctl.finding import served
from mooring.clusterctl.inventory_definition import DEFINITION_NAME
from mooring.kube import Client, Object, Resource
from mooring.kube.errors import MethodNotAllowed, NotFound

Key = tuple[str, str, str]  # apiVersion/kind, namespace, name
Ignore = Callable[[Key], bool]

# What servers make of their own accord, each in its own way or time.
_OWN_KINDS = frozenset(
    {
        "v1/ComponentStatus",
        "v1/Event",
        "events.k8s.io/v1/Event",
        "coordination.k8s.io/v1/Lease",
        "apiregistration.k8s.io/v1/APIService",
        "flowcontrol.apiserver.k8s.io/v1/FlowSchema",
        "flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration",
        "discovery.k8s.io/v1/EndpointSlice",
        "v1/Endpoints",
        "networking.k8s.io/v1/IPAddress",
    }
)
_OWN_NAMES = frozenset({"kube-root-ca.crt", "extension-apiserver-authentication", "cluster-info", "kubernetes"})
_DEFAULT_ACCOUNT = ("v1/ServiceAccount", "default")  # of every namespace, soon after it
_OWN_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")


async def dump(client: Client) -> dict[Key, Object]:
    """All objects by their kind, namespace and name, without what no two servers have in common."""
    found: dict[Key, Object] = {}
    for one in await served(client):
        if "list" not in one.verbs or "create" not in one.verbs:
            continue
        for thing in await _all(client, one.resource):
            metadata = thing["metadata"]
            key = (f"{one.resource.api_version}/{one.resource.kind}", metadata.get("namespace", ""), metadata["name"])
            if key[0] not in _OWN_KINDS and key[2] not in _OWN_NAMES and key[::2] != _DEFAULT_ACCOUNT:
                found[key] = comparable(thing)
    return found


async def _all(client: Client, resource: Resource[Object]) -> list[Object]:
    try:
        return (await client.list(resource)).items
    except (NotFound, MethodNotAllowed):
        return []


def comparable(thing: Object) -> Object:
    """An object without its times, its identity, and the addresses that a server has chosen."""
    metadata = {key: value for key, value in thing["metadata"].items() if key not in _OWN_FIELDS}
    made: Object = {**thing, "metadata": metadata}
    made = _without_times(made)
    if thing.get("kind") == "Service":
        made["spec"] = {key: value for key, value in made["spec"].items() if key not in ("clusterIP", "clusterIPs")}
    if thing.get("kind") == "CustomResourceDefinition":
        made.pop("status", None)
        if metadata["name"] == DEFINITION_NAME:
            made = _without_words(made)
    return made


def _without_words(definition: Object) -> Object:
    """The definition of the inventory is in our own words (DEVIATION inventory-words)."""
    words = ("description", "annotations")
    return {key: _unspoken(value, words) for key, value in definition.items()}


def _unspoken(value: Any, words: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {key: _unspoken(one, words) for key, one in value.items() if key not in words}
    return [_unspoken(one, words) for one in value] if isinstance(value, list) else value


def _without_times(value: Any) -> Any:
    times = ("lastTransitionTime", "lastUpdateTime", "lastProbeTime", "deletionTimestamp")
    if isinstance(value, dict):
        return {key: _without_times(one) for key, one in value.items() if key not in times}
    if isinstance(value, list):
        return [_without_times(one) for one in value]
    return value


def difference(one: dict[Key, Object], other: dict[Key, Object], *, ignore: Ignore = lambda key: False) -> list[str]:
    """Empty if the dumps are equal; otherwise a line for each field that is not."""
    lines: list[str] = []
    for key in sorted(one.keys() | other.keys()):
        if ignore(key):
            continue
        name = f"{key[0]} {key[1]}/{key[2]}"
        if key not in one:
            lines.append(f"{name}: only in the second")
        elif key not in other:
            lines.append(f"{name}: only in the first")
        else:
            lines.extend(f"{name}: {line}" for line in _differing(one[key], other[key], ""))
    return lines


def _differing(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _differing(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differing(left, right, f"{path}[{index}]")
    elif one != other:
        yield f"{path or '.'} is {one!r} and {other!r}"
