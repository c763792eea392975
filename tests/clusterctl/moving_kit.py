"""Two management clusters with the same providers, and clusters to move between them.

`a_pair` makes the two; all tests share one pair, and each has namespaces of its own there. `a_fleet` puts
a graph into a namespace that has something of everything that move knows. `seen` is what two servers, or two
namespaces, can be compared in: owners by their names, and who owns which field.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import clusters as capi
import yaml
from clusters import put

from mooring.clusterctl.finding import served
from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.inventory_definition import PROVIDERS
from mooring.clusterctl.move import Choice, Options, move
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import ControlPlane, new_identity
from mooring.kube import Client, Connection, Object, Resource, connection_from_document
from mooring.kube.connection import Impersonation
from mooring.kube.definitions import install
from mooring.kube.errors import AlreadyExists, Forbidden, MethodNotAllowed, NotFound
from mooring.testing.managers import until

HOME = "harbor-system"  # of the infrastructure provider
MOVE = "clusterctl.cluster.x-k8s.io/move"
HIERARCHY = "clusterctl.cluster.x-k8s.io/move-hierarchy"
READY = capi.conditions(
    capi.condition("ControlPlaneInitialized"),
    initialization={"infrastructureProvisioned": True, "controlPlaneInitialized": True},
)
HAS_NODE = {"nodeRef": {"name": "node"}}
MINE = "mooring-clusterctl-move"
# Each kind costs a call whenever somebody looks at everything, and a move looks often.
_UNUSED = frozenset(
    {
        "ExtensionConfig",
        "HarborMachinePool",
        "KubeadmConfigTemplate",
        "KubeadmControlPlaneTemplate",
        "MachineDrainRule",
        "MachineHealthCheck",
        "MachinePool",
    }
)


@dataclass(frozen=True)
class Side:
    """One of the two."""

    plane: ControlPlane
    kubeconfig: Path
    connection: Connection


@dataclass(frozen=True)
class Pair:
    source: Side
    target: Side


@contextlib.contextmanager
def a_pair(landscape: Landscape, directory: Path) -> Iterator[Pair]:
    """Two control planes that know Cluster API's kinds and the same providers; deleted afterwards."""
    planes = [landscape.control_plane(new_identity()) for _ in range(2)]

    async def begin() -> None:
        await asyncio.gather(*(plane.start() for plane in planes))
        for plane in planes:
            async with Client(_connection(plane)) as client:
                await _furnish(client, heaviest=100 if plane is planes[0] else 10)
            plane.release()  # handles belong to this event loop; the processes live on
        landscape.etcd.close()

    async def end() -> None:
        for plane in planes:
            await plane.delete()
        landscape.etcd.close()

    try:
        asyncio.run(begin())
        yield Pair(*(_side(plane, directory) for plane in planes))
    finally:
        asyncio.run(end())


def _connection(plane: ControlPlane) -> Connection:
    return connection_from_document(plane.admin_kubeconfig(name="management"))


def _side(plane: ControlPlane, directory: Path) -> Side:
    file = directory / f"{plane.identity}.kubeconfig"
    file.write_text(yaml.safe_dump(plane.admin_kubeconfig(name="management")))
    return Side(plane, file, _connection(plane))


