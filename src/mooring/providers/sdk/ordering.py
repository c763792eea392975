"""From a Cluster to the order that its provider is given: everything is looked up here, and nothing is written.

What cannot be looked up, or makes no sense, is a :class:`Refused` with the field and the remedy; whoever changes that
wakes the cluster again (``wakes``).
"""

from __future__ import annotations

from typing import Any

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.kube import Object, ObjectKey, key_of
from mooring.providers.sdk.configs import provider_named_by, read_as
from mooring.providers.sdk.naming import variant_of
from mooring.providers.sdk.provider import Order, Refused
from mooring.providers.sdk.seen import Seen
from mooring.providers.sdk.versions import version_for
from mooring.runtime import TryAgain

CONFIG_MISSING = "ConfigMissing"
CLUSTER_CONFIG_MISSING = "ClusterConfigMissing"
NO_CLUSTER_CONFIGS = "ClusterConfigsUnsupported"


def order_of(
    cluster: Cluster, profile: ClusterProfile, seen: Seen, *, running: str
) -> tuple[Order[Any], Refused | None]:
    """The order for a cluster that is wanted. ``running``: the version that it was last seen to run.

    A cluster that runs is kept running also when it is asked to become what it cannot be; then the refusal comes with
    the order for what it is.
    """
    config = _config(profile, seen)
    if not seen.is_ours(config):
        raise Refused(
            f"The {seen.provider.config.API.kind} {key_of(config)} of the profile is meant for another provider: "
            f"spec.providerRef.name is {provider_named_by(config)!r}.",
            reason=CONFIG_MISSING,
        )
    refusal: Refused | None = None
    try:
        version = version_for(cluster.spec.kubernetes.version, profile.spec.supported_versions, running=running)
    except Refused as error:
        if not running:
            raise
        version, refusal = running, error
    configs = [_cluster_config(key, seen) for key in _cluster_config_keys(cluster, seen)]
    return _order(cluster, profile, seen, config, version, configs, running), refusal


def last_order_of(cluster: Cluster, profile: ClusterProfile, seen: Seen, *, running: str) -> Order[Any]:
    """The order for a cluster that is to go: with what is still there. Its version does not matter any more."""
    store = seen.cluster_configs
    there = [] if store is None else [store.get(key) for key in _cluster_config_keys(cluster, seen)]
    configs = []
    for one in there:
        try:
            configs.append(read_as(_kind(seen), one) if one is not None else None)
        except Refused:
            continue  # spoiled: as good as gone
    version = running or cluster.spec.kubernetes.version
    found = [one for one in configs if one is not None]
    return _order(cluster, profile, seen, _config(profile, seen), version, found, running)


def _order(
    cluster: Cluster,
    profile: ClusterProfile,
    seen: Seen,
    config: Object,
    version: str,
    configs: list[Any],
    running: str,
) -> Order[Any]:
    variant = variant_of(profile, environment=seen.environment)
    if variant is None:
        raise TryAgain(f"the profile {profile.metadata.name} does not tell which variant it stands for")
    return Order(
        key=key_of(cluster),
        uid=cluster.metadata.uid,
        profile=profile.metadata.name,
        variant=variant,
        config=read_as(seen.provider.config, config),
        version=version,
        wanted=cluster.spec.kubernetes.version,
        cluster_configs=configs,
        running=running,
        noted=cluster.status.provider_status if cluster.status is not None else {},
    )


def _config(profile: ClusterProfile, seen: Seen) -> Object:
    name = profile.spec.provider_config_ref.name
    config = seen.configs.get(ObjectKey("", name))
    if config is None:
        kind = seen.provider.config.API.kind
        raise Refused(
            f"The {kind} {name} of the profile {profile.metadata.name} does not exist; create it again.",
            reason=CONFIG_MISSING,
        )
    return config


def _kind(seen: Seen) -> Any:
    return seen.provider.cluster_config


def _cluster_config_keys(cluster: Cluster, seen: Seen) -> list[ObjectKey]:
    named = [ObjectKey(cluster.metadata.namespace, one.name) for one in cluster.spec.cluster_configs]
    if named and seen.cluster_configs is None and not cluster.metadata.deleting:
        raise Refused(
            "spec.clusterConfigs: the provider of this cluster knows no such configuration; leave it empty.",
            reason=NO_CLUSTER_CONFIGS,
        )
    return named


def _cluster_config(key: ObjectKey, seen: Seen) -> Any:
    found = seen.cluster_configs.get(key) if seen.cluster_configs is not None else None
    if found is None:
        raise Refused(
            f"spec.clusterConfigs: there is no {_kind(seen).API.kind} {key.name} in the namespace {key.namespace}; "
            f"create it, or take it out of the list.",
            reason=CLUSTER_CONFIG_MISSING,
        )
    return read_as(_kind(seen), found)
