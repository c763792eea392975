"""The kinds that doors are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mooring.kube import Object, Resource, untyped

_RBAC: Final = "rbac.authorization.k8s.io"

NAMESPACES: Final = untyped(plural="namespaces", kind="Namespace", namespaced=False)
SECRETS: Final = untyped(plural="secrets", kind="Secret")
ACCOUNTS: Final = untyped(plural="serviceaccounts", kind="ServiceAccount")

# In the order in which a door is closed: who may do something, then who there is, then what could be done.
PARTS: Final[Mapping[str, Resource[Object]]] = {
    one.kind: one
    for one in (
        untyped(group=_RBAC, plural="clusterrolebindings", kind="ClusterRoleBinding", namespaced=False),
        untyped(group=_RBAC, plural="rolebindings", kind="RoleBinding"),
        ACCOUNTS,
        untyped(group=_RBAC, plural="clusterroles", kind="ClusterRole", namespaced=False),
        untyped(group=_RBAC, plural="roles", kind="Role"),
    )
}
