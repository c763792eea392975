"""What the tests of scheduling share: a world to fill, schedulers that run in it, and things to wait for."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

from mooring.api.access import AccessRequest
from mooring.api.claims import claims_on
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.conditions import found
from mooring.api.marks import REQUEST_FINALIZER
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.kube import Client, Connection, MergePatch, ObjectKey, key_of, typed
from mooring.kube.errors import NotFound
from mooring.runtime import Manager
from mooring.runtime.recorder import EVENTS
from mooring.scheduling.configuration import DEFAULT_CONFIGURATION
from mooring.scheduling.controllers import add_scheduling
from mooring.testing.builders import NAMESPACES, an_object, namespace_object
from mooring.testing.managers import at_work, until

HOME = "mooring-system"

_FILLED = (ClusterRequest, ClusterRequestGrant, AccessRequest, Cluster)
_RULES = (Purpose, ClusterProfile, TraitEquivalence, ClusterProvider)


@dataclass
class World:
    """Objects on a server, by short words."""

    kube: Client
    namespace: str

    @property
    def connection(self) -> Connection:
        return self.kube.connection

    # -- filling it ---------------------------------------------------------------------------------------------

    async def create(self, kind, name, *, namespace=None, metadata=None, **parts):
        body = an_object(kind, name, (namespace or self.namespace) if kind.API.namespaced else None, **parts)
        body["metadata"] |= metadata or {}
        return await self.kube.create(typed(kind), body)

    async def purpose(self, name, **spec):
        return await self.create(Purpose, name, spec=spec or {"dedicated": False})

    async def profile(self, name="gold", *, provider="maker", versions=("1.33.3",), traits=(), **spec):
        return await self.create(
            ClusterProfile,
            name,
            spec={
                "providerRef": {"name": provider},
                "providerConfigRef": {"name": name},
                "supportedVersions": [one if isinstance(one, dict) else {"version": one} for one in versions],
                "supportedTraits": [{"trait": trait} for trait in traits],
                **spec,
            },
        )

    async def request(self, name, *, metadata=None, namespace=None, **spec):
        return await self.create(ClusterRequest, name, namespace=namespace, metadata=metadata, spec=spec)

    async def cluster(self, name, *, metadata=None, namespace=None, **spec):
        spec = {"profile": "gold", "tenancy": "Shared", "purposes": ["workload"], **spec}
        return await self.create(Cluster, name, namespace=namespace, metadata=metadata, spec=spec)

    # -- looking at it ------------------------------------------------------------------------------------------

    async def get(self, kind, name, namespace=None):
        where = (namespace or self.namespace) if kind.API.namespaced else None
        try:
            return await self.kube.get(typed(kind), name, namespace=where)
        except NotFound:
            return None

    async def all(self, kind):
        return list((await self.kube.list(typed(kind))).items)

    async def phase(self, name, namespace=None):
        request = await self.get(ClusterRequest, name, namespace)
        return "" if request is None or request.status is None else request.status.phase

    async def reaches(self, name, phase, *, reason=None, namespace=None):
        """The request, once it has got to a phase (and a reason)."""

        async def there():
            request = await self.get(ClusterRequest, name, namespace)
            status = None if request is None else request.status
            if status is not None and status.phase == phase and reason in (None, status.reason):
                return request
            return None

        async def seen():
            request = await self.get(ClusterRequest, name, namespace)
            return f"{name} is {phase} ({reason}); it is {request.status if request else 'gone'}"

        return await until(there, seen)

    async def granted(self, name, namespace=None):
        """The request and its cluster, once it is granted."""
        request = await self.reaches(name, "Granted", namespace=namespace)
        reference = request.status.cluster
        return request, await self.get(Cluster, reference.name, reference.namespace)

    async def gone(self, kind, name, namespace=None):
        async def is_gone():
            return await self.get(kind, name, namespace) is None

        async def seen():
            return f"{kind.__name__} {name} is gone; it is {await self.get(kind, name, namespace)}"

        await until(is_gone, seen)

    async def delete(self, kind, name, namespace=None):
        where = (namespace or self.namespace) if kind.API.namespaced else None
        with contextlib.suppress(NotFound):
            await self.kube.delete(typed(kind), name, namespace=where)

    async def patch(self, kind, name, body, *, namespace=None, subresource=None):
        where = (namespace or self.namespace) if kind.API.namespaced else None
        return await self.kube.patch(typed(kind), name, MergePatch(body), namespace=where, subresource=subresource)

    async def strip(self, kind, name, *, namespace=None):
        """Take all finalizers away, as somebody with rights and no patience does."""
        return await self.patch(kind, name, {"metadata": {"finalizers": None}}, namespace=namespace)

    async def remove_by_force(self, kind, name, *, namespace=None):
        """The object is gone afterwards, whoever held it. One that is made anew meanwhile is another."""
        before = await self.get(kind, name, namespace)
        await self.delete(kind, name, namespace)

        async def is_gone():
            there = await self.get(kind, name, namespace)
            if there is None or there.metadata.uid != before.metadata.uid:
                return True
            with contextlib.suppress(NotFound):
                await self.strip(kind, name, namespace=namespace)
            return False

        await until(is_gone, f"{name} is gone")

    async def told(self, regarding, reason):
        """The event with this reason about an object, once it is written."""
        where = regarding.metadata.namespace

        async def there():
            events = (await self.kube.list(EVENTS, namespace=where)).items
            found = [one for one in events if one["reason"] == reason]
            return next((one for one in found if one["regarding"]["uid"] == regarding.metadata.uid), None)

        return await until(there, f"an event {reason} about {regarding.metadata.name} is written")

    async def set_ready(self, name, status="True", *, namespace=None, reason="Told", message="as the test says"):
        """Play the provider: say how a cluster is."""
        condition = {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        phase = "Ready" if status == "True" else "Progressing"
        body = {"status": {"observedGeneration": 1, "phase": phase, "conditions": [condition]}}
        return await self.patch(Cluster, name, body, namespace=namespace, subresource="status")

    async def assert_sound(self, *, seats=None):
        """What must hold whenever everything is quiet: requests, claims and Grants agree, and no seat is sold twice."""
        requests = {one.metadata.uid: one for one in await self.all(ClusterRequest)}
        grants = {key_of(one): one for one in await self.all(ClusterRequestGrant)}
        clusters = {key_of(one): one for one in await self.all(Cluster)}
        held: dict[str, list[ObjectKey]] = {}
        for key, cluster in clusters.items():
            claims = claims_on(cluster.metadata)
            if cluster.spec.tenancy == "Exclusive":
                assert len(claims) <= 1, f"{key} serves one request only: {claims}"
            elif seats:
                assert len(claims) <= seats, f"{key} is overbooked: {claims}"
            prefixes = [claim.prefix for claim in claims if claim.prefix]
            assert not any(a is not b and a.startswith(b) for a in prefixes for b in prefixes), prefixes
            for claim in claims:
                held.setdefault(claim.uid, []).append(key)
                assert claim.uid in requests, f"{key} is held by nobody: {claim}"
        for uid, request in requests.items():
            if request.status is None or request.status.phase != "Granted":
                assert uid not in held, f"{key_of(request)} is not granted and holds {held[uid]}"
                continue
            assert len(held.get(uid, [])) == 1, f"{key_of(request)} holds {held.get(uid)}"
            grant = grants.pop(key_of(request))
            home = ObjectKey(grant.spec.cluster_ref.namespace, grant.spec.cluster_ref.name)
            assert held[uid] == [home], f"{key_of(request)}: Grant {home}, claims {held[uid]}"
            reference = request.status.cluster
            assert ObjectKey(reference.namespace, reference.name) == home
            claim = next(one for one in claims_on(clusters[home].metadata) if one.uid == uid)
            assert claim.prefix == grant.spec.prefix
            assert REQUEST_FINALIZER in request.metadata.finalizers
        return clusters

    async def clear(self):
        """Leave nothing behind, whoever holds it."""
        for kind in (*_FILLED, *_RULES):
            resource = typed(kind)
            while left := (await self.kube.list(resource)).items:
                for one in left:
                    where = one.metadata.namespace or None
                    with contextlib.suppress(NotFound):
                        if one.metadata.finalizers:
                            free = MergePatch({"metadata": {"finalizers": None}})
                            await self.kube.patch(resource, one.metadata.name, free, namespace=where)
                        await self.kube.delete(resource, one.metadata.name, namespace=where)


async def new_world(client: Client) -> World:
    namespace = f"team-{uuid.uuid4().hex[:8]}"
    for name in (namespace, HOME):
        with contextlib.suppress(Exception):
            await client.create(NAMESPACES, namespace_object(name))
    return World(client, namespace)


@contextlib.asynccontextmanager
async def scheduling(connection, *, configuration=DEFAULT_CONFIGURATION, clock=None) -> AsyncIterator[Manager]:
    """A scheduler at work, and stopped in good order afterwards."""
    async with Manager(connection, identity=uuid.uuid4().hex, clock=clock) as manager:
        manager.configure = add_scheduling(manager, configuration, home=HOME)
        async with at_work(manager):
            yield manager


def condition(thing, kind):
    """A condition of an object; None if it has none of this type."""
    return None if thing.status is None else found(thing.status.conditions, kind)
