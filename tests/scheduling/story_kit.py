"""Small worlds for stories: objects are written as they would be in a file, and come out as the types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mooring.api.claims import Claim, with_claims
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.providers import ClusterProvider
from mooring.api.purposes import Purpose, TraitEquivalence
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.scheduling.catalogue import Catalogue
from mooring.scheduling.fleet import Fleet
from mooring.scheduling.story import Story, story

NAMESPACE = "shop"


def a_request(name: str = "web", *, labels: dict[str, str] | None = None, status: Any = None, **spec: Any) -> Any:
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-of-{name}", "labels": labels or {}}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, ClusterRequest)


def a_purpose(name: str, **spec: Any) -> Purpose:
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, Purpose)


def a_profile(name: str, *, traits: Sequence[str] = (), versions: Sequence[str] = ("1.33.3",), **spec: Any) -> Any:
    """Versions that end in ``!`` are deprecated."""
    supported = [{"version": one.rstrip("!"), "deprecated": one.endswith("!")} for one in versions]
    whole = {
        "providerRef": {"name": "local"},
        "providerConfigRef": {"name": name},
        "supportedVersions": supported,
        "supportedTraits": [{"trait": one} for one in traits],
    }
    return msgspec.convert({"metadata": {"name": name}, "spec": {**whole, **spec}}, ClusterProfile)


def a_cluster(name: str, *purposes: str, holders: Sequence[str] = (), **said: Any) -> Cluster:
    """Held by the requests of these names; ``labels``, ``deleting`` and ``ready`` beside fields of the spec."""
    metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE, "labels": said.pop("labels", {})}
    if said.pop("deleting", False):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    ready = said.pop("ready", "True")
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "Told",
        "message": "the API server does not answer" if ready == "False" else "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"observedGeneration": 1, "phase": "Ready", "conditions": [condition]}
    spec = {"profile": "local", "tenancy": "Shared", "purposes": purposes, "kubernetes": {"version": "1.33.3"}, **said}
    made = msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Cluster)
    claims = [
        Claim(
            uid=f"uid-of-{one}",
            namespace=NAMESPACE,
            name=one,
            prefix=f"{one}-" if made.spec.tenancy == "Shared" else "",
        )
        for one in holders
    ]
    return msgspec.structs.replace(made, metadata=with_claims(made.metadata, claims))


def a_grant(name: str, cluster: str, prefix: str = "") -> ClusterRequestGrant:
    metadata = {"name": name, "namespace": NAMESPACE, "creationTimestamp": "2026-01-01T12:00:00Z"}
    spec = {"clusterRef": {"name": cluster, "namespace": NAMESPACE}, "prefix": prefix}
    return msgspec.convert({"metadata": metadata, "spec": spec}, ClusterRequestGrant)


def an_equivalence(*traits: str) -> TraitEquivalence:
    return msgspec.convert({"metadata": {"name": traits[0]}, "spec": {"traits": traits}}, TraitEquivalence)


def a_provider(name: str) -> ClusterProvider:
    return msgspec.convert({"metadata": {"name": name}, "spec": {"image": "there"}}, ClusterProvider)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    request: ClusterRequest
    purposes: Sequence[Purpose] = ()
    profiles: Sequence[ClusterProfile] = ()
    clusters: Sequence[Cluster] = ()
    equivalences: Sequence[TraitEquivalence] = ()
    providers: Sequence[ClusterProvider] = ()
    grant: ClusterRequestGrant | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def told(self) -> Story:
        catalogue = Catalogue(
            purposes=self.purposes,
            profiles=self.profiles,
            equivalences=self.equivalences,
            providers=self.providers,
            **self.extra,
        )
        fleet = Fleet.of(self.clusters, labels=catalogue.labels, by_namespace=catalogue.by_namespace)
        return story(self.request, catalogue, fleet, grant=self.grant)
