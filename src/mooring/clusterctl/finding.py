"""What a server has: the kinds that it serves, and the objects of all kinds that carry some labels.

Kinds come from two calls, in which newer servers tell everything at once; older ones are asked group by group.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from mooring.clusterctl.applying import persistently, side_by_side
from mooring.clusterctl.objects import at, text_at, texts_at
from mooring.clusterctl.providers import CORE_LABEL, PROVIDER_LABEL
from mooring.clusterctl.scopes import Scopes
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.kube import Client, Object, Resource, untyped
from mooring.kube.errors import MethodNotAllowed, NotFound

_ALL_AT_ONCE: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)
_READ_TRIES: Final = 9


@dataclass(frozen=True, slots=True)
class Served:
    """A kind in the version that the server prefers, and what can be done with it."""

    resource: Resource[Object]
    verbs: frozenset[str]


async def served(client: Client) -> list[Served]:
    """All kinds, each in one version of its group: the first in the server's order that has it."""

    async def deed() -> list[Served]:
        core, groups = await asyncio.gather(*(_told(client, path) for path in ("/api", "/apis")))
        return [*core, *groups]

    return await persistently(deed, what="the server does not tell which kinds it serves", tries=_READ_TRIES)


async def scopes_of(client: Client) -> Scopes:
    """Which kinds are namespaced, as the server has them."""
    found = await served(client)
    return Scopes({(one.resource.group, one.resource.kind): one.resource.namespaced for one in found})


async def labelled(
    client: Client, labels: Mapping[str, str], namespaces: Collection[str], *, known: Iterable[Served] | None = None
) -> list[Object]:
    """All objects that carry these labels: in these namespaces, and in none.

    Objects of kinds that a provider (or, if those are looked for, cert-manager) has defined are left out: they are no
    components but what users have made; and whoever converts them may be gone already.
    """
    kinds = list(known) if known is not None else await served(client)
    foreign = _defined((await client.list(DEFINITIONS)).items, labels)
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    found: dict[int, list[Object]] = {}

    async def look(place: int, resource: Resource[Object], namespace: str | None) -> None:
        async def deed() -> list[Object]:
            try:
                return (await client.list(resource, namespace=namespace, label_selector=selector)).items
            except (NotFound, MethodNotAllowed):
                return []  # it was deleted since, or can only be listed elsewhere

        what = f"{resource.plural} cannot be listed"
        found[place] = await persistently(deed, what=what, tries=_READ_TRIES)

    asked = [
        (one.resource, namespace)
        for one in kinds
        if {"list", "delete"} <= one.verbs and (one.resource.group, one.resource.kind) not in foreign
        for namespace in (namespaces if one.resource.namespaced else (None,))
    ]
    await side_by_side([look(place, *one) for place, one in enumerate(asked)], at_once=16)
    return [one for place in sorted(found) for one in found[place]]


def _defined(definitions: Iterable[Object], labels: Mapping[str, str]) -> set[tuple[str, str]]:
    everyones = labels.get(CORE_LABEL) == "cert-manager"
    return {
        (text_at(one, "spec", "group"), text_at(one, "spec", "names", "kind"))
        for one in definitions
        if everyones or PROVIDER_LABEL in texts_at(one, "labels")
    }


async def _told(client: Client, path: str) -> list[Served]:
    answer = msgspec.json.decode(await client.raw("GET", path, accept=_ALL_AT_ONCE))
    if answer.get("kind") == "APIGroupDiscoveryList":
        return [one for group in answer.get("items") or [] for one in _of_group(group)]
    return await _asked_one_by_one(client, path, answer)


def _of_group(group: Mapping[str, Any]) -> list[Served]:
    name = at(group, "metadata", "name") or ""
    found: dict[str, Served] = {}
    for version in group.get("versions") or []:
        for entry in version.get("resources") or []:
            kind = at(entry, "responseKind", "kind") or ""
            resource = untyped(
                group=name,
                version=version["version"],
                plural=entry["resource"],
                kind=kind,
                namespaced=entry.get("scope") == "Namespaced",
            )
            found.setdefault(entry["resource"], Served(resource, frozenset(entry.get("verbs") or ())))
    return list(found.values())


async def _asked_one_by_one(client: Client, path: str, answer: Mapping[str, Any]) -> list[Served]:
    if path == "/api":
        versions = [("", version) for version in answer.get("versions") or []]
    else:
        versions = [
            (group["name"], one["version"]) for group in answer.get("groups") or [] for one in group["versions"]
        ]
    found: dict[tuple[str, str], Served] = {}
    for group, version in versions:
        where = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            told = msgspec.json.decode(await client.raw("GET", where))
        except NotFound:
            continue
        for entry in told.get("resources") or []:
            if "/" in entry["name"]:
                continue
            resource = untyped(
                group=group,
                version=version,
                plural=entry["name"],
                kind=entry["kind"],
                namespaced=entry["namespaced"],
            )
            found.setdefault((group, entry["name"]), Served(resource, frozenset(entry.get("verbs") or ())))
    return list(found.values())
