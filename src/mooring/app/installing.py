"""Putting Mooring into a cluster: its definitions, its namespace, its rights, and its share of the API server.

All of it can be repeated, and what is in place already is not written again. What the operator may do is listed here
and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from enum import StrEnum

from mooring.access.admission import admission_objects
from mooring.access.controllers import RIGHTS as ACCESS_RIGHTS
from mooring.api.crds import KINDS, definition_of, definitions
from mooring.api.kinds import Kind
from mooring.api.kyma import OPERATOR_GROUP
from mooring.kube import Client, Object
from mooring.kube.definitions import DEFINITIONS, FIELD_MANAGER, NotServed, install, is_established, put
from mooring.kube.errors import NotFound, UnknownKind
from mooring.scheduling.controllers import RIGHTS as SCHEDULING_RIGHTS

__all__ = [
    "ACCOUNT",
    "DEFINITIONS",
    "FIELD_MANAGER",
    "GROUP",
    "NAMESPACE",
    "NotServed",
    "Part",
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
_DEPLOYMENT = "mooring-deployment"


class Part(StrEnum):
    """The parts that an operator is made of. One that is left out takes its rights along."""

    SCHEDULING = "scheduling"
    ACCESS = "access"
    KYMA = "kyma"
    DEPLOYMENT = "deployment"


# What begins with an embedded landscape. The other parts come when it is up, each with rights of its own.
EMBEDDED = frozenset({Part.SCHEDULING, Part.ACCESS})


async def install_everything(client: Client, parts: Collection[Part] = frozenset(Part)) -> None:
    """The definitions, and what the operator needs to run."""
    await put(client, namespace())
    await asyncio.gather(install(client, definitions()), *(put(client, one) for one in operator(parts)))
    if Part.ACCESS in parts:
        await asyncio.gather(*(_put_if_known(client, one) for one in admission_objects()))
    if Part.DEPLOYMENT not in parts:
        await asyncio.gather(*(_remove(client, one) for one in _rights(_DEPLOYMENT, [], [], [{}])))


async def install_essentials(client: Client) -> None:
    """As much of it as controllers need to begin, where a start has no time to lose and the rest follows."""
    rights = [one for one in operator(EMBEDDED) if one["kind"] in ("ClusterRole", "ClusterRoleBinding")]
    needed = [definition_of(kind) for kind in kinds_of(EMBEDDED)]
    await asyncio.gather(install(client, needed), *(put(client, one) for one in rights))


def kinds_of(parts: Collection[Part]) -> list[type[Kind]]:
    """The kinds that these parts look at: all, but for those of a face that is not there."""
    return [kind for kind in KINDS if Part.KYMA in parts or kind.API.group != OPERATOR_GROUP]


def everything(parts: Collection[Part] = frozenset(Part)) -> list[Object]:
    """All that is installed, in an order in which it can be applied."""
    admission = admission_objects() if Part.ACCESS in parts else []
    return [namespace(), *definitions(), *operator(parts), *admission]


async def _remove(client: Client, document: Object) -> None:
    """Rights of a part that was there before."""
    metadata = document["metadata"]
    resource = await client.resource(document["apiVersion"], document["kind"])
    try:
        await client.delete(resource, metadata["name"], namespace=metadata.get("namespace"))
    except NotFound:
        return


async def _put_if_known(client: Client, document: Object) -> None:
    """Older servers lack some kinds; who needs what they do is told so then."""
    try:
        await put(client, document)
    except UnknownKind:
        return


def namespace() -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def operator(parts: Collection[Part] = frozenset(Part)) -> list[Object]:
    """The operator's account, its rights, and its place in the API server's queues."""
    here = {"name": ACCOUNT, "namespace": NAMESPACE}
    subjects = [
        {"kind": "ServiceAccount", **here},
        {"kind": "Group", "name": GROUP, "apiGroup": "rbac.authorization.k8s.io"},
    ]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        _rbac("ClusterRole", {"name": ACCOUNT}, rules=_cluster_rules(parts)),
        _rbac("ClusterRoleBinding", {"name": ACCOUNT}, subjects=subjects, roleRef=_role_ref("ClusterRole")),
        _rbac("Role", here, rules=[*_lease_rules(), _configuration_rule()]),
        _rbac("RoleBinding", here, subjects=subjects, roleRef=_role_ref("Role")),
        *(_deployment_rights(subjects) if Part.DEPLOYMENT in parts else []),
        _flow_schema("mooring-leases", "leader-election", 150, "coordination.k8s.io", "leases"),
        _flow_schema("mooring", "workload-high", 1_000, "*", "*"),
    ]


def rights_for(name: str, group: str, rules: list[Object], home_rules: Sequence[Object] = ()) -> list[Object]:
    """What a group may do: everywhere, and in our namespace."""
    subject = {"kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io"}
    return _rights(name, [subject], rules, home_rules)


def _deployment_rights(subjects: list[Object]) -> list[Object]:
    from mooring.providers.deployment.controllers import HOME_RIGHTS, RIGHTS  # a start has no time to lose

    return _rights(_DEPLOYMENT, subjects, RIGHTS, HOME_RIGHTS)


def _rights(name: str, subjects: list[Object], rules: list[Object], home_rules: Sequence[Object]) -> list[Object]:
    made = [
        _rbac("ClusterRole", {"name": name}, rules=rules),
        _rbac("ClusterRoleBinding", {"name": name}, subjects=subjects, roleRef=_role_ref("ClusterRole", name)),
    ]
    if home_rules:
        here = {"name": name, "namespace": NAMESPACE}
        made.append(_rbac("Role", here, rules=list(home_rules)))
        made.append(_rbac("RoleBinding", here, subjects=subjects, roleRef=_role_ref("Role", name)))
    return made


def _cluster_rules(parts: Collection[Part]) -> list[Object]:
    """Reading our kinds, telling events, and what each room writes."""
    read = reading(kinds_of(parts))
    events = {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
    scheduling = SCHEDULING_RIGHTS if Part.SCHEDULING in parts else []
    access = ACCESS_RIGHTS if Part.ACCESS in parts else []
    kyma = _kyma_rights() if Part.KYMA in parts else []
    return [*read, events, *scheduling, *access, *kyma]


def reading(kinds: Sequence[type[Kind]]) -> list[Object]:
    """Rules for reading these kinds."""
    return [
        {
            "apiGroups": [group],
            "resources": sorted(kind.API.plural for kind in kinds if kind.API.group == group),
            "verbs": ["get", "list", "watch"],
        }
        for group in sorted({kind.API.group for kind in kinds})
    ]


def _kyma_rights() -> list[Object]:
    from mooring.kyma.controllers import RIGHTS  # a start has no time to lose

    return RIGHTS


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


def _role_ref(kind: str, name: str = ACCOUNT) -> Object:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


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
