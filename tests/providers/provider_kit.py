"""What the tests of the SDK share: a provider whose every answer a test can choose, and a world to use it in."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from toy_provider import ToyConfig

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.conditions import found
from mooring.api.kinds import EMPTY, Api, Kind, Part
from mooring.api.schema import about
from mooring.kube import Client, MergePatch, key_of, typed
from mooring.kube.errors import NotFound
from mooring.providers.sdk import ConfigSpec, ConfigStatus, Offer, Provider, Refused, State, add_provider
from mooring.runtime import Manager
from mooring.runtime.recorder import EVENTS
from mooring.testing.builders import NAMESPACES, an_object, namespace_object, plain_resource_of
from mooring.testing.managers import doomed, until
from mooring.testing.providing import providing

GROUP = "workshop.mooring.dev"
FINALIZER, CONFIG_FINALIZER = f"{GROUP}/cluster", f"{GROUP}/providerconfig"
FOREIGN = "test.example/holds-it"


class WorkshopSpec(ConfigSpec, frozen=True, kw_only=True):
    versions: Annotated[tuple[str, ...], about("The versions that can be had.")] = ("1.33.3",)
    variants: Annotated[tuple[str, ...], about("One profile for each; none is one without a variant.")] = ()
    traits: Annotated[tuple[str, ...], about("What the clusters have.")] = ()
    most: Annotated[int, about("So many clusters, and no more.")] = 0
    words: Annotated[Mapping[str, str], about("The server does not look into it.", keeps_unknown=True)] = EMPTY


class WorkshopConfig(Kind, frozen=True, kw_only=True):
    """A configuration that tests write."""

    API = Api(group=GROUP, kind="WorkshopConfig", plural="workshopconfigs", namespaced=False, has_status=True)
    spec: WorkshopSpec
    status: Annotated[ConfigStatus | None, about()] = None


class ConfigView(Kind, frozen=True, kw_only=True):
    """How tests look at a configuration: also at one that its provider cannot read."""

    API = WorkshopConfig.API
    spec: Mapping[str, Any] = EMPTY
    status: ConfigStatus | None = None


class DetailSpec(Part, frozen=True, kw_only=True):
    colour: Annotated[str, about("Of the roof.")] = ""


class Detail(Kind, frozen=True, kw_only=True):
    """Further configuration of one cluster."""

    API = Api(group=GROUP, kind="Detail", plural="details", namespaced=True)
    spec: Annotated[DetailSpec, about()] = DetailSpec()


@dataclass
class Works:
    """The infrastructure: it outlives the providers that work on it. By name of the cluster, what a test wants."""

    made: dict[str, str] = field(default_factory=dict)  # by uid: the version
    names: dict[str, str] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)  # instead of the usual answer
    errors: dict[str, Exception] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)  # not answered before it is open
    lasting: set[str] = field(default_factory=set)  # cannot be deleted yet
    asked: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    orders: dict[str, object] = field(default_factory=dict)
    wake: object = None


class WorkshopProvider(Provider[WorkshopConfig]):
    """Makes clusters of nothing but an entry in a book."""

    config = WorkshopConfig
    cluster_config = Detail

    def __init__(self, works: Works | None = None):
        self.works = works or Works()

    async def profiles(self, config):
        spec = config.spec
        if "poison" in spec.traits:
            raise Refused("spec.traits: poison is not for sale.", reason="Poisoned")
        return [
            Offer(versions=spec.versions, variant=variant, traits=spec.traits, max_clusters=spec.most)
            for variant in spec.variants or ("",)
        ]

    async def ensure(self, order):
        works, name = self.works, order.key.name
        works.asked[name] += 1
        works.orders[name] = order
        if name in works.gates:
            await works.gates[name].wait()
        if name in works.errors:
            raise works.errors[name]
        fresh = order.uid not in works.made
        works.made[order.uid] = order.version
        works.names[order.uid] = name
        if name in works.states:
            return works.states[name]
        address = f"https://{name}.example:6443"
        if fresh:
            return State(ready=False, reason="Building", message="The walls are going up.", api_server=address)
        return State(ready=True, version=order.version, api_server=address, info="brick", note={"walls": 4})

    async def delete(self, order):
        works, name = self.works, order.key.name
        works.ended[name] += 1
        works.orders[name] = order
        if name in works.errors:
            raise works.errors[name]
        if name in works.lasting:
            return False
        works.made.pop(order.uid, None)
        return True

    async def admin_access(self, order):
        return self.platform.connection

    async def watch(self, wake):
        self.works.wake = wake
        await asyncio.Event().wait()


@dataclass
class World:
    """Objects on a server, by short words."""

    kube: Client
    namespace: str

    @property
    def connection(self):
        return self.kube.connection

    def _where(self, kind, namespace=None):
        return (namespace or self.namespace) if kind.API.namespaced else None

    async def create(self, kind, name, *, metadata=None, namespace=None, **parts):
        body = an_object(kind, name, self._where(kind, namespace), **parts)
        body["metadata"] |= metadata or {}
        return await self.kube.create(viewed(kind), body)

    async def config(self, name="house", *, provider="workshop", kind=WorkshopConfig, **spec):
        return await self.create(kind, name, spec={"providerRef": {"name": provider}, **spec})

    async def cluster(self, name="one", *, profile="test.workshop.house", metadata=None, namespace=None, **spec):
        spec = {"profile": profile, "tenancy": "Exclusive", "purposes": ["test"], **spec}
        return await self.create(Cluster, name, metadata=metadata, namespace=namespace, spec=spec)

    async def get(self, kind, name, namespace=None):
        try:
            return await self.kube.get(viewed(kind), name, namespace=self._where(kind, namespace))
        except NotFound:
            return None

    async def plain(self, kind, name, namespace=None):
        """With every field that the server has."""
        return await self.kube.get(plain_resource_of(kind), name, namespace=self._where(kind, namespace))

    async def all(self, kind):
        return list((await self.kube.list(viewed(kind))).items)

    async def patch(self, kind, name, body, *, subresource=None, namespace=None):
        where = self._where(kind, namespace)
        return await self.kube.patch(viewed(kind), name, MergePatch(body), namespace=where, subresource=subresource)

    async def delete(self, kind, name, namespace=None):
        await self.kube.delete(viewed(kind), name, namespace=self._where(kind, namespace))

    async def becomes(self, kind, name, wanted, what, *, namespace=None):
        """The object, once it is as wanted; ``wanted`` is not asked while it is not there."""

        async def there():
            thing = await self.get(kind, name, namespace)
            return thing if thing is not None and wanted(thing) else None

        async def seen():
            return f"{name} {what}; it is {await self.get(kind, name, namespace)}"

        return await until(there, seen)

    async def exists(self, kind, name):
        return await self.becomes(kind, name, lambda _: True, "is there")

    async def gone(self, kind, name, namespace=None):
        async def is_gone():
            return await self.get(kind, name, namespace) is None

        async def seen():
            return f"{name} is gone; it is {await self.get(kind, name, namespace)}"

        await until(is_gone, seen)

    async def ready(self, name="one", namespace=None):
        return await self.becomes(Cluster, name, is_ready, "is ready", namespace=namespace)

    async def standing(self, name, reason, *, kind=Cluster):
        """The object, once its condition Ready has this reason."""
        return await self.becomes(kind, name, lambda one: reason_of(one) == reason, f"is {reason}")

    async def told(self, regarding, reason):
        """The event with this reason about an object, once it is written."""

        async def there():
            events = (await self.kube.list(EVENTS)).items
            found = [one for one in events if one["reason"] == reason]
            return next((one for one in found if one["regarding"]["uid"] == regarding.metadata.uid), None)

        return await until(there, f"an event {reason} about {regarding.metadata.name} is written")

    async def clear(self):
        """Leave nothing behind, whoever holds it."""
        for kind in (Cluster, Detail, WorkshopConfig, ToyConfig, ClusterProfile):
            resource = plain_resource_of(kind)
            while left := (await self.kube.list(resource)).items:
                for one in left:
                    key = key_of(one)
                    with contextlib.suppress(NotFound):
                        if one["metadata"].get("finalizers"):
                            free = MergePatch({"metadata": {"finalizers": None}})
                            await self.kube.patch(resource, key.name, free, namespace=key.namespace or None)
                        await self.kube.delete(resource, key.name, namespace=key.namespace or None)


def viewed(kind):
    return replace(typed(kind), decode_as=ConfigView) if kind is WorkshopConfig else typed(kind)


async def new_world(client):
    namespace = f"team-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, namespace_object(namespace))
    return World(client, namespace)


def workshop(connection, works=None, *, name="workshop", environment="test"):
    """The provider at work."""
    return providing(connection, WorkshopProvider(works), name=name, environment=environment)


def doomed_workshop(connection, works=None):
    """The same, killed at the end of the block in the middle of what it does."""
    manager = Manager(connection, identity=uuid.uuid4().hex)
    add_provider(manager, WorkshopProvider(works), name="workshop", environment="test")
    return doomed(manager)


def condition(thing, kind="Ready"):
    return None if thing.status is None else found(thing.status.conditions, kind)


def reason_of(thing):
    ready = condition(thing)
    return "" if ready is None else ready.reason


def is_ready(cluster):
    """Ready as of what is asked for now."""
    ready = condition(cluster)
    current = cluster.metadata.generation
    return ready is not None and ready.status == "True" and ready.observed_generation == current
