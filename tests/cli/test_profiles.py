"""``mooring profile`` against a real API server."""

from __future__ import annotations

import json

import yaml
from cluster_kit import a_cluster, a_profile
from quiet_kit import Quiet, called

from mooring.kube import Client


async def test_the_list(quiet: Quiet, there: Client, room: str) -> None:
    versions = [{"version": "1.32.1", "deprecated": True}, {"version": "1.33.3"}]
    traits = [{"trait": "infrastructure/vendor/aws"}, {"name": "a"}]
    await a_profile(there, f"{room}.a", provider="p", supportedVersions=versions, supportedTraits=traits, maxClusters=5)
    await a_profile(there, f"{room}.b", provider="q", supportedVersions=[])
    await a_cluster(there, "one", room, profile=f"{room}.a")

    # Others leave profiles on this platform as well.
    header, *lines = quiet.run("profile", "list").out.splitlines()
    assert header.split() == ["NAME", "PROVIDER", "CONFIG", "CLUSTERS", "VERSIONS", "TRAITS"]
    mine = [" ".join(line.split()) for line in lines if line.startswith(f"{room}.")]
    assert mine == [
        f"{room}.a p {room}.a 1/5 1.33.3, 1.32.1 (deprecated) a, infrastructure/vendor/aws",
        f"{room}.b q {room}.b 0 - -",
    ]
    assert quiet.run("profile", "list", "-o", "wide").out.splitlines()[0].endswith("AGE")

    as_json = json.loads(quiet.run("profile", "list", "-o", "json").out)
    assert as_json == yaml.safe_load(quiet.run("profile", "list", "-o", "yaml").out)
    found = {one["metadata"]["name"]: one for one in as_json["items"]}
    assert found[f"{room}.a"]["spec"]["supportedVersions"] == versions
    assert {one["kind"] for one in as_json["items"]} == {"ClusterProfile"}


def test_words() -> None:
    assert "mooring profile [OPTIONS]" in called("profile", "--help").out
    assert "mooring profile list [OPTIONS]" in called("profile", "list", "--help").out
    assert "'table' is not one of" in called("profile", "list", "-o", "table", code=2).err
