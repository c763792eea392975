"""New clusters on paper: what they are called, where they are, and what is in them. Names are upstream's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from mooring.api.clusters import Cluster, ClusterSpec, KubernetesConfig
from mooring.api.kinds import Metadata
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, PROPAGATED_PREFIX, RANDOMIZE_NAME_LABEL
from mooring.api.names import name_hash
from mooring.api.requests import ClusterRequest
from mooring.kube import ObjectKey
from mooring.scheduling.asking import Ask, Unanswerable
from mooring.scheduling.reasons import Reason

_LONGEST_BEGINNING: Final = 55  # what eight characters of hash leave of a name that must also do as a label
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_NAME: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")


def place_of(request: ClusterRequest, ask: Ask) -> ObjectKey | Unanswerable:
    """What a new cluster for this request is called, and where it is."""
    metadata = request.metadata
    if names_are_counted(ask):
        beginning = ask.template.metadata.generate_name or f"{ask.purposes[0]}-"
        if len(beginning) > _LONGEST_BEGINNING:
            return _unusable(ask, beginning, f"is longer than {_LONGEST_BEGINNING} characters")
        # The random name of one request is always the same, so a creation that was interrupted is found again.
        own = (metadata.uid,) if is_randomized(metadata.labels) else (metadata.namespace, metadata.name)
        name = beginning + name_hash(*own)
    else:
        name = ask.template.metadata.name or ask.purposes[0]
    if _NAME.fullmatch(name) is None:
        return _unusable(ask, name, "is no name that Kubernetes takes")
    return ObjectKey(ask.template.metadata.namespace or metadata.namespace, name)


def names_are_counted(ask: Ask) -> bool:
    """Whether each new cluster has a name of its own; else one cluster, under one name, serves all who ask so."""
    return bool(ask.dedicated or ask.seats or ask.template.metadata.generate_name)


def drafted(request: ClusterRequest, ask: Ask, *, place: ObjectKey, profile: str, version: str) -> Cluster:
    """The new cluster, as it will be created; nobody's claim is on it yet."""
    template = ask.template
    labels = {DELETE_WITHOUT_REQUESTS_LABEL: "true", **template.metadata.labels}
    annotations = dict(template.metadata.annotations)
    metadata = Metadata(name=place.name, namespace=place.namespace, labels=labels, annotations=annotations)
    spec = ClusterSpec(
        profile=profile,
        tenancy=ask.tenancy,
        purposes=tuple(dict.fromkeys((*template.spec.purposes, *ask.purposes))),
        kubernetes=KubernetesConfig(version=version),
        cluster_configs=template.spec.cluster_configs,
    )
    draft = Cluster(metadata=metadata, spec=spec)
    return with_propagated(draft, request) if ask.dedicated else draft


def with_propagated(cluster: Cluster, request: ClusterRequest) -> Cluster:
    """The cluster with the labels and annotations that are to be seen on it as on the request it serves alone."""
    labels = {**cluster.metadata.labels, **_propagated(request.metadata.labels)}
    annotations = {**cluster.metadata.annotations, **_propagated(request.metadata.annotations)}
    metadata = msgspec.structs.replace(cluster.metadata, labels=labels, annotations=annotations)
    return msgspec.structs.replace(cluster, metadata=metadata)


def is_randomized(labels: Mapping[str, str]) -> bool:
    """Whether the request wants a random name: the label is there, and does not say false."""
    return labels.get(RANDOMIZE_NAME_LABEL, "false") != "false"


def _propagated(marks: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in marks.items() if name.startswith(PROPAGATED_PREFIX)}


def _unusable(ask: Ask, name: str, why: str) -> Unanswerable:
    purpose = ask.template_of or ask.purposes[0]
    return Unanswerable(
        Reason.INVALID_PURPOSE,
        f"A new cluster cannot be named: {name!r} {why}. Set spec.template.metadata.generateName of the purpose "
        f"{purpose} to a short beginning of lower-case letters, digits and hyphens.",
        final=True,
    )
