"""What is installed in a management cluster: one Provider object for each provider, in the provider's namespace.

The objects are those of the other clusterctl, so that either can carry on from where the other stopped.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mooring.clusterctl.applying import apply_one, delete_one, persistently
from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.inventory_definition import DEFINITION_NAME, PROVIDERS, VERSION, inventory_definition
from mooring.clusterctl.objects import at, name_of, namespace_of, text_at
from mooring.clusterctl.providers import CONTRACT, ProviderType, manifest_label
from mooring.clusterctl.waiting import DEFINITIONS, has_condition, wait_for
from mooring.kube import Client, Object
from mooring.kube.errors import AlreadyExists, NotFound

if TYPE_CHECKING:
    from mooring.clusterctl.components import Components

CLUSTERS: Final = "clusters.cluster.x-k8s.io"
_OLDEST_SERVER, _OLDEST_WITH_TOPOLOGY = (1, 20), (1, 22)
_READ_TRIES: Final = 9
_ESTABLISHED_WITHIN: Final = 60.0
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})


@dataclass(frozen=True, slots=True)
class Installed:
    """One provider that is there. ``name`` is the object's; ``provider_name`` is what people call it."""

    name: str
    provider_name: str
    type: ProviderType
    version: str
    namespace: str
    watched_namespace: str = ""  # empty: all

    @property
    def label(self) -> str:
        """What its components are labelled with."""
        return manifest_label(self.provider_name, self.type)

    @property
    def instance(self) -> str:
        """Which one of several instances."""
        return f"{self.namespace}/{self.label}"

    def same_provider(self, other: Installed) -> bool:
        return (self.provider_name, self.type) == (other.provider_name, other.type)

    def overlaps(self, other: Installed) -> bool:
        """Whether there may be objects that both look after."""
        mine, theirs = self.watched_namespace, other.watched_namespace
        return not mine or not theirs or mine == theirs


