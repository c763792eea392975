"""The deployment of providers on a manager: its controller, what wakes it, and what it may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.providers import ClusterProvider
from mooring.providers.deployment.grounds import Ground, Home
from mooring.providers.deployment.reconciler import ProviderReconciler
from mooring.providers.deployment.seen import Seen
from mooring.providers.deployment.wakes import ProviderWakes
from mooring.runtime import Controller, Manager, Source
from mooring.runtime.recorder import EVENTS

GroundFactory = Callable[[Manager, Home], Ground]

_READ = ["get", "list", "watch"]
_KEEP = [*_READ, "create", "patch", "delete"]
_RBAC = "rbac.authorization.k8s.io"


def add_deployment(manager: Manager, ground: Ground | GroundFactory, *, home: Home) -> None:
    """Deploy the ClusterProviders of the platform on this ground; a class of grounds is made one for the manager."""
    place: Ground = ground(manager, home) if callable(ground) else ground
    seen = Seen(manager)
    reconciler = ProviderReconciler(manager, seen, place)
    wakes = ProviderWakes(seen, reconciler)
    seen.providers.subscribe(lambda _: None, cleared=reconciler.begin_anew)
    sources: list[Source[Any]] = [
        Source(store=seen.providers, when=wakes.provider_asks),
        Source(store=seen.profiles, keys=wakes.profile_to_providers),
        Source(store=seen.clusters, keys=wakes.cluster_to_providers),
    ]
    controller = Controller("deployment", reconciler, sources)
    manager.add(controller)
    manager.background(lambda: place.watch(controller.enqueue))


def _rule(group: str, *resources: str, verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


_PROVIDER, _PROFILE, _CLUSTER = ClusterProvider.API, ClusterProfile.API, Cluster.API

# What the operator may do in the whole cluster to deploy providers.
#
# RBAC lets nobody hand out more than they have. Providers may need anything: what their objects say, or everything if
# those say nothing. So the operator has ``escalate`` (write roles with rights that it lacks) and ``bind`` (give roles
# that it lacks to others), which together are as good as everything. That is the price of deploying providers, and
# of nothing else: an operator without the deployment is given neither these rules nor those below.
RIGHTS: list[dict[str, Any]] = [
    _rule(_PROVIDER.group, _PROVIDER.plural, verbs=[*_READ, "patch"]),
    _rule(_PROVIDER.group, f"{_PROVIDER.plural}/status", verbs=["patch"]),
    _rule(_PROFILE.group, _PROFILE.plural, verbs=[*_READ, "delete"]),
    _rule(_CLUSTER.group, _CLUSTER.plural, verbs=_READ),
    _rule(_RBAC, "clusterroles", verbs=[*_KEEP, "escalate", "bind"]),
    _rule(_RBAC, "clusterrolebindings", verbs=_KEEP),
    _rule(EVENTS.group, EVENTS.plural, verbs=["create", "patch"]),
]

# And in the namespace that the providers are at home in, for a ground of Pods. It reads no Secrets.
HOME_RIGHTS: list[dict[str, Any]] = [
    _rule("", "serviceaccounts", "services", verbs=_KEEP),
    _rule("", "pods", verbs=_READ),
    _rule("apps", "deployments", verbs=_KEEP),
    _rule("apps", "replicasets", verbs=["list"]),
    _rule("batch", "jobs", verbs=_KEEP),
    _rule("coordination.k8s.io", "leases", verbs=["get", "delete"]),
    _rule(_RBAC, "roles", verbs=[*_KEEP, "escalate", "bind"]),
    _rule(_RBAC, "rolebindings", verbs=_KEEP),
]