async def _furnish(client: Client, *, heaviest: int) -> None:
    """Cranes that are too heavy for the target are what a move fails at. Both have an inventory from the beginning: the
    judge would make the definition of one, even in a dry run (DEVIATION move-makes-no-inventory)."""
    await Inventory(client).ensure_definitions()
    crane = capi.definition("yard.example.com", "Crane", provider="infrastructure-harbor", labels={MOVE: ""})
    schema = crane["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    load = {"type": "integer", "maximum": heaviest}
    schema["properties"] = {"spec": {"type": "object", "properties": {"load": load}}}
    # A kind whose name another group has, too.
    twin = capi.definition("yard.example.com", "HarborMachine", provider="infrastructure-harbor")
    known = [one for one in capi.definitions() if one["spec"]["names"]["kind"] not in _UNUSED]
    await install(client, [*known, crane, twin])
    await a_namespace(client, HOME)
    await provider(client, "cluster-api", "CoreProvider", "v1.14.2", HOME)
    await provider(client, "harbor", "InfrastructureProvider", "v1.0.0", HOME)


async def provider(client: Client, name: str, kind: str, version: str, namespace: str) -> None:
    label = name if kind == "CoreProvider" else f"infrastructure-{name}"
    metadata = {"name": label, "namespace": namespace}
    fields = {"providerName": name, "type": kind, "version": version}
    with contextlib.suppress(AlreadyExists):
        await client.create(
            PROVIDERS, {"apiVersion": PROVIDERS.api_version, "kind": PROVIDERS.kind, "metadata": metadata, **fields}
        )


def fresh() -> str:
    """A name that nobody has."""
    return f"n{uuid4().hex[:8]}"


async def a_namespace(client: Client, name: str) -> None:
    with contextlib.suppress(AlreadyExists):
        await put(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def secret(name: str, namespace: str, *owners: Object, **metadata: Any) -> Object:
    return _plain("Secret", name, namespace, owners, metadata)


def config_map(name: str, namespace: str, *owners: Object, **metadata: Any) -> Object:
    return _plain("ConfigMap", name, namespace, owners, metadata)


def _plain(kind: str, name: str, namespace: str, owners: Sequence[Object], metadata: Object) -> Object:
    full = {"name": name, "namespace": namespace, **metadata}
    if owners:
        full["ownerReferences"] = list(owners)
    value = {"Secret": "dmFsdWU=", "ConfigMap": "value"}[kind]
    return {"apiVersion": "v1", "kind": kind, "metadata": full, "data": {"value": value}}


async def a_small_cluster(client: Client, name: str, namespace: str, **parts: Any) -> Object:
    """A Cluster with infrastructure that has a finalizer, a machine, and two Secrets."""
    made = await put(client, capi.cluster(name, namespace, status=READY, **parts))
    over = capi.owner(made)
    await put(client, capi.harbor_cluster(name, namespace, owners=[over], finalizers=["harbor.example.com/cluster"]))
    held = ["machine.example.com/held"]
    machine = capi.machine(name, namespace, cluster=name, owners=[over], status=HAS_NODE, finalizers=held)
    machine = await put(client, machine)
    await put(client, secret(f"{name}-ca", namespace))
    await put(client, secret(f"{name}-bootstrap", namespace, capi.owner(machine)))
    return made


async def a_fleet(client: Client, namespace: str) -> None:
    """Clusters of all sorts in a namespace, with classes in another, and what is in none."""
    other = f"{namespace}-classes"
    for name in (namespace, other, f"{namespace}-beside"):
        await a_namespace(client, name)
    await _first(client, namespace)
    await _with_classes(client, namespace, other)
    await _resource_sets(client, namespace)
    await _labelled(client, namespace)


async def _first(client: Client, namespace: str) -> None:
    """Without a class: a control plane, workers, and what hangs below them."""
    over = capi.owner(await put(client, capi.cluster("first", namespace, status=READY, labels={"tier": "gold"})))
    for_cluster = {**over, "controller": None, "blockOwnerDeletion": None}
    plain = {key: value for key, value in for_cluster.items() if value is not None}
    held = ["harbor.example.com/held"]
    await put(client, capi.harbor_cluster("first", namespace, owners=[plain], finalizers=held))
    control = await put(client, capi.kubeadm_control_plane("first-cp", namespace, owners=[over], finalizers=held))
    config = await put(client, capi.kubeadm_config("first-cp-0", namespace, owners=[capi.owner(control)]))
    machine = capi.machine("first-cp-0", namespace, cluster="first", owners=[capi.owner(control)], status=HAS_NODE)
    machine = await put(client, machine)
    await put(client, capi.harbor_machine("first-cp-0", namespace, owners=[capi.owner(machine)], finalizers=held))
    twin = capi.an_object("yard.example.com/v1beta2", "HarborMachine", "first-cp-0", namespace)
    twin["metadata"]["ownerReferences"] = [capi.owner(machine, controller=False)]
    await put(client, twin)
    await put(client, secret("first-cp-0", namespace, capi.owner(config)))
    await put(client, secret("first-kubeconfig", namespace, capi.owner(control)))
    for purpose in ("ca", "etcd", "sa", "proxy", "apiserver-etcd-client"):
        await put(client, secret(f"first-{purpose}", namespace))
    for name in ("first-other", "nobody-ca", "first", "ca"):
        await put(client, secret(name, namespace))
    deployment = await put(client, capi.machine_deployment("first-md", namespace, cluster="first", owners=[over]))
    machines = capi.machine_set("first-ms", namespace, cluster="first", owners=[capi.owner(deployment)])
    machines = await put(client, machines)
    worker = capi.machine("first-w", namespace, cluster="first", owners=[capi.owner(machines)], status=HAS_NODE)
    worker = await put(client, worker)
    both = [capi.owner(worker), capi.owner(machines, controller=False)]
    await put(client, capi.harbor_machine("first-w", namespace, owners=both, annotations={"a": "b"}))
    await put(client, capi.harbor_machine_template("first", namespace, owners=[plain]))
    await put(client, capi.harbor_machine_template("loose", namespace))
    # Owned by a cluster, and by something that move does not look at: left behind with what hangs below.
    account = await put(client, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _named("keeper", namespace)})
    shared = await put(client, config_map("two-owners", namespace, plain, capi.owner(account, controller=False)))
    await put(client, secret("below-two-owners", namespace, capi.owner(shared, controller=False)))


async def _with_classes(client: Client, namespace: str, other: str) -> None:
    for name, where in (("near", namespace), ("far", other), ("wanted", namespace)):
        reference = {"apiVersion": f"{capi.INFRASTRUCTURE}/v1beta2", "kind": "HarborClusterTemplate", "name": name}
        spec = {"infrastructure": {"templateRef": reference}}
        made = await put(client, capi.cluster_class(name, where, spec=spec))
        template = capi.an_object(reference["apiVersion"], reference["kind"], name, where)
        template["metadata"]["ownerReferences"] = [capi.owner(made, controller=False)]
        await put(client, template)
    topology = {"classRef": {"name": "near"}, "version": "v1.36.0"}
    second = await put(client, capi.cluster("second", namespace, status=READY, topology=topology))
    await put(client, capi.harbor_cluster("second", namespace, owners=[capi.owner(second)]))
    topology = {"classRef": {"name": "far", "namespace": other}, "version": "v1.36.0"}
    third = await put(
        client, capi.cluster("third", namespace, status=READY, topology=topology, labels={"tier": "gold"})
    )
    await put(client, capi.harbor_cluster("third", namespace, owners=[capi.owner(third)]))
    # One that stays, and needs a class from here.
    topology = {"classRef": {"name": "wanted", "namespace": namespace}, "version": "v1.36.0"}
    await put(client, capi.cluster("beside", f"{namespace}-beside", status=READY, topology=topology))


async def _resource_sets(client: Client, namespace: str) -> None:
    made = await put(client, capi.resource_set("set", namespace, selector={"tier": "gold"}))
    over = capi.owner(made, controller=False)
    await put(client, config_map("set-content", namespace, over))
    for name in ("first", "third"):
        await put(client, capi.resource_set_binding(name, namespace, sets=["set"], owners=[over]))


async def _labelled(client: Client, namespace: str) -> None:
    await put(client, capi.an_object("yard.example.com/v1beta2", "Crane", "crane", namespace))
    await put(client, config_map("labelled", namespace, labels={MOVE: ""}))
    root = await put(client, config_map("root", namespace, labels={HIERARCHY: ""}))
    await put(client, config_map("leaf", namespace, capi.owner(root, controller=False)))
    identity = capi.harbor_cluster_identity(f"{namespace}-identity", labels={HIERARCHY: ""})
    identity = await put(client, identity)
    await put(client, secret(f"{namespace}-credentials", HOME, capi.owner(identity, controller=False)))
    await put(client, capi.harbor_cluster_identity(f"{namespace}-unlabelled"))


def _named(name: str, namespace: str) -> Object:
    return {"name": name, "namespace": namespace}


# Ends of many kinds


def of(pair: Pair) -> tuple[str, ...]:
    """The words of a move from the source."""
    return ("move", "--kubeconfig", str(pair.source.kubeconfig))


def between(pair: Pair) -> tuple[str, ...]:
    return (*of(pair), "--to-kubeconfig", str(pair.target.kubeconfig))


class Killed(BaseException):
    """Not an error that anybody could handle."""


class Life:
    """So many writes, and not one more; ``further`` ones when the first original is about to be deleted."""

    def __init__(self, writes: int | None, *, further: int | None = None) -> None:
        self.left = writes
        self.further = further
        self.is_over = False

    def __call__(self, *, writing: bool) -> None:
        self.is_over = self.is_over or (writing and self.left == 0)
        if self.is_over:
            raise Killed
        if writing and self.left is not None:
            self.left -= 1

    def told(self, _: int, text: str) -> None:
        if self.further is not None and text.startswith("Deleting objects"):
            self.left = self.further


class Mortal(Client):
    """A client that asks before each call whether it still may; what is only rehearsed is no write."""

    def __init__(self, connection: Connection, life: Callable[..., None]) -> None:
        super().__init__(connection)
        self._life = life

    async def get(self, *given: Any, **more: Any) -> Any:
        self._life(writing=False)
        return await super().get(*given, **more)

    async def list(self, *given: Any, **more: Any) -> Any:
        self._life(writing=False)
        return await super().list(*given, **more)

    async def create(self, *given: Any, **more: Any) -> Any:
        self._life(writing=True)
        return await super().create(*given, **more)

    async def replace(self, *given: Any, dry_run: bool = False, **more: Any) -> Any:
        self._life(writing=not dry_run)
        return await super().replace(*given, dry_run=dry_run, **more)

    async def patch(self, *given: Any, **more: Any) -> Any:
        self._life(writing=True)
        return await super().patch(*given, **more)

    async def delete(self, *given: Any, **more: Any) -> Any:
        self._life(writing=True)
        return await super().delete(*given, **more)


async def lived(pair: Pair, namespace: str, writes: int | None, *, further: int | None = None) -> bool:
    """Whether a move ended before its writes were used up."""
    life = Life(writes, further=further)
    async with Mortal(pair.source.connection, life) as source, Mortal(pair.target.connection, life) as target:
        try:
            await move(source, target, Options(Choice(namespace)), life.told)
        except Killed:
            return False
    return True


async def killed_before_the_point(pair: Pair, namespace: str) -> None:
    """When everything is copied, and nothing is deleted."""
    assert not await lived(pair, namespace, None, further=0)


async def killed_past_the_point(pair: Pair, namespace: str) -> None:
    """Right after the first deletion: it was announced, its copy finished, and then it was deleted."""
    assert not await lived(pair, namespace, None, further=3)


@contextlib.asynccontextmanager
async def who_may_not_delete(side: Side) -> AsyncIterator[Connection]:
    """Somebody who may do everything else."""
    name, rbac = fresh(), "rbac.authorization.k8s.io"
    verbs = ["get", "list", "watch", "create", "update", "patch"]
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": name}],
    }
    async with Client(side.connection) as client:
        await put(client, {**role, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]})
        await put(client, binding)
    limited = replace(side.connection, impersonation=Impersonation(user=name))
    async with Client(limited) as client:
        await until(lambda: _may_read(client), "the server knows the new rights")
    yield limited


