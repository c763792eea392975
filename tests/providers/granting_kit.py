"""Access in tests: clusters of the workshop that lead into a real one, and requests that are prepared by hand."""

from __future__ import annotations

import base64
import contextlib
import datetime
import uuid
from dataclasses import dataclass, field, replace

import msgspec
from provider_kit import Works, WorkshopProvider, World, condition

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster
from mooring.api.marks import PROFILE_LABEL, PROVIDER_LABEL
from mooring.entry.entrants import ACCOUNTS, ENTRANT_LABEL
from mooring.entry.resources import PARTS, SECRETS
from mooring.kube import Client, Connection, MergePatch, connection_from_untrusted, typed, untyped
from mooring.kube.errors import Forbidden, NotFound, Unauthorized
from mooring.providers.sdk.controllers import add_provider
from mooring.providers.sdk.granting.records import GRANT_ANNOTATION, Record
from mooring.runtime import Manager
from mooring.testing.clock import SimulatedClock
from mooring.testing.managers import PATIENCE, at_work, doomed, until

PROFILE = "test.workshop.house"
LABELS = {PROVIDER_LABEL: "workshop", PROFILE_LABEL: PROFILE}
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
PODS = untyped(plural="pods", kind="Pod")


class Gatehouse(WorkshopProvider):
    """A workshop whose clusters are all the same, real one."""

    def __init__(self, gate: Gate):
        super().__init__(gate.works)
        self.gate = gate

    async def ensure(self, order):
        state = await super().ensure(order)
        if order.key.name in self.works.states:
            return state
        return replace(state, api_server=self.gate.address)

    async def admin_access(self, order):
        self.gate.entered += 1
        return self.gate.admin


class Lodge(Gatehouse):
    """One whose clusters belong to others."""

    keeps_clusters = True


class Porter(Gatehouse):
    """One that can have identity providers trusted: it notes down which, and a test says which do not answer."""

    async def oidc(self, order, issuers):
        self.gate.trusted = [one.url for one in issuers]
        return {one.name: f"{one.url} does not answer" for one in issuers if one.url in self.gate.silent}


@dataclass
class Gate:
    """A platform with a cluster that is ready, and the real cluster behind it."""

    world: World
    target: Client
    works: Works = field(default_factory=Works)
    proxy: object = None  # between the provider and the cluster, if there is one
    provider: type = Gatehouse
    trusted: list[str] = field(default_factory=list)  # issuers, as a porter was told last
    silent: set[str] = field(default_factory=set)
    entered: int = 0  # how often somebody asked for the way in

    @property
    def address(self):
        return self.target.connection.server

    @property
    def admin(self):
        """How the provider enters; entrants go straight."""
        real = self.target.connection
        return real if self.proxy is None else replace(self.proxy.connection, ca=real.ca)

    def manager(self, *, clock=None, connection=None):
        return Manager(connection or self.world.connection, identity=uuid.uuid4().hex, clock=clock)

    def add(self, manager):
        self.works.granting = add_provider(manager, self.provider(self), name="workshop", environment="test")
        return manager

    @contextlib.asynccontextmanager
    async def granting(self, *, clock=None):
        async with self.manager(clock=clock) as manager, at_work(self.add(manager)):
            yield manager

    def killed_later(self, *, connection=None, clock=None):
        return doomed(self.add(self.manager(connection=connection, clock=clock)))

    async def sweep(self):
        """The look that is taken now and then."""
        await self.works.granting.sweeper.sweep()

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
        return await self.world.becomes(AccessRequest, name, is_granted, "is granted")

    async def standing(self, name, reason):
        return await self.world.standing(name, reason, kind=AccessRequest)

    async def secret(self, name="mine"):
        try:
            return await self.world.kube.get(SECRETS, f"{name}.kubeconfig", namespace=self.world.namespace)
        except NotFound:
            return None

    async def record(self, name="mine") -> Record | None:
        secret = await self.secret(name)
        noted = {} if secret is None else secret["metadata"].get("annotations") or {}
        try:
            return msgspec.json.decode(noted.get(GRANT_ANNOTATION, ""), type=Record)
        except msgspec.MsgspecError:
            return None

    async def recorded(self, wanted, what, name="mine") -> Record:
        """The record, once it is as wanted."""

        async def there():
            record = await self.record(name)
            return record if record is not None and wanted(record) else None

        async def seen():
            return f"the record of {name} {what}; it is {await self.record(name)}"

        return await until(there, seen)

    async def entry(self, name="mine") -> Connection:
        secret = await self.secret(name)
        assert secret is not None
        return connection_from_untrusted(base64.b64decode(secret["data"]["kubeconfig"]))

    async def touch_secret(self, body, name="mine"):
        namespace = self.world.namespace
        return await self.world.kube.patch(SECRETS, f"{name}.kubeconfig", MergePatch(body), namespace=namespace)

    async def remove_secret(self, name="mine"):
        await self.world.kube.delete(SECRETS, f"{name}.kubeconfig", namespace=self.world.namespace)

    async def parts(self, request):
        """What is in the cluster for a request, by kind."""
        selector = f"{ENTRANT_LABEL}={request.metadata.uid}"
        found = {}
        for kind, resource in (*PARTS.items(), ("Secret", SECRETS)):
            listed = (await self.target.list(resource, label_selector=selector)).items
            found |= {kind: [one["metadata"]["name"] for one in listed]} if listed else {}
        return found

    async def is_tidy(self, request, name="mine"):
        """A whole door, and no token in the cluster that is not written down."""

        async def tidy():
            parts, record = await self.parts(request), await self.record(name)
            issues = set(parts.pop("Secret", []))
            whole = {kind: len(names) for kind, names in parts.items()} == dict.fromkeys(
                ("ServiceAccount", "ClusterRole", "ClusterRoleBinding"), 1
            )
            return whole and record is not None and issues == set(record.issues)

        async def seen():
            return f"all is tidy; there are {await self.parts(request)} for {await self.record(name)}"

        await until(tidy, seen)

    async def annotate(self, name, value):
        body = {"metadata": {"annotations": {"openmcp.cloud/operation": value}}}
        namespace = self.world.namespace
        return await self.world.kube.patch(typed(AccessRequest), name, MergePatch(body), namespace=namespace)

    async def clear(self):
        """Whatever a test has left: requests first, which hold things in the cluster."""
        requests = typed(AccessRequest)
        for one in (await self.world.kube.list(requests)).items:
            namespace = one.metadata.namespace
            with contextlib.suppress(NotFound):
                free = MergePatch({"metadata": {"finalizers": None}})
                await self.world.kube.patch(requests, one.metadata.name, free, namespace=namespace)
                await self.world.kube.delete(requests, one.metadata.name, namespace=namespace)
            await self.clear_target(one.metadata.uid)

    async def clear_target(self, uid):
        for resource in (*PARTS.values(), SECRETS):
            for part in (await self.target.list(resource, label_selector=f"{ENTRANT_LABEL}={uid}")).items:
                where = part["metadata"].get("namespace")
                with contextlib.suppress(NotFound):
                    await self.target.delete(resource, part["metadata"]["name"], namespace=where)


