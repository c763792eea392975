"""Putting Mooring into a cluster: its definitions, its namespace, its rights, and its share of the API server.

All of it can be repeated, and what is in place already is not written again. What the operator may do is listed here
and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from mooring.api.crds import KINDS, definitions
from mooring.kube import Client, Object, Resource, untyped
from mooring.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from mooring.scheduling.controllers import RIGHTS as SCHEDULING_RIGHTS

NAMESPACE = "mooring-system"
ACCOUNT = "mooring"
# Whoever runs the controllers outside of the cluster shows a certificate with this group.
GROUP = "mooring:controllers"
FIELD_MANAGER = "mooring"

DEFINITIONS = untyped(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
_RBAC = "rbac.authorization.k8s.io"
# What every server serves need not be looked up: a start has no time to lose.
_KNOWN: Mapping[str, Resource[Any]] = {
    one.kind: one
    for one in (
        DEFINITIONS,
        untyped(plural="namespaces", kind="Namespace", namespaced=False),
        untyped(plural="serviceaccounts", kind="ServiceAccount"),
        untyped(group=_RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False),
        untyped(group=_RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False),
        untyped(group=_RBAC, plural="roles", kind="Role"),
        untyped(group=_RBAC, plural="rolebindings", kind="RoleBinding"),
        untyped(group="flowcontrol.apiserver.k8s.io", plural="flowschemas", kind="FlowSchema", namespaced=False),
    )
}
_SERVED_WITHIN, _ASK_AGAIN = 60.0, 0.05  # seconds


class NotServed(KubeError):
    """A definition was applied, and the server does not serve it."""


async def install(client: Client, documents: Sequence[Object]) -> None:
    """Apply definitions, and return once the server serves all of them."""
    await asyncio.gather(*(_put(client, document) for document in documents))
    waiting = {document["metadata"]["name"] for document in documents}
    try:
        async with asyncio.timeout(_SERVED_WITHIN):
            # One is asked for again and again; when it is there, the others are, or will be in a moment.
            for some in (documents[-1:], documents[:-1]):
                await asyncio.gather(*(_until_served(client, document, waiting) for document in some))
    except TimeoutError:
        names = ", ".join(sorted(waiting))
        raise NotServed(f"The server has not begun to serve {names}; 'kubectl describe crd' tells why.") from None


async def install_everything(client: Client) -> None:
    """The definitions, and what the operator needs to run."""
    await _put(client, namespace())
    await asyncio.gather(install(client, definitions()), *(_put(client, one) for one in operator()))


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
        _rbac("Role", here, rules=[*_lease_rules(), _configuration_rule()]),
        _rbac("RoleBinding", here, subjects=subjects, roleRef=_role_ref("Role")),
        _flow_schema("mooring-leases", "leader-election", 150, "coordination.k8s.io", "leases"),
        _flow_schema("mooring", "workload-high", 1_000, "*", "*"),
    ]


def _cluster_rules() -> list[Object]:
    """Reading our kinds, telling events, and what each room writes."""
    groups = sorted({kind.API.group for kind in KINDS})
    read = [
        {
            "apiGroups": [group],
            "resources": sorted(kind.API.plural for kind in KINDS if kind.API.group == group),
            "verbs": ["get", "list", "watch"],
        }
        for group in groups
    ]
    events = {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
    return [*read, events, *SCHEDULING_RIGHTS]


def _lease_rules() -> list[Object]:
    # A creation cannot be tied to a name; the rest can.
    named = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [ACCOUNT]}
    return [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {**named, "verbs": ["get", "update"]},
    ]


def _configuration_rule() -> Object:
    """The ConfigMap that ``mooring run --configmap-name`` names: in our namespace, and under a name of the owner's."""
    return {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}


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


async def _put(client: Client, document: Object) -> None:
    """Create the object, or replace it if it is there and not as we say.

    Looking first is worth it: most starts find everything in place. These objects are ours as a whole, so they are
    created or replaced; a server-side apply of a large schema takes the server twice as long.
    """
    resource = _KNOWN.get(document["kind"]) or await client.resource(document["apiVersion"], document["kind"])
    metadata = document["metadata"]
    while True:
        # Somebody else may be installing, too: whoever comes second looks again.
        with contextlib.suppress(AlreadyExists, Conflict):
            try:
                stored = await client.get(resource, metadata["name"], namespace=metadata.get("namespace"))
            except NotFound:
                await client.create(resource, document, field_manager=FIELD_MANAGER)
                return
            if not _is_in_place(stored, document):
                await client.replace(resource, _replaced(stored, document), field_manager=FIELD_MANAGER)
            return
        await asyncio.sleep(_ASK_AGAIN)


def _is_in_place(stored: Object, document: Object) -> bool:
    """Whether each field is as we say. Servers add fields beside ours (in a spec, say), but nothing inside of them."""
    wanted = {**document, "metadata": _noted(stored, document)}
    for name, value in wanted.items():
        there = stored.get(name)
        if there != ({**there, **value} if isinstance(there, dict) and isinstance(value, dict) else value):
            return False
    return True


def _replaced(stored: Object, document: Object) -> Object:
    """The object as we say it, with the identity of the one that is there."""
    return {**stored, **document, "metadata": {**stored["metadata"], **_noted(stored, document)}}


def _noted(stored: Object, document: Object) -> Object:
    """Our labels and annotations beside those of others."""
    there, ours = stored["metadata"], document["metadata"]
    return {name: {**there.get(name, {}), **ours[name]} for name in ("labels", "annotations") if name in ours}


async def _until_served(client: Client, document: Object, waiting: set[str]) -> None:
    """A condition tells what the server means to do: an answer is what it does."""
    spec = document["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    while True:
        try:
            await client.raw("GET", path, parameters={"limit": 1})
        except NotFound:
            await asyncio.sleep(_ASK_AGAIN)
        else:
            waiting.discard(document["metadata"]["name"])
            return
