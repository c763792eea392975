"""Owner chains of live objects: whatever is of a provider's kinds leads up to a Cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.lint.contents import definitions_in
from mooring.clusterctl.lint.material import Material, mappings
from mooring.clusterctl.objects import at, group_of, kind_of, name_of, namespace_of, text_at

if TYPE_CHECKING:
    from mooring.kube import Client, Object

# Where chains may end. The contract asks for a Cluster; templates of a ClusterClass, which is younger, belong to that.
_ENDS: Final = frozenset({("cluster.x-k8s.io", "Cluster"), ("cluster.x-k8s.io", "ClusterClass")})
_CHAINS, _OWNERS = "P34", "P35"


async def look(client: Client, material: Material) -> Mapping[str, Sequence[str]]:
    """What the objects of this management cluster say about the rules that files cannot show."""
    if not material.releases:
        raise ClusterctlError(f"{material.folder} has no release whose kinds could be looked for")
    kinds = _kinds(material)
    found = await asyncio.gather(*(_listed(client, version, kind) for version, kind in kinds))
    ours = [one for objects in found for one in objects]
    chains = _Chains(client, ours)
    findings: dict[str, list[str]] = {_CHAINS: [], _OWNERS: []}
    for one in ours:
        broken = await chains.broken(one)
        if broken:
            findings[_CHAINS if at(one, "metadata", "ownerReferences") else _OWNERS].append(broken)
    # Who has no owner at all is not linked to a Cluster, either.
    findings[_CHAINS] += findings[_OWNERS]
    return findings


def _kinds(material: Material) -> list[tuple[str, str]]:
    """The version in which objects are stored, and the kind, of each namespaced definition of the newest release."""
    made = []
    for one in definitions_in(material.releases[-1].objects_if_any):
        group, kind = text_at(one, "spec", "group"), text_at(one, "spec", "names", "kind")
        versions = [each for each in mappings(at(one, "spec", "versions")) if each.get("storage") is True]
        if versions and text_at(one, "spec", "scope") == "Namespaced":
            made.append((f"{group}/{text_at(versions[0], 'name')}", kind))
    return made


async def _listed(client: Client, api_version: str, kind: str) -> list[Object]:
    from mooring.kube.errors import UnknownKind

    try:
        resource = await client.resource(api_version, kind)
    except UnknownKind:
        return []  # not installed there, so that there are no objects of it
    return [{"apiVersion": api_version, "kind": kind, **one} for one in (await client.list(resource)).items]


class _Chains:
    """Ways up, with everything that was read kept."""

    def __init__(self, client: Client, known: Iterable[Object]) -> None:
        self._client = client
        self._known: dict[str, Object | None] = {text_at(one, "metadata", "uid"): one for one in known}

    async def broken(self, one: Object) -> str:
        """How far the best way goes; empty if one reaches a Cluster."""
        uid = text_at(one, "metadata", "uid")
        waiting: list[tuple[Object, tuple[str, ...]]] = [(one, (_called(one),))]
        seen = {uid}
        furthest: tuple[str, ...] = ()
        while waiting:
            there, way = waiting.pop()
            if (group_of(there), kind_of(there)) in _ENDS:
                return ""
            references = mappings(at(there, "metadata", "ownerReferences"))
            if not references and len(way) >= len(furthest):
                furthest = (*way, "which has no owner")
            for reference in references:
                owner = await self._owner(reference, namespace_of(there))
                named = f"{text_at(reference, 'kind')} {text_at(reference, 'name')}"
                if owner is None:
                    furthest = max(furthest, (*way, named, "which is not there"), key=len)
                elif text_at(owner, "metadata", "uid") in seen:
                    furthest = furthest or (*way, named, "and so in a circle")
                else:
                    seen.add(text_at(owner, "metadata", "uid"))
                    waiting.append((owner, (*way, named)))
        return " ← ".join(furthest[:-1]) + f", {furthest[-1]}"

    async def _owner(self, reference: Mapping[str, Any], namespace: str) -> Object | None:
        from mooring.kube.errors import InvalidName, NotFound, UnknownKind

        uid = text_at(reference, "uid")
        if uid not in self._known:
            version, kind, name = (text_at(reference, part) for part in ("apiVersion", "kind", "name"))
            try:
                resource = await self._client.resource(version, kind)
                where = namespace if resource.namespaced else None
                found = await self._client.get(resource, name, namespace=where)
                is_it = text_at(found, "metadata", "uid") == uid
                self._known[uid] = {"apiVersion": version, "kind": kind, **found} if is_it else None
            except (InvalidName, NotFound, UnknownKind):
                self._known[uid] = None
        owner = self._known[uid]
        return owner if owner is not None and name_of(owner) == text_at(reference, "name") else None


def _called(one: Object) -> str:
    return f"{kind_of(one)} {namespace_of(one)}/{name_of(one)}"