async def _may_read(client: Client) -> bool:
    try:
        await client.list(PROVIDERS)
    except Forbidden:
        return False
    return True


# What can be compared


Seen = dict[str, Object]


async def seen(client: Client, *, only: str = "", managers: bool = True) -> Seen:
    """All objects whose names or namespaces have this text in them, which is written as ``HERE``."""
    kinds = [one.resource for one in await served(client) if {"list", "create"} <= one.verbs and _counts(one.resource)]
    objects = [one for found in await asyncio.gather(*(_all(client, kind) for kind in kinds)) for one in found]
    names = {one["metadata"].get("uid", ""): _called(one) for one in objects}
    found = {}
    for one in objects:
        if one["metadata"]["name"] in _OWN_NAMES:
            continue
        text = json.dumps(_comparable(one, names, managers=managers), sort_keys=True)
        if only and only not in _called(one):
            continue
        thing = json.loads(text.replace(only, "HERE") if only else text)
        found[_called(thing)] = thing
    return found


def _counts(resource: Resource[Object]) -> bool:
    """Whether a move could have anything to do with it: what somebody has defined, and some of the server's own."""
    if not resource.group:
        return resource.plural in ("namespaces", "secrets", "configmaps", "serviceaccounts")
    return resource.group.endswith((".x-k8s.io", ".example.com"))


