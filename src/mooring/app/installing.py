"""Putting Mooring into a cluster: its definitions, its namespace, its rights, and its share of the API server.

All of it can be repeated, and what is in place already is not written again. What the operator may do is listed here
and nowhere else.
"""

from __future__ import annotations

import asyncio

from mooring.api.crds import KINDS, definitions
from mooring.kube import Client, Object
from mooring.kube.definitions import DEFINITIONS, FIELD_MANAGER, NotServed, install, is_established, put
from mooring.scheduling.controllers import RIGHTS as SCHEDULING_RIGHTS

__all__ = [
    "ACCOUNT",
    "DEFINITIONS",
    "FIELD_MANAGER",
    "GROUP",
    "NAMESPACE",
    "NotServed",
    "everything",
    "install",
    "install_essentials",
    "install_everything",
    "is_established",
    "namespace",
    "operator",
]

NAMESPACE = "mooring-system"
ACCOUNT = "mooring"
# Whoever runs the controllers outside of the cluster shows a certificate with this group.
GROUP = "mooring:controllers"


async def install_everything(client: Client) -> None:
    """The definitions, and what the operator needs to run."""
    await put(client, namespace())
    await asyncio.gather(install(client, definitions()), *(put(client, one) for one in operator()))


async def install_essentials(client: Client) -> None:
    """As much of it as controllers need to begin, where a start has no time to lose and the rest follows."""
    rights = [one for one in operator() if one["kind"] in ("ClusterRole", "ClusterRoleBinding")]
    await asyncio.gather(install(client, definitions()), *(put(client, one) for one in rights))


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


def rights_for(name: str, group: str, rules: list[Object]) -> list[Object]:
    """A ClusterRole with these rules, and its binding to a group."""
    subject = {"kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io"}
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    return [
        _rbac("ClusterRole", {"name": name}, rules=rules),
        _rbac("ClusterRoleBinding", {"name": name}, subjects=[subject], roleRef=role_ref),
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
