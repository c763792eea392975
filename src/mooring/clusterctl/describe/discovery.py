"""Reading a cluster and what belongs to it: one list per kind, side by side, and no call per machine.

Objects of providers are found through the cluster-name label that Cluster API puts on them. Those that lack it are
asked for by name, so that nothing is overlooked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mooring.clusterctl.describe.contracts import Contract, contract_of
from mooring.clusterctl.describe.seen import CLUSTER_LABEL, Kind, Reference, Seen, objects_named, templates_named
from mooring.clusterctl.describe.tree import Options
from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.plurals import crd_name
from mooring.kube import Client, Object, Resource, key_of, metadata_of, untyped
from mooring.kube.definitions import DEFINITIONS
from mooring.kube.errors import ApiError, InvalidName, NotFound, UnknownKind

_CORE: Final = "cluster.x-k8s.io"
CLUSTERS: Final = untyped(group=_CORE, version="v1beta2", plural="clusters", kind="Cluster")
MACHINES: Final = untyped(group=_CORE, version="v1beta2", plural="machines", kind="Machine")
DEPLOYMENTS: Final = untyped(group=_CORE, version="v1beta2", plural="machinedeployments", kind="MachineDeployment")
SETS: Final = untyped(group=_CORE, version="v1beta2", plural="machinesets", kind="MachineSet")
POOLS: Final = untyped(group=_CORE, version="v1beta2", plural="machinepools", kind="MachinePool")
HEALTH_CHECKS: Final = untyped(group=_CORE, version="v1beta2", plural="machinehealthchecks", kind="MachineHealthCheck")
BINDINGS: Final = untyped(
    group=f"addons.{_CORE}",
    version="v1beta2",
    plural="clusterresourcesetbindings",
    kind="ClusterResourceSetBinding",
)
_AT_ONCE: Final = 16  # calls for objects that no list has brought


@dataclass(frozen=True, slots=True)
class Discovery:
    """Reads one cluster, as often as asked."""

    client: Client
    namespace: str
    name: str
    options: Options

    async def read(self) -> Seen:
        """All there is to see; `NotHere` if there is no such cluster."""
        checked, core = await _side_by_side(Inventory(self.client).check_contract(), self._core())
        _told(checked)
        seen = await self._with_foreign(_told(core))
        return await self._with_templates(seen) if self.options.templates else seen

    async def _core(self) -> Seen:
        """Cluster API's own kinds."""
        kinds = [self._list(one) for one in (MACHINES, POOLS, DEPLOYMENTS, SETS)]
        cluster, checks, binding, machines, pools, deployments, sets = await _side_by_side(
            self._cluster(), self._health_checks(), self._binding(), *kinds
        )
        seen = Seen(
            _told(cluster),
            _told(machines),
            pools=_told(pools),
            health_checks=_told(checks),
            binding=_told(binding),
        )
        if not seen.has_workers:  # nothing would be told of them, so nothing need be known
            return seen
        return replace(seen, deployments=_told(deployments), sets=_told(sets))

    async def _cluster(self) -> Object:
        try:
            return await self.client.get(CLUSTERS, self.name, namespace=self.namespace)
        except NotFound:
            raise NotHere(
                f"there is no Cluster {self.name!r} in the namespace {self.namespace!r}: name another with --namespace"
            ) from None

    async def _list(self, resource: Resource[Object]) -> Sequence[Object]:
        selector = f"{CLUSTER_LABEL}={self.name}"
        listing = await self.client.list(resource, namespace=self.namespace, label_selector=selector)
        return [_complete(one, resource) for one in listing.items]

    async def _health_checks(self) -> Sequence[Object]:
        """They name their cluster in the spec; a label they have only where somebody thought of it."""
        if not self.options.health_checks:
            return ()
        listing = await self.client.list(HEALTH_CHECKS, namespace=self.namespace)
        mine = [one for one in listing.items if (one.get("spec") or {}).get("clusterName") == self.name]
        return [_complete(one, HEALTH_CHECKS) for one in mine]

    async def _binding(self) -> Object | None:
        if not self.options.resource_sets:
            return None
        try:
            return await self.client.get(BINDINGS, self.name, namespace=self.namespace)
        except ApiError:
            return None

    async def _with_foreign(self, seen: Seen) -> Seen:
        """Providers' objects that are named, as far as they are there."""
        named = dict.fromkeys(objects_named(seen))
        contracts = await self._contracts(one.of_kind for one in named)
        kinds: dict[Kind, list[Reference]] = {}
        for one in named:
            kinds.setdefault(one.of_kind, []).append(one)
        found = await asyncio.gather(
            *(
                self._of_kind(kind, contract.version, references)
                for kind, references in kinds.items()
                if isinstance(contract := contracts[kind], Contract)
            )
        )
        foreign = {one: thing for some in found for one, thing in some.items()}
        return replace(seen, foreign=foreign, contracts=contracts)

    async def _with_templates(self, seen: Seen) -> Seen:
        kinds = [kind for kind in dict.fromkeys(templates_named(seen)) if kind not in seen.contracts]
        return replace(seen, contracts={**seen.contracts, **await self._contracts(kinds)})

    async def _contracts(self, kinds: Iterable[Kind]) -> Mapping[Kind, Contract | ClusterctlError]:
        wanted = list(dict.fromkeys(kinds))
        return dict(zip(wanted, await asyncio.gather(*map(self._contract, wanted)), strict=True))

    async def _contract(self, kind: Kind) -> Contract | ClusterctlError:
        """What the definition of a kind says; the complaint, if there is none or it says nothing."""
        name = crd_name(kind.group, kind.kind)
        try:
            definition = await self.client.get(metadata_of(DEFINITIONS), name)
            return contract_of(name, definition.metadata.labels)
        except ClusterctlError as error:
            return error
        except (ApiError, InvalidName) as error:
            return ClusterctlError(f"the definition of {kind.kind} ({name}) cannot be read: {error}")

    async def _of_kind(self, kind: Kind, version: str, named: Sequence[Reference]) -> Mapping[Reference, Object]:
        """The objects of one kind: from one list, and by name what the list does not have."""
        try:
            resource = await self.client.resource(f"{kind.group}/{version}", kind.kind)
        except (ApiError, UnknownKind, InvalidName):
            return {}
        where = self.namespace if resource.namespaced else None
        listed = await self._labelled(resource, where) if len(named) > 1 else {}
        limit = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str) -> Object | None:
            async with limit:
                try:
                    return await self.client.get(resource, name, namespace=where)
                except (ApiError, InvalidName):
                    return None  # not there, or not ours to see: it has no line

        missing = [each for each in named if each.name not in listed]
        for each, thing in zip(missing, await asyncio.gather(*(one(each.name) for each in missing)), strict=True):
            if thing is not None:
                listed[each.name] = thing
        return {each: _complete(listed[each.name], resource) for each in named if each.name in listed}

    async def _labelled(self, resource: Resource[Object], where: str | None) -> dict[str, Object]:
        try:
            selector = f"{CLUSTER_LABEL}={self.name}"
            listing = await self.client.list(resource, namespace=where, label_selector=selector)
        except ApiError:
            return {}
        return {key_of(one).name: one for one in listing.items}


async def _side_by_side(*calls: Awaitable[Any]) -> list[Any]:
    """The answers, or why there are none: the first that is looked at shall be the one that is told."""
    return await asyncio.gather(*calls, return_exceptions=True)


def _told(answer: Any) -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _complete(thing: Object, resource: Resource[Object]) -> Object:
    """With its kind, which the items of lists of custom resources have and others do not."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, **thing}