_OWN_NAMES = frozenset({"kube-root-ca.crt", "default"})


async def _all(client: Client, resource: Any) -> list[Object]:
    try:
        return (await client.list(resource)).items
    except (NotFound, MethodNotAllowed):
        return []


def _called(one: Object) -> str:
    metadata = one["metadata"]
    return f"{one['apiVersion']} {one['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


def _comparable(one: Object, names: dict[str, str], *, managers: bool) -> Object:
    own = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences")
    metadata = {key: value for key, value in one["metadata"].items() if key not in own}
    owners = [
        {**owner, "uid": names[owner["uid"]]}
        for owner in one["metadata"].get("ownerReferences", ())
        # An owner that is gone is taken off by the server, sooner or later.
        if owner["uid"] in names
    ]
    if owners:
        metadata["ownerReferences"] = sorted(owners, key=lambda owner: str(owner["uid"]))
    if managers and one["kind"] != "Namespace":
        fields = one["metadata"].get("managedFields", ())
        metadata["managers"] = sorted({f"{field.get('manager')} {field.get('operation')}" for field in fields})
    return {**one, "metadata": metadata}


def difference(one: Seen, other: Seen) -> list[str]:
    """A line for each object that only one has, or that is not the same."""
    lines = [f"only the first has {name}" for name in sorted(one.keys() - other.keys())]
    lines += [f"only the second has {name}" for name in sorted(other.keys() - one.keys())]
    for name in sorted(one.keys() & other.keys()):
        if one[name] != other[name]:
            lines.append(f"{name}:\n  {one[name]}\n  {other[name]}")
    return lines


_LINE = re.compile(r'(Creating|Deleting) (\w+)="([^"]*)" [Nn]amespace="([^"]*)"')


def told(text: str) -> set[tuple[str, str, str, str]]:
    """What a dry run says that it would create and delete."""
    return {tuple(found) for found in _LINE.findall(text)}  # type: ignore[misc]


def is_untouched(found: Seen) -> list[str]:
    """Objects that still carry something of a move."""
    return [name for name, one in found.items() if "move.mooring.dev" in json.dumps(one) or MINE in json.dumps(one)]
