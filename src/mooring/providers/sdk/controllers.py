"""A provider on a manager: its controllers, what wakes them, and what they may do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.kinds import Kind
from mooring.kube import ObjectKey
from mooring.providers.sdk.clusters import ClusterReconciler
from mooring.providers.sdk.drift import Drift
from mooring.providers.sdk.granting.controllers import RIGHTS as GRANTING_RIGHTS
from mooring.providers.sdk.granting.controllers import Granting, add_granting
from mooring.providers.sdk.granting.leaving import Leaver
from mooring.providers.sdk.holding import Holding
from mooring.providers.sdk.naming import cluster_finalizer, is_name
from mooring.providers.sdk.provider import Provider
from mooring.providers.sdk.publishing import Publisher
from mooring.providers.sdk.seen import Seen
from mooring.providers.sdk.wakes import ClusterWakes, ConfigWakes
from mooring.runtime import Controller, Manager, Source
from mooring.runtime.recorder import EVENTS

Rights = list[dict[str, Any]]

# Many at once: a provider that is slow for some clusters must not keep the others waiting.
WORKERS = 64
_READ = ["get", "list", "watch"]
_DEFINITIONS = {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}


def add_provider(manager: Manager, provider: Provider[Any], *, name: str, environment: str) -> Granting:
    """Add one instance of a provider. Several may be on one manager, of one implementation or of several."""
    for word, text in (("provider", name), ("environment", environment)):
        if not is_name(text):
            raise ValueError(
                f"{text!r} cannot be the name of the {word}: "
                f"use up to 63 lower-case letters, digits, inner hyphens and dots."
            )
    provider.platform = manager.client
    seen = Seen(manager, provider, name=name, environment=environment)
    granting = add_granting(manager, seen)
    holding = Holding(manager, seen)
    configs, clusters = (
        _add_publishing(manager, seen, holding),
        _add_clusters(manager, seen, holding, granting.leaver),
    )

    def wake(key: ObjectKey) -> None:
        (clusters if key.namespace else configs).enqueue(key)

    manager.background(lambda: provider.watch(wake))
    return granting


def _add_publishing(manager: Manager, seen: Seen, holding: Holding) -> Controller:
    publisher = Publisher(manager, seen, holding)
    wakes = ConfigWakes(seen, publisher, holding)
    sources: list[Source[Any]] = [
        Source(store=seen.configs, when=wakes.config_asks),
        Source(store=seen.profiles, keys=wakes.profile_to_config),
        Source(store=seen.clusters, keys=wakes.cluster_to_config),
    ]
    controller = Controller(f"{seen.name}-profiles", publisher, sources)
    manager.add(controller)
    return controller


def _add_clusters(manager: Manager, seen: Seen, holding: Holding, leaver: Leaver) -> Controller:
    drift = Drift(cluster_finalizer(seen.provider.config))
    wakes = ClusterWakes(seen, drift)
    reconciler = ClusterReconciler(manager, seen, drift, holding, leaver)
    seen.clusters.subscribe(lambda _: None, cleared=reconciler.begin_anew)
    sources: list[Source[Any]] = [
        Source(store=seen.clusters, when=wakes.cluster_asks),
        Source(store=seen.profiles, keys=wakes.profile_to_clusters),
        Source(store=seen.configs, keys=wakes.config_to_clusters),
    ]
    if seen.cluster_configs is not None:
        sources.append(Source(store=seen.cluster_configs, keys=wakes.cluster_config_to_clusters))
    controller = Controller(f"{seen.name}-clusters", reconciler, sources, workers=WORKERS)
    manager.add(controller)
    return controller


def rights_of(provider: Provider[Any] | type[Provider[Any]]) -> Rights:
    """What an instance may do on the platform, and no more: rules for its ClusterRole."""
    rights = [
        *_rights(Cluster, [*_READ, "patch"]),
        *_rights(ClusterProfile, [*_READ, "create", "patch", "delete"]),
        *_rights(provider.config, [*_READ, "patch"]),
        {"apiGroups": [EVENTS.group], "resources": [EVENTS.plural], "verbs": ["create", "patch"]},
    ]
    if provider.cluster_config is not None:
        rights += _rights(provider.cluster_config, _READ, status=False)
    return [*rights, *(dict(rule) for rule in GRANTING_RIGHTS), *(dict(rule) for rule in provider.rights)]


def init_rights_of(provider: Provider[Any] | type[Provider[Any]]) -> Rights:
    """What ``init`` may do: its definitions, and a look whether they are served."""
    kinds = kinds_of(provider)
    named = {**_DEFINITIONS, "resourceNames": [kind.API.definition_name for kind in kinds]}
    return [
        {**_DEFINITIONS, "verbs": ["create"]},  # a creation cannot be tied to a name
        {**named, "verbs": ["get", "update"]},
        *(rule for kind in kinds for rule in _rights(kind, ["list"], status=False)),
    ]


def lease_rights(name: str) -> Rights:
    """What replicas of an instance need to elect their leader, in the namespace that they run in."""
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    return [
        {**leases, "verbs": ["create"]},
        {**leases, "resourceNames": [lease_name(name)], "verbs": ["get", "update"]},
    ]


def lease_name(name: str) -> str:
    return f"cluster-provider-{name}"


def kinds_of(provider: Provider[Any] | type[Provider[Any]]) -> Sequence[type[Kind]]:
    """The kinds that a provider brings."""
    own = (provider.config, provider.cluster_config, *provider.more_kinds)
    return [kind for kind in own if kind is not None]


def _rights(kind: type[Kind], verbs: Sequence[str], *, status: bool = True) -> Rights:
    api = kind.API
    rights: Rights = [{"apiGroups": [api.group], "resources": [api.plural], "verbs": list(verbs)}]
    if status and api.has_status:
        rights.append({"apiGroups": [api.group], "resources": [f"{api.plural}/status"], "verbs": ["patch"]})
    return rights
