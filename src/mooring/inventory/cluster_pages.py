"""All that is known about one cluster, as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mooring.api.access import AccessRequest
from mooring.api.clusters import Cluster, Endpoint
from mooring.api.conditions import Condition
from mooring.api.marks import DELETE_WITHOUT_REQUESTS_LABEL, PROVIDER_INFO_ANNOTATION, claimant_of
from mooring.api.purposes import PurposeSpec
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.inventory.clusters import ClusterRow, cluster_row
from mooring.inventory.events import Happening, recent
from mooring.inventory.holders import AccessRow, Holder, Requests
from mooring.kube import key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What was read beside the cluster; None for what could not be."""

    purposes: Mapping[str, PurposeSpec]
    requests: Sequence[ClusterRequest] | None = None
    grants: Sequence[ClusterRequestGrant] | None = None
    access: Sequence[AccessRequest] | None = None
    events: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPage:
    """A cluster, who has to do with it, and what happened to it."""

    cluster: ClusterRow
    uid: str
    asked_version: str  # of the spec; the row has what runs
    configs: tuple[str, ...]
    info: str  # the provider's own words about it
    goes_with_its_last_request: bool
    leaving_since: str
    kept_by: tuple[str, ...]  # finalizers that are no claims
    observed: bool  # whether the status speaks of the spec as it is now
    conditions: tuple[Condition, ...]
    endpoints: tuple[Endpoint, ...]
    holders: tuple[Holder, ...]
    access: tuple[AccessRow, ...]
    events: tuple[Happening, ...]
    unseen: tuple[str, ...]  # what could not be read, so that its absence on this page says nothing


def cluster_page(cluster: Cluster, around: Surroundings) -> ClusterPage:
    """The page of a cluster."""
    metadata, spec, status = cluster.metadata, cluster.spec, cluster.status
    requests = Requests(around.requests, around.grants)
    return ClusterPage(
        cluster=cluster_row(cluster, around.purposes),
        uid=metadata.uid,
        asked_version=spec.kubernetes.version,
        configs=tuple(one.name for one in spec.cluster_configs),
        info=metadata.annotations.get(PROVIDER_INFO_ANNOTATION, ""),
        goes_with_its_last_request=metadata.labels.get(DELETE_WITHOUT_REQUESTS_LABEL) == "true",
        leaving_since=metadata.deletion_timestamp,
        kept_by=tuple(one for one in metadata.finalizers if claimant_of(one) is None),
        observed=status is not None and status.observed_generation == metadata.generation,
        conditions=status.conditions if status is not None else (),
        endpoints=_endpoints(cluster),
        holders=requests.holders(cluster),
        access=requests.entering(key_of(cluster), around.access or ()),
        events=recent(around.events or ()),
        unseen=_unseen(around),
    )


def _endpoints(cluster: Cluster) -> tuple[Endpoint, ...]:
    status = cluster.status
    if status is None:
        return ()
    # Older providers tell only this one.
    extra = status.api_server and status.api_server not in {one.url for one in status.endpoints}
    return (*status.endpoints, Endpoint(name="apiServer", url=status.api_server)) if extra else status.endpoints


def _unseen(around: Surroundings) -> tuple[str, ...]:
    read = {
        "clusterrequests": around.requests,
        "clusterrequestgrants": around.grants,
        "accessrequests": around.access,
        "events": around.events,
    }
    return tuple(name for name, found in read.items() if found is None)
