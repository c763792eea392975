"""Which objects of the old version need not go, because the new one has them, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from mooring.clusterctl.inventory import Installed
from mooring.clusterctl.objects import at, group_of, kind_of, name_of, namespace_of
from mooring.kube import Object

# Cluster-wide kinds that are changed in place, so that what others have added to them stays.
_KINDS: Final = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "CSIDriver",
        "PersistentVolume",
        "PriorityClass",
        "RuntimeClass",
        "StorageClass",
    }
)


def staying(one: Installed, objects: Iterable[Object]) -> Callable[[Object], bool]:
    """Whether an old object stays where it is.

    Those with the instance's namespace in their name were made for it, and are made anew. What a binding binds to
    cannot be changed.
    """
    coming = {(group_of(each), kind_of(each), name_of(each)): each for each in objects if not namespace_of(each)}

    def stays(old: Object) -> bool:
        new = coming.get((group_of(old), kind_of(old), name_of(old)))
        if new is None or kind_of(old) not in _KINDS or namespace_of(old):
            return False
        return not name_of(old).startswith(f"{one.namespace}-") and at(old, "roleRef") == at(new, "roleRef")

    return stays
