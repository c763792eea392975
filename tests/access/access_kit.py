"""What the tests of preparation share: a world to fill, preparers that run in it, and things to wait for."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

from mooring.access.controllers import add_access
from mooring.api.access import AccessRequest
from mooring.api.claims import Claim, with_claims
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.conditions import found
from mooring.api.kinds import CLUSTERS_GROUP, Metadata, as_document
from mooring.api.marks import MANAGED_BY_LABEL, PROFILE_LABEL, PROVIDER_LABEL
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.kube import Client, Connection, MergePatch, typed
from mooring.kube.errors import NotFound
from mooring.runtime import Manager
from mooring.testing.builders import NAMESPACES, an_object, namespace_object
from mooring.testing.managers import at_work, until

TOKEN = {"token": {}}
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def unique(word):
    return f"{word}-{uuid.uuid4().hex[:8]}"


@dataclass
class World:
    """Objects on a server, by short words. Names of what is in no namespace are unique to the world."""

    kube: Client
    namespace: str
    gold: str  # a profile of a provider that is made with our SDK
    iron: str  # a profile of one of upstream's
    provider: str

    @property
    def connection(self) -> Connection:
        return self.kube.connection

    # -- filling it ---------------------------------------------------------------------------------------------

    async def create(self, kind, name, *, namespace=None, metadata=None, **parts):
        body = an_object(kind, name, (namespace or self.namespace) if kind.API.namespaced else None, **parts)
        body["metadata"] |= metadata or {}
        return await self.kube.create(typed(kind), body)

    async def profile(self, name, *, provider=None, ours=True, **spec):
        spec = {
            "providerRef": {"name": provider or self.provider},
            "providerConfigRef": {"name": "plain"},
            "supportedVersions": [],
            **spec,
        }
        labels = {MANAGED_BY_LABEL: "mooring"} if ours else {}
        return await self.create(ClusterProfile, name, metadata={"labels": labels}, spec=spec)

    async def cluster(self, name="home", *, namespace=None, profile=None, claims=(), tenancy="Shared", finalizers=()):
        metadata = as_document(Cluster(metadata=with_claims(Metadata(name=name), claims), spec=None))["metadata"]
        metadata["finalizers"] = [*metadata.get("finalizers", ()), *finalizers]
        spec = {"profile": profile or self.gold, "tenancy": tenancy, "purposes": ["workload"]}
        return await self.create(Cluster, name, namespace=namespace, metadata=metadata, spec=spec)

    async def request(self, name="team", **spec):
        return await self.create(ClusterRequest, name, spec=spec or {"purpose": "workload"})

    async def grant(self, request, cluster, *, prefix="abc-"):
        """Answer a ClusterRequest, as scheduling does."""
        own, reference = request.metadata, {"name": cluster.metadata.name, "namespace": cluster.metadata.namespace}
        owner = {"apiVersion": request.API.api_version, "kind": request.API.kind, "name": own.name, "uid": own.uid}
        metadata = {"ownerReferences": [owner]}
        spec = {"clusterRef": reference, "prefix": prefix}
        return await self.create(ClusterRequestGrant, own.name, namespace=own.namespace, metadata=metadata, spec=spec)

    async def answer(self, name, phase, **fields):
        """Say in the status of a ClusterRequest how it stands."""
        status = {"observedGeneration": 1, "phase": phase, **fields}
        return await self.patch(ClusterRequest, name, {"status": status}, subresource="status")

    async def access(self, name="entry", *, namespace=None, metadata=None, labels=None, **spec):
        metadata = {**(metadata or {}), "labels": labels or {}}
        spec = {"clusterRef": {"name": "home"}, **TOKEN} if not spec else {**TOKEN, **spec}
        return await self.create(AccessRequest, name, namespace=namespace, metadata=metadata, spec=spec)

    def labels(self, profile=None, provider=None):
        return {PROVIDER_LABEL: provider or self.provider, PROFILE_LABEL: profile or self.gold}

    async def granted(self, name="entry", phase="Granted", *, generation=None):
        """Play the provider: answer an access request."""
        there = await self.get(AccessRequest, name)
        status = {"observedGeneration": generation or there.metadata.generation, "phase": phase, "reason": "Told"}
        status["secretRef"] = {"name": f"{name}.kubeconfig"}
        return await self.patch(AccessRequest, name, {"status": status}, subresource="status")

    async def patch(self, kind, name, body, *, namespace=None, subresource=None):
        where = (namespace or self.namespace) if kind.API.namespaced else None
        return await self.kube.patch(typed(kind), name, MergePatch(body), namespace=where, subresource=subresource)

    async def delete(self, kind, name, namespace=None):
        where = (namespace or self.namespace) if kind.API.namespaced else None
        with contextlib.suppress(NotFound):
            await self.kube.delete(typed(kind), name, namespace=where)

    # -- looking at it ------------------------------------------------------------------------------------------

    async def get(self, kind, name="entry", namespace=None):
        where = (namespace or self.namespace) if kind.API.namespaced else None
        try:
            return await self.kube.get(typed(kind), name, namespace=where)
        except NotFound:
            return None

    async def until(self, is_so, what, name="entry", namespace=None):
        """The access request, once it is so."""

        async def there():
            request = await self.get(AccessRequest, name, namespace)
            return request if request is not None and is_so(request) else None

        async def seen():
            return f"{name} {what}; it is {await self.get(AccessRequest, name, namespace)}"

        return await until(there, seen)

    async def prepared(self, name="entry", *, profile=None, namespace=None, cluster="home"):
        """The access request, once both labels and the reference are there."""
        wanted = self.labels(profile)

        def is_so(request):
            reference = request.spec.cluster_ref
            return (
                wanted.items() <= dict(request.metadata.labels).items()
                and reference is not None
                and (reference.name, bool(reference.namespace)) == (cluster, True)
            )

        return await self.until(is_so, "is prepared", name, namespace)

    async def stands(self, phase, reason=None, name="entry", *, namespace=None, current=True):
        """The access request, once its status says so of its present generation."""

        def is_so(request):
            status = request.status
            return (
                status is not None
                and status.phase == phase
                and reason in (None, status.reason)
                and (not current or status.observed_generation == request.metadata.generation)
            )

        return await self.until(is_so, f"is {phase} ({reason})", name, namespace)

    async def gone(self, kind, name="entry"):
        async def is_gone():
            return await self.get(kind, name) is None

        await until(is_gone, f"{name} is gone")


def claim(request, prefix="abc-"):
    own = request.metadata
    return Claim(uid=own.uid, namespace=own.namespace, name=own.name, prefix=prefix)


def refusal(request):
    """What the condition says that keeps a request from being answered."""
    return found(request.status.conditions, "Ready")


def writes(proxy):
    """What was written of our kinds through a proxy, in short."""
    done = [one for one in proxy.requests if one.is_write and one.group == CLUSTERS_GROUP]
    return [" ".join(filter(None, (one.verb, one.resource, one.subresource))) for one in done]


@contextlib.asynccontextmanager
async def preparing(connection, clock=None) -> AsyncIterator[Manager]:
    async with Manager(connection, identity=uuid.uuid4().hex, clock=clock) as manager:
        add_access(manager)
        async with at_work(manager):
            yield manager


def preparer(connection) -> Manager:
    """One that is not at work yet, to be dropped in the middle of what it does."""
    manager = Manager(connection, identity=uuid.uuid4().hex)
    add_access(manager)
    return manager


@contextlib.asynccontextmanager
async def new_world(kube) -> AsyncIterator[World]:
    world = World(kube, unique("test"), unique("gold"), unique("iron"), unique("maker"))
    await kube.create(NAMESPACES, namespace_object(world.namespace))
    await world.profile(world.gold)
    await world.profile(world.iron, ours=False)
    try:
        yield world
    finally:
        for request in (await kube.list(typed(AccessRequest), namespace=world.namespace)).items:
            await world.delete(AccessRequest, request.metadata.name)
            with contextlib.suppress(NotFound):
                await world.patch(AccessRequest, request.metadata.name, {"metadata": {"finalizers": None}})
        for profile in (await kube.list(typed(ClusterProfile))).items:
            if profile.spec.provider_ref.name == world.provider:
                await world.delete(ClusterProfile, profile.metadata.name)
        await kube.delete(NAMESPACES, world.namespace)