class Inventory:
    """The inventory of one management cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ensure_definitions(self, environ: Mapping[str, str] = os.environ) -> bool:
        """Make sure that there can be an inventory; whether it had to be made. Refuses servers that are too old."""
        await self._check_server(environ)
        if await self.is_defined():
            return False
        with contextlib.suppress(AlreadyExists):
            await self._client.create(DEFINITIONS, inventory_definition())
        await self._established()
        return True

    async def is_defined(self) -> bool:
        """Whether there can be an inventory."""
        definition = await self._definition(DEFINITION_NAME)
        if definition is None:
            return False
        versions = at(definition, "spec", "versions") or []
        if not any(one.get("name") == VERSION for one in versions):
            raise ClusterctlError(
                f"CustomResourceDefinition {DEFINITION_NAME} does not define the version {VERSION}, in which the "
                f"inventory is written: another program has put it there"
            )
        if not has_condition(definition, "Established"):
            await self._established()
        return True

    async def list_if_defined(self) -> list[Installed]:
        """Everything that is installed: nothing, where there is no inventory yet."""
        try:
            return [_installed(one) for one in (await self._client.list(PROVIDERS)).items]
        except NotFound:
            return []

    async def create(self, components: Components) -> None:
        """Write down that these components are installed, in this version."""
        await apply_one(self._client, components.inventory_object())

    async def delete(self, installed: Installed) -> None:
        """Forget about a provider."""
        metadata = {"name": installed.name, "namespace": installed.namespace}
        await delete_one(
            self._client, {"apiVersion": PROVIDERS.api_version, "kind": PROVIDERS.kind, "metadata": metadata}
        )

    async def check_contract(
        self, *, contract: str = CONTRACT, also: Collection[str] = (), may_be_absent: bool = False
    ) -> None:
        """Refuse a management cluster whose Cluster API stores its objects in the version of another contract."""
        found = await self.stored_contract()
        if (found is None and may_be_absent) or found == contract or found in also:
            return
        if found is None:
            raise ClusterctlError(
                f"there is no Cluster API in this cluster (no CustomResourceDefinition {CLUSTERS}): run init first"
            )
        raise ClusterctlError(
            f"this management cluster speaks the contract {found!r} (the stored version of {CLUSTERS}), and only "
            f"{contract!r} is understood here: use the clusterctl of its release to bring it to a newer one"
        )

    async def stored_contract(self) -> str | None:
        """The version in which Clusters are stored, None where Cluster API is not installed."""
        definition = await self._definition(CLUSTERS, tries=1)  # the first thing that is asked of a cluster
        if definition is None:
            return None
        versions = at(definition, "spec", "versions") or []
        return next((str(one["name"]) for one in versions if one.get("storage")), "")

    async def _definition(self, name: str, *, tries: int = _READ_TRIES) -> Object | None:
        async def deed() -> Object | None:
            try:
                return await self._client.get(DEFINITIONS, name)
            except NotFound:
                return None

        return await persistently(deed, what="the management cluster cannot be read", tries=tries)

    async def _established(self) -> None:
        def look(now: Object | None) -> bool:
            return has_condition(now, "Established")

        if not await wait_for(
            self._client, DEFINITIONS, DEFINITION_NAME, namespace=None, look=look, seconds=_ESTABLISHED_WITHIN
        ):
            raise ClusterctlError(
                f"the server does not serve the inventory: CustomResourceDefinition {DEFINITION_NAME} is not "
                f"established after {_ESTABLISHED_WITHIN:g} seconds"
            )

    async def _check_server(self, environ: Mapping[str, str]) -> None:
        oldest = _OLDEST_WITH_TOPOLOGY if environ.get("CLUSTER_TOPOLOGY") in _TRUE else _OLDEST_SERVER
        version = await self._client.version()
        match = re.match(r"v?(\d+)\.(\d+)", version)
        if match is None or (int(match[1]), int(match[2])) < oldest:
            least = ".".join(map(str, oldest))
            raise ClusterctlError(
                f"the server of the management cluster is {version}, and v{least}.0 is the oldest that will do"
            )

    # Last, because below it `list` is no longer the type.
    async def list(self) -> list[Installed]:
        """Everything that is installed, in the order of namespaces and names. An error where no inventory can be."""

        async def deed() -> Sequence[Object]:
            return (await self._client.list(PROVIDERS)).items

        found = await persistently(deed, what="the inventory cannot be read", tries=_READ_TRIES)
        return [_installed(one) for one in found]


def _installed(obj: Object) -> Installed:
    type_ = text_at(obj, "type")
    if type_ not in {known.value for known in ProviderType}:
        raise ClusterctlError(
            f"Provider {name_of(obj)} in namespace {namespace_of(obj)} has the type {type_!r}, which is none that is "
            f"known here ({', '.join(ProviderType)}): correct or delete it"
        )
    return Installed(
        name=name_of(obj),
        provider_name=text_at(obj, "providerName"),
        type=ProviderType(type_),
        version=text_at(obj, "version"),
        namespace=namespace_of(obj),
        watched_namespace=text_at(obj, "watchedNamespace"),
    )


def of_type(installed: Iterable[Installed], type_: ProviderType) -> list[Installed]:
    return [one for one in installed if one.type is type_]


def instances_of(installed: Iterable[Installed], name: str, type_: ProviderType) -> list[Installed]:
    return [one for one in installed if (one.provider_name, one.type) == (name, type_)]


def default_name(installed: Iterable[Installed], type_: ProviderType) -> str:
    """The provider of this type, if there is exactly one (however many instances it has); else empty."""
    return _only(one.provider_name for one in of_type(installed, type_))


def default_version(installed: Iterable[Installed], name: str, type_: ProviderType) -> str:
    """The version of a provider, if all of its instances have the same; else empty."""
    return _only(one.version for one in instances_of(installed, name, type_))


def default_namespace(installed: Iterable[Installed], name: str, type_: ProviderType) -> str:
    """The namespace of a provider, if it is in one only; else empty."""
    return _only(one.namespace for one in instances_of(installed, name, type_))


def check_single_instances(installed: Iterable[Installed]) -> None:
    """Refuse a management cluster with two instances of one provider: only v1alpha3 knew what to do with them."""
    found: dict[str, list[str]] = {}
    for one in installed:
        found.setdefault(one.label, []).append(f"{one.namespace}/{one.name}")
    several = [f"{label} ({', '.join(names)})" for label, names in sorted(found.items()) if len(names) > 1]
    if several:
        raise ClusterctlError(f"there is more than one instance of {'; '.join(several)}: only one of each is supported")


def _only(values: Iterable[str]) -> str:
    found = set(values)
    return found.pop() if len(found) == 1 else ""
