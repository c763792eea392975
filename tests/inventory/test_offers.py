"""Rows of profiles and providers, from plain values."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.providers import ClusterProvider
from mooring.inventory import profile_rows, provider_rows
from mooring.testing.builders import an_object, cluster, cluster_profile


def profile(name: str, *, provider: str = "local", **spec: Any) -> ClusterProfile:
    document = cluster_profile(name, provider=provider)
    document["spec"] |= spec
    return msgspec.convert(document, ClusterProfile)


def made(name: str, profile: str, *, by: str = "") -> Cluster:
    document = cluster(name, "shop", profile=profile)
    document["metadata"]["labels"] = {"clusters.openmcp.cloud/provider": by} if by else {}
    return msgspec.convert(document, Cluster)


def provider(name: str, status: dict[str, Any] | None = None, **meta: Any) -> ClusterProvider:
    document = an_object(ClusterProvider, name, spec={"image": f"registry/{name}:1"})
    document["metadata"] |= meta
    return msgspec.convert(document | ({"status": status} if status else {}), ClusterProvider)


def test_versions_come_newest_first_and_clusters_are_counted() -> None:
    versions = [{"version": text} for text in ("1.9.10", "strange", "1.33.3-rc.1", "1.33.3", "1.10.2")]
    versions[0]["deprecated"] = True  # type: ignore[assignment]
    traits = [{"trait": "b"}, {"name": "a"}]
    small = profile("small", supportedVersions=versions, supportedTraits=traits, maxClusters=4)
    rows = profile_rows([small, profile("big")], [made("x", "small"), made("y", "small"), made("z", "gone")])
    assert [(row.name, row.clusters, row.max_clusters) for row in rows] == [("big", 0, 0), ("small", 2, 4)]
    assert [one.version for one in rows[1].versions] == ["1.33.3", "1.33.3-rc.1", "1.10.2", "1.9.10", "strange"]
    assert [one.version for one in rows[1].versions if one.deprecated] == ["1.9.10"]
    assert rows[1].traits == ("a", "b")
    assert profile_rows([small], None)[0].clusters is None


def test_providers_are_there_by_declaration_or_by_what_they_publish() -> None:
    status = {"observedGeneration": 1, "phase": "Ready", "ready": True, "reason": "AllGood"}
    rows = provider_rows(
        [provider("local", status), provider("silent")],
        [profile("b"), profile("a"), profile("c", provider="stranger")],
        [made("x", "a"), made("y", "c"), made("z", "gone", by="local"), made("w", "gone")],
    )
    told = [(row.name, row.declared, row.phase, row.ready, row.profiles, row.clusters) for row in rows]
    assert told == [
        ("local", True, "Ready", "True", ("a", "b"), 2),
        ("silent", True, "", "", (), 0),
        ("stranger", False, "", "", ("c",), 1),
    ]
    assert provider_rows([], [profile("a")], None)[0].clusters is None


def test_a_provider_is_ready_as_its_condition_says() -> None:
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "InitFailed",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    conditioned = {"observedGeneration": 1, "phase": "Progressing", "ready": True, "conditions": [ready]}
    (row,) = provider_rows([provider("a", conditioned, deletionTimestamp="2026-01-01T00:00:00Z")], [], [])
    assert (row.phase, row.ready) == ("Uninstalling", "False")
