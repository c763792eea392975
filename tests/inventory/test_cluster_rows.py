"""Rows and pages of clusters, from plain values."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api.access import AccessRequest
from mooring.api.claims import Claim, with_claims
from mooring.api.clusters import Cluster
from mooring.api.purposes import PurposeSpec
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.inventory import ClusterPage, Standing, Surroundings, cluster_page, cluster_row, seats_of
from mooring.testing.builders import access_request, an_object, cluster, cluster_request

PURPOSES = {
    "any": PurposeSpec(),
    "three": PurposeSpec(tenancy_count=3),
    "two": PurposeSpec(tenancy_count=2),
}


def made(name: str = "one", *, meta: dict[str, Any] | None = None, status: Any = None, **more: Any) -> Cluster:
    document = cluster(name, "shop", **more)
    document["metadata"] |= {"uid": f"uid-of-{name}", "generation": 1, **(meta or {})}
    return msgspec.convert(document | ({"status": status} if status else {}), Cluster)


def held(thing: Cluster, *claims: Claim) -> Cluster:
    return msgspec.structs.replace(thing, metadata=with_claims(thing.metadata, claims))


@pytest.mark.parametrize(
    ("tenancy", "purposes", "seats"),
    [
        ("Exclusive", ["three"], 1),
        ("Shared", ["any"], 0),
        ("Shared", ["three"], 3),
        ("Shared", ["three", "any", "two"], 2),
        ("Shared", ["unheard-of"], 0),
        ("Shared", ["unheard-of", "three"], 3),
    ],
)
def test_the_strictest_purpose_says_how_many_seats_there_are(tenancy: str, purposes: list[str], seats: int) -> None:
    assert seats_of(made(tenancy=tenancy, purposes=purposes), PURPOSES) == seats


def test_a_row_tells_what_runs_and_how_it_is() -> None:
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "Starting",
        "message": "It starts.",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"observedGeneration": 1, "phase": "Progressing", "conditions": [ready]}
    labels = {
        "clusters.openmcp.cloud/k8sversion": "1.33.4",
        "clusters.openmcp.cloud/provider": "local",
        "mooring.dev/warm": "two",
    }
    row = cluster_row(made(meta={"labels": labels}, status=status, kubernetes={"version": "1.33.3"}), PURPOSES)
    assert (row.version, row.provider, row.warm) == ("1.33.4", "local", "two")
    assert (row.phase, row.ready, row.reason, row.message) == ("Progressing", "False", "Starting", "It starts.")


def test_a_row_of_a_cluster_that_nobody_has_looked_at() -> None:
    row = cluster_row(made(kubernetes={"version": "1.33.3"}), PURPOSES)
    assert (row.version, row.phase, row.ready, row.taken, row.seats) == ("1.33.3", "", "", 0, 0)


def test_a_cluster_that_is_leaving_says_so_whatever_its_status_says() -> None:
    status = {"observedGeneration": 1, "phase": "Ready"}
    row = cluster_row(made(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}, status=status), PURPOSES)
    assert row.phase == "Terminating"


# -- who has to do with it ------------------------------------------------------------------------------------------


def asked(name: str, uid: str, **more: Any) -> ClusterRequest:
    document = cluster_request(name, "team") | more
    document["metadata"] |= {"uid": uid}
    return msgspec.convert(document, ClusterRequest)


def granted(name: str, owner: str, to: str = "one") -> ClusterRequestGrant:
    document = an_object(ClusterRequestGrant, name, "team", spec={"clusterRef": {"name": to, "namespace": "shop"}})
    request = {"apiVersion": "x/v1", "kind": "ClusterRequest", "name": name, "uid": owner}
    document["metadata"] |= {"creationTimestamp": "2026-02-02T00:00:00Z", "ownerReferences": [request]}
    return msgspec.convert(document, ClusterRequestGrant)


def page(thing: Cluster, **around: Any) -> ClusterPage:
    everything: dict[str, Any] = {"requests": [], "grants": [], "access": [], "events": []}
    return cluster_page(thing, Surroundings(purposes=PURPOSES, **(everything | around)))


def test_holders_are_told_with_what_is_known_of_their_requests() -> None:
    thing = held(
        made(meta={"finalizers": ["clusters.openmcp.cloud/finalizer"]}),
        Claim(uid="u1", namespace="team", name="web", prefix="web-"),
        Claim(uid="u2", namespace="team", name="api"),
        Claim(uid="u3"),
        Claim(uid="u4", namespace="team", name="old"),
    )
    leaving = asked("api", "u2")
    leaving = msgspec.structs.replace(
        leaving, metadata=msgspec.structs.replace(leaving.metadata, deletion_timestamp="2026-03-03T00:00:00Z")
    )
    # The last claim is of an earlier request of the same name.
    requests = [asked("web", "u1"), leaving, asked("nameless", "u3"), asked("old", "u5")]
    grants = [granted("web", "u1"), granted("api", "u2", to="another"), granted("old", "u5")]
    told = page(thing, requests=requests, grants=grants)
    assert [(one.name, one.prefix, one.since[:4], one.request) for one in told.holders] == [
        ("web", "web-", "2026", Standing.THERE),
        ("api", "", "", Standing.LEAVING),
        ("nameless", "", "", Standing.THERE),
        ("old", "", "", Standing.GONE),
    ]
    assert told.kept_by == ("clusters.openmcp.cloud/finalizer",)


def test_what_could_not_be_read_is_not_taken_for_absent() -> None:
    thing = held(made(), Claim(uid="u1", namespace="team", name="web"))
    told = page(thing, requests=None, grants=None, access=None, events=None)
    assert [one.request for one in told.holders] == [Standing.UNKNOWN]
    assert told.unseen == ("clusterrequests", "clusterrequestgrants", "accessrequests", "events")


def test_access_is_found_by_the_cluster_the_grant_or_the_status() -> None:
    def access(name: str, **spec: Any) -> AccessRequest:
        return msgspec.convert(access_request(name, "team", **spec), AccessRequest)

    here = {"name": "one", "namespace": "shop"}
    found = [
        access("a-direct", clusterRef=here, token={}),
        access("b-elsewhere", clusterRef={"name": "one"}, token={}),
        access("c-granted", requestRef={"name": "web"}, token={}, ttl="8h"),
        access("d-told", requestRef={"name": "api"}, token={}),
        access("e-moved", requestRef={"name": "moved"}, token={}),
        access("f-cluster-counts", clusterRef={"name": "two", "namespace": "shop"}, requestRef={"name": "web"}),
        access("g-unknown", requestRef={"name": "nobody"}, token={}),
    ]
    told = {"observedGeneration": 1, "phase": "Granted", "cluster": here}
    requests = [asked("web", "u1"), asked("api", "u2", status=told), asked("moved", "u3", status=told)]
    grants = [granted("web", "u1"), granted("moved", "u3", to="two")]
    rows = page(made(), requests=requests, grants=grants, access=found).access
    assert [(one.name, one.through, one.ttl, one.phase) for one in rows] == [
        ("a-direct", "", "", "Pending"),
        ("c-granted", "team/web", "8h", "Pending"),
        ("d-told", "team/api", "", "Pending"),
    ]


def test_an_address_is_told_once() -> None:
    both = {"apiServer": "https://a", "endpoints": [{"name": "apiserver-external", "url": "https://a"}]}
    old = {"apiServer": "https://b"}
    for status, names in ((both, ["apiserver-external"]), (old, ["apiServer"])):
        told = page(made(status={"observedGeneration": 1, "phase": "Ready", **status}))
        assert [one.name for one in told.endpoints] == names
    assert page(made()).endpoints == ()


def test_events_come_newest_first_and_not_without_end() -> None:
    many = [{"metadata": {}, "eventTime": f"2026-01-01T00:00:{second:02}.000001Z"} for second in range(30)]
    old = {
        "metadata": {"creationTimestamp": "2026-01-02T00:00:00Z"},
        "type": "Warning",
        "reason": "Broken",
        "note": "It broke.",
        "deprecatedCount": 7,
        "deprecatedLastTimestamp": "2026-01-03T00:00:00Z",
        "deprecatedSource": {"component": "kubelet"},
    }
    told = page(made(), events=[*many, old]).events
    assert len(told) == 20
    first = told[0]
    assert (first.last, first.count, first.warning, first.by) == ("2026-01-03T00:00:00Z", 7, True, "kubelet")
    assert told[1].last.startswith("2026-01-01T00:00:29")
    series = {"metadata": {}, "series": {"count": 3, "lastObservedTime": "2026-01-04T00:00:00Z"}, "eventTime": "x"}
    assert page(made(), events=[series]).events[0].count == 3