async def closed(gate: Gate, request, reason):
    """Nothing is left on either side, and it is told why."""
    denied = await gate.standing(request.metadata.name, reason)
    assert (denied.status.phase, denied.status.secret_ref) == ("Denied", None)
    free = lambda one: not one.metadata.finalizers  # noqa: E731
    await gate.world.becomes(AccessRequest, request.metadata.name, free, "is free")

    async def is_empty():
        return (await gate.secret(request.metadata.name), await gate.parts(request)) == (None, {})

    await until(is_empty, "nothing is left of the door")


def login(name, url, **more):
    """A wish for an identity provider whose alice may look at pods."""
    return {
        "name": name,
        "issuer": url,
        "clientID": "kubernetes",
        "roles": [{"name": f"{name}-readers", "rules": [READ_PODS]}],
        "roleBindings": [
            {
                "subjects": [{"kind": "User", "name": "alice"}],
                "roleRefs": [{"kind": "ClusterRole", "name": f"{name}-readers"}],
            }
        ],
        **more,
    }


@contextlib.asynccontextmanager
async def a_gate(world, target, **given):
    gate = Gate(world, target, **given)
    await gate.ready_cluster()
    try:
        yield gate
    finally:
        await gate.clear()


def is_granted(one):
    ready, current = condition(one), one.metadata.generation
    return ready is not None and ready.status == "True" and ready.observed_generation == current


def clock_at(*, days=0.0):
    """A clock that stands at the present, or so many days off."""
    return SimulatedClock(datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days))


async def passing(clock, ask, what, *, step=1.0):
    """Ask until the answer is something true, while time passes."""

    async def asked():
        await clock.advance(step)
        return await ask()

    return await until(asked, what)


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


async def refused(connection: Connection, resource=PODS, *, patience=PATIENCE):
    """Until the cluster does not know the holder any more."""

    async def is_refused():
        return await may(connection, resource) is None

    await until(is_refused, "the token is refused", patience=patience)


async def let_in(connection: Connection, resource=PODS):
    """Until the cluster lets the holder do it: servers learn of new bindings a moment later."""

    async def is_let_in():
        return await may(connection, resource)

    await until(is_let_in, "the token works")


__all__ = ["ACCOUNTS", "Cluster"]
