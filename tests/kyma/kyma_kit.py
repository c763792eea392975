"""A platform in tests: a provider whose clusters are the server itself, those who prepare access, and Kyma's face."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import datetime
import uuid
from dataclasses import dataclass
from typing import Annotated

from mooring.access.admission import GROUP
from mooring.access.controllers import add_access
from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.conditions import found
from mooring.api.kinds import Api, Kind
from mooring.api.kyma import REVOKE_ANNOTATION, ROTATE_ANNOTATION, KubeconfigRequest
from mooring.api.schema import about
from mooring.entry.entrants import ENTRANT_LABEL
from mooring.entry.resources import PARTS
from mooring.kube import (
    Client,
    Connection,
    Impersonation,
    MergePatch,
    connection_from_untrusted,
    key_of,
    typed,
    untyped,
)
from mooring.kube.errors import Forbidden, NotFound, Unauthorized
from mooring.kyma.controllers import add_kyma
from mooring.providers.sdk import ConfigSpec, ConfigStatus, Offer, Provider, State, add_provider
from mooring.runtime import Manager, SystemClock
from mooring.testing.builders import NAMESPACES, SECRETS, an_object, namespace_object
from mooring.testing.managers import at_work, doomed, until

PODS = untyped(plural="pods", kind="Pod")
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
PROFILE = "test.pier.plain"


class PierConfig(Kind, frozen=True, kw_only=True):
    """What piers can be had."""

    API = Api(group="pier.mooring.dev", kind="PierConfig", plural="pierconfigs", namespaced=False, has_status=True)
    spec: ConfigSpec
    status: Annotated[ConfigStatus | None, about()] = None


class PierProvider(Provider[PierConfig]):
    """Every cluster of it is the server that it runs on."""

    config = PierConfig

    async def profiles(self, config):
        return [Offer(versions=["1.33.3"])]

    async def ensure(self, order):
        return State(ready=True, version=order.version, api_server=self.platform.connection.server)

    async def delete(self, order):
        return True

    async def admin_access(self, order):
        return self.platform.connection


class Ahead(SystemClock):
    """A clock that goes so many seconds ahead."""

    def __init__(self, seconds):
        self._ahead = datetime.timedelta(seconds=seconds)

    def now(self):
        return super().now() + self._ahead


@dataclass
class World:
    """Objects on a server, by short words."""

    kube: Client
    namespace: str

    # -- who is at work -----------------------------------------------------------------------------------------

    def manager(self, *, connection=None, clock=None):
        return Manager(connection or self.kube.connection, identity=uuid.uuid4().hex, clock=clock)

    @contextlib.asynccontextmanager
    async def granting(self, clock=None):
        """All but the face."""
        async with self.manager(clock=clock) as manager:
            add_provider(manager, PierProvider(), name="pier", environment="test")
            add_access(manager)
            async with at_work(manager):
                yield manager

    @contextlib.asynccontextmanager
    async def face(self, clock=None, connection=None):
        async with self.manager(clock=clock, connection=connection) as manager:
            add_kyma(manager)
            async with at_work(manager):
                yield manager

    def doomed_face(self, connection):
        manager = self.manager(connection=as_mooring(connection))
        add_kyma(manager)
        return doomed(manager)

    @contextlib.asynccontextmanager
    async def everybody(self, clock=None):
        async with self.granting(clock) as granting, self.face(clock):
            yield granting

    # -- filling it ---------------------------------------------------------------------------------------------

    async def create(self, kind, name, *, namespace=None, metadata=None, **parts):
        body = an_object(kind, name, (namespace or self.namespace) if kind.API.namespaced else None, **parts)
        body["metadata"] |= metadata or {}
        return await self.kube.create(typed(kind), body)

    async def cluster(self, name="one", namespace=None):
        spec = {"profile": PROFILE, "tenancy": "Exclusive", "purposes": ["test"]}
        return await self.create(Cluster, name, namespace=namespace, spec=spec)

    async def ask(self, name="mine", *, annotations=None, **spec):
        """A request, which may list pods unless told otherwise."""
        spec = {"cluster": "one", **spec}
        if not spec.keys() & {"clusterRole", "role"}:
            spec["clusterRole"] = {"rules": [READ_PODS]}
        return await self.create(KubeconfigRequest, name, metadata={"annotations": annotations or {}}, spec=spec)

    async def change(self, name="mine", **spec):
        return await self.patch(KubeconfigRequest, name, {"spec": spec})

    async def say(self, name="mine", *, rotate=None, revoke=None):
        said = {ROTATE_ANNOTATION: rotate, REVOKE_ANNOTATION: revoke}
        annotations = {annotation: value for annotation, value in said.items() if value is not None}
        return await self.patch(KubeconfigRequest, name, {"metadata": {"annotations": annotations}})

    async def patch(self, kind, name, body, *, namespace=None, subresource=None):
        where = (namespace or self.namespace) if kind.API.namespaced else None
        return await self.kube.patch(typed(kind), name, MergePatch(body), namespace=where, subresource=subresource)

    async def delete(self, kind, name):
        await self.kube.delete(typed(kind), name, namespace=self.namespace if kind.API.namespaced else None)

    async def secret(self, name):
        try:
            return await self.kube.get(SECRETS, name, namespace=self.namespace)
        except NotFound:
            return None

    # -- looking at it ------------------------------------------------------------------------------------------

    async def get(self, kind, name):
        try:
            return await self.kube.get(typed(kind), name, namespace=self.namespace if kind.API.namespaced else None)
        except NotFound:
            return None

    async def becomes(self, wanted, what, *, name="mine", kind=KubeconfigRequest):
        async def there():
            thing = await self.get(kind, name)
            return thing if thing is not None and wanted(thing) else None

        async def seen():
            return f"{name} {what}; it is {await self.get(kind, name)}"

        return await until(there, seen)

    async def issued(self, name="mine", *, other_than="", kind=KubeconfigRequest):
        """The request, once there is a kubeconfig for what it asks now, other than this one."""

        def is_issued(one):
            current = is_ready(one) and one.status.observed_generation == one.metadata.generation
            return current and (one.status.kubeconfig or "elsewhere") != other_than

        return await self.becomes(is_issued, "is issued", name=name, kind=kind)

    async def standing(self, reason, name="mine"):
        def stands(one):
            ready = condition(one)
            return ready is not None and ready.reason == reason and ready.observed_generation == one.metadata.generation

        return await self.becomes(stands, f"is {reason}", name=name)

    async def access(self, name="mine"):
        return await self.get(AccessRequest, f"kyma-{name}")

    async def gone(self, kind, name):
        async def is_gone():
            return await self.get(kind, name) is None

        await until(is_gone, f"{kind.API.kind} {name} is gone")

    async def parts(self, access):
        """What is in the cluster for an access request, by kind."""
        selector, found_parts = f"{ENTRANT_LABEL}={access.metadata.uid}", {}
        for kind, resource in (*PARTS.items(), ("Secret", SECRETS)):
            listed = (await self.kube.list(resource, label_selector=selector)).items
            names = [key_of(one) for one in listed if one["metadata"].get("namespace") != self.namespace]
            found_parts |= {kind: names} if names else {}
        return found_parts

    async def clear(self):
        """Leave nothing behind, whoever holds it."""
        for kind in (KubeconfigRequest, AccessRequest, Cluster, PierConfig, ClusterProfile):
            resource = typed(kind)
            while left := (await self.kube.list(resource)).items:
                for one in left:
                    key = key_of(one)
                    with contextlib.suppress(NotFound):
                        free = MergePatch({"metadata": {"finalizers": None}})
                        await self.kube.patch(resource, key.name, free, namespace=key.namespace or None)
                        await self.kube.delete(resource, key.name, namespace=key.namespace or None)
        for resource in (*PARTS.values(), SECRETS):
            for one in (await self.kube.list(resource, label_selector=ENTRANT_LABEL)).items:
                key = key_of(one)
                with contextlib.suppress(NotFound):
                    await self.kube.delete(resource, key.name, namespace=key.namespace or None)


async def new_world(kube):
    world = World(kube, f"team-{uuid.uuid4().hex[:8]}")
    await kube.create(NAMESPACES, namespace_object(world.namespace))
    await world.create(PierConfig, "plain", spec={"providerRef": {"name": "pier"}})
    await world.cluster()
    return world


def as_mooring(connection):
    """With every right, and as one of those whom the admission policies of other tests on this server let pass."""
    who = Impersonation(user="mooring", groups=(GROUP, "system:masters"))
    return dataclasses.replace(connection, impersonation=who)


def condition(thing, kind="Ready"):
    return None if thing.status is None else found(thing.status.conditions, kind)


def is_ready(thing):
    ready = condition(thing)
    return ready is not None and ready.status == "True"


def entry(encoded) -> Connection:
    """The way in that a kubeconfig in base64 describes."""
    return connection_from_untrusted(base64.b64decode(encoded))


async def may(connection, resource, *, namespace=None):
    """Whether the holder may list such things: True, False, or None if it is not let in at all."""
    async with Client(connection) as client:
        try:
            await client.list(resource, namespace=namespace, page=1)
        except Forbidden:
            return False
        except Unauthorized:
            return None
        return True


async def works(encoded, resource=PODS, *, namespace=None):
    """Until the holder of this kubeconfig may list such things: the cluster may hear of a new role a moment later."""
    connection = entry(encoded)

    async def is_let_in():
        return await may(connection, resource, namespace=namespace)

    await until(is_let_in, f"the kubeconfig lets its holder list {resource.plural}")
    return connection


async def refused(connection):
    """Until the cluster does not know the holder any more."""

    async def is_refused():
        return await may(connection, PODS) is None

    await until(is_refused, "the token is refused")
