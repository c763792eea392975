"""Access in tests: clusters of the workshop that lead into a real one, and requests that are prepared by hand."""

from __future__ import annotations

import base64
import contextlib
import uuid
from dataclasses import dataclass, replace

from provider_kit import Works, WorkshopProvider, World, condition

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.entry.entrants import ACCOUNTS, ENTRANT_LABEL
from mooring.entry.resources import PARTS, SECRETS
from mooring.kube import Client, Connection, MergePatch, connection_from_untrusted, typed
from mooring.kube.errors import Forbidden, NotFound, Unauthorized
from mooring.providers.sdk.controllers import add_provider
from mooring.runtime import Manager
from mooring.testing.managers import at_work, doomed, until

PROFILE = "test.workshop.house"
LABELS = {PROVIDER_LABEL: "workshop", PROFILE_LABEL: PROFILE}
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}


class Gatehouse(WorkshopProvider):
    """A workshop whose clusters are all the same, real one."""

    def __init__(self, target: Connection, works: Works | None = None):
        super().__init__(works)
        self.target = target

    async def ensure(self, order):
        return replace(await super().ensure(order), api_server=self.target.server)

    async def admin_access(self, order):
        return self.target


@dataclass
class Gate:
    """A platform with a cluster that is ready, and the real cluster behind it."""

    world: World
    target: Client

    def manager(self, *, works=None, clock=None, connection=None):
        return Manager(connection or self.world.connection, identity=uuid.uuid4().hex, clock=clock)

    def add(self, manager, works=None):
        add_provider(manager, Gatehouse(self.target.connection, works), name="workshop", environment="test")
        return manager

    @contextlib.asynccontextmanager
    async def granting(self, *, works=None, clock=None):
        async with self.manager(clock=clock) as manager, at_work(self.add(manager, works)):
            yield manager

    def killed_later(self, *, works=None, connection=None):
        return doomed(self.add(self.manager(connection=connection), works))

    async def ready_cluster(self, name="one"):
        await self.world.config()
        await self.world.cluster(name)

    async def ask(self, name="mine", *, labels=LABELS, cluster="one", annotations=None, **spec):
        """A request as the preparation leaves it."""
        spec = {"clusterRef": {"name": cluster, "namespace": self.world.namespace}, **spec}
        if "oidc" not in spec:
            spec = {"token": {"permissions": [{"rules": [READ_PODS]}]}, **spec}
        metadata = {"labels": labels, "annotations": annotations or {}}
        return await self.world.create(AccessRequest, name, metadata=metadata, spec=spec)

    async def granted(self, name="mine"):
        def is_granted(one):
            ready, current = condition(one), one.metadata.generation
            return ready is not None and ready.status == "True" and ready.observed_generation == current

        return await self.world.becomes(AccessRequest, name, is_granted, "is granted")

    async def standing(self, name, reason):
        return await self.world.standing(name, reason, kind=AccessRequest)

    async def secret(self, name="mine"):
        try:
            return await self.world.kube.get(SECRETS, f"{name}.kubeconfig", namespace=self.world.namespace)
        except NotFound:
            return None

    async def entry(self, name="mine") -> Connection:
        secret = await self.secret(name)
        assert secret is not None
        return connection_from_untrusted(base64.b64decode(secret["data"]["kubeconfig"]))

    async def parts(self, request):
        """What is in the cluster for a request, by kind."""
        selector = f"{ENTRANT_LABEL}={request.metadata.uid}"
        found = {}
        for kind, resource in (*PARTS.items(), ("Secret", SECRETS)):
            listed = (await self.target.list(resource, label_selector=selector)).items
            found |= {kind: [one["metadata"]["name"] for one in listed]} if listed else {}
        return found

    async def annotate(self, name, value):
        body = {"metadata": {"annotations": {"openmcp.cloud/operation": value}}}
        namespace = self.world.namespace
        await self.world.kube.patch(typed(AccessRequest), name, MergePatch(body), namespace=namespace)

    async def clear(self):
        """Whatever a test has left: requests first, which hold things in the cluster."""
        requests = typed(AccessRequest)
        for one in (await self.world.kube.list(requests)).items:
            namespace = one.metadata.namespace
            with contextlib.suppress(NotFound):
                free = MergePatch({"metadata": {"finalizers": None}})
                await self.world.kube.patch(requests, one.metadata.name, free, namespace=namespace)
                await self.world.kube.delete(requests, one.metadata.name, namespace=namespace)
            selector = f"{ENTRANT_LABEL}={one.metadata.uid}"
            for resource in (*PARTS.values(), SECRETS):
                for part in (await self.target.list(resource, label_selector=selector)).items:
                    where = part["metadata"].get("namespace")
                    with contextlib.suppress(NotFound):
                        await self.target.delete(resource, part["metadata"]["name"], namespace=where)


async def may(connection: Connection, resource, *, namespace=None):
    """Whether the holder of this may list such things: True, False, or None if it is not let in at all."""
    async with Client(connection) as client:
        try:
            await client.list(resource, namespace=namespace, page=1)
        except Forbidden:
            return False
        except Unauthorized:
            return None
        return True


async def refused(connection: Connection, resource):
    """Until the cluster does not know the holder any more."""

    async def is_refused():
        return await may(connection, resource) is None

    await until(is_refused, "the token is refused")


__all__ = ["ACCOUNTS", "Cluster"]
