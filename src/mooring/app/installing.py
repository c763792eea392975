"""Putting Mooring into a cluster: its definitions, its namespace, its rights, and its share of the API server.

All of it can be repeated. What the operator may do is listed here and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from mooring.api.crds import KINDS, definitions
from mooring.kube import Changed, Client, Object, Relisted, untyped, watching
from mooring.kube.errors import AlreadyExists, Conflict, KubeError, NotFound

NAMESPACE = "mooring-system"
ACCOUNT = "mooring"
# Whoever runs the controllers outside of the cluster shows a certificate with this group.
GROUP = "mooring:controllers"
FIELD_MANAGER = "mooring"

DEFINITIONS = untyped(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
_SERVED_WITHIN, _ASK_AGAIN = 60.0, 0.02  # seconds


class NotServed(KubeError):
    """A definition was applied, and the server does not serve it."""


async def install(client: Client, documents: Sequence[Object]) -> None:
    """Apply definitions, and return once the server serves all of them."""
    stored = await asyncio.gather(*(_defined(client, document) for document in documents))
    waiting = {one["metadata"]["name"] for one in stored if not is_established(one)}
    try:
        async with asyncio.timeout(_SERVED_WITHIN):
            if waiting:
                await _until_established(client, waiting)
            await asyncio.gather(*(_until_served(client, document) for document in documents))
    except TimeoutError:
        names = ", ".join(sorted(waiting)) or "some kinds, though it says so"
        raise NotServed(f"The server has not begun to serve {names}; 'kubectl describe crd' tells why.") from None


async def install_everything(client: Client) -> None:
    """The definitions, and what the operator needs to run."""
    await _apply(client, namespace())
    await asyncio.gather(install(client, definitions()), *(_apply(client, one) for one in operator()))


def everything() -> list[Object]:
    """All that is installed, in an order in which it can be applied."""
    return [namespace(), *definitions(), *operator()]


def namespace() -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def operator() -> list[Object]:
    """The operator's account, its rights, and its place in the API server's queues."""
    here = {"name": ACCOUNT, "namespace": NAMESPACE}
    subjects = [
        {"kind": "ServiceAccount", **here},
        {"kind": "Group", "name": GROUP, "apiGroup": "rbac.authorization.k8s.io"},
    ]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        _rbac("ClusterRole", {"name": ACCOUNT}, rules=_cluster_rules()),
        _rbac("ClusterRoleBinding", {"name": ACCOUNT}, subjects=subjects, roleRef=_role_ref("ClusterRole")),
        _rbac("Role", here, rules=_lease_rules()),
        _rbac("RoleBinding", here, subjects=subjects, roleRef=_role_ref("Role")),
        _flow_schema("mooring-leases", "leader-election", 150, "coordination.k8s.io", "leases"),
        _flow_schema("mooring", "workload-high", 1_000, "*", "*"),
    ]


def _cluster_rules() -> list[Object]:
    """Reading our kinds, and telling events. Each controller that writes adds what it writes."""
    groups = sorted({kind.API.group for kind in KINDS})
    read = [
        {
            "apiGroups": [group],
            "resources": sorted(kind.API.plural for kind in KINDS if kind.API.group == group),
            "verbs": ["get", "list", "watch"],
        }
        for group in groups
    ]
    return [*read, {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}]


def _lease_rules() -> list[Object]:
    # A creation cannot be tied to a name; the rest can.
    named = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [ACCOUNT]}
    return [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {**named, "verbs": ["get", "update"]},
    ]


def _rbac(kind: str, metadata: Object, **fields: object) -> Object:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, **fields}


def _role_ref(kind: str) -> Object:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": ACCOUNT}


def _flow_schema(name: str, level: str, precedence: int, group: str, resource: str) -> Object:
    """Requests of the operator wait in a queue of this priority level, apart from those of everybody else."""
    everywhere = {"namespaces": ["*"], "clusterScope": True}
    rule = {
        "subjects": [
            {"kind": "ServiceAccount", "serviceAccount": {"name": ACCOUNT, "namespace": NAMESPACE}},
            {"kind": "Group", "group": {"name": GROUP}},
        ],
        "resourceRules": [{"verbs": ["*"], "apiGroups": [group], "resources": [resource], **everywhere}],
    }
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": name},
        "spec": {
            "priorityLevelConfiguration": {"name": level},
            "matchingPrecedence": precedence,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [rule],
        },
    }


async def _apply(client: Client, document: Object) -> None:
    resource = await client.resource(document["apiVersion"], document["kind"])
    await client.apply(resource, document, field_manager=FIELD_MANAGER, force=True)


async def _defined(client: Client, document: Object) -> Object:
    """The definition as the server has it, after writing it if it was not there in just this form.

    Looking first is worth it: most starts find everything in place. A definition is ours as a whole, so it is created
    or replaced; a server-side apply of a schema of this size takes the server twice as long.
    """
    while True:
        # Somebody else may be installing, too: whoever comes second looks again.
        with contextlib.suppress(AlreadyExists, Conflict):
            try:
                stored = await client.get(DEFINITIONS, document["metadata"]["name"])
            except NotFound:
                return await client.create(DEFINITIONS, document, field_manager=FIELD_MANAGER)
            if stored["spec"] == stored["spec"] | document["spec"]:
                return stored
            return await client.replace(DEFINITIONS, {**stored, "spec": document["spec"]}, field_manager=FIELD_MANAGER)
        await asyncio.sleep(_ASK_AGAIN)


async def _until_established(client: Client, waiting: set[str]) -> None:
    """Watch until nothing is left in ``waiting``."""
    async with contextlib.aclosing(watching(client, DEFINITIONS)) as events:
        async for event in events:
            seen = event.items if isinstance(event, Relisted) else [event.object] if isinstance(event, Changed) else []
            waiting -= {one["metadata"]["name"] for one in seen if is_established(one)}
            if not waiting:
                return


async def _until_served(client: Client, document: Object) -> None:
    """Established is what the server means to do: an answer is what it does."""
    spec = document["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    while True:
        try:
            await client.raw("GET", path, parameters={"limit": 1})
            return
        except NotFound:
            await asyncio.sleep(_ASK_AGAIN)


def is_established(definition: Object) -> bool:
    """Whether the server says that it serves this definition."""
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
