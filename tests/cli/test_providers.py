"""``mooring provider``: the list against a real API server, and the files that ``new`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from cluster_kit import a_cluster, a_profile
from quiet_kit import Quiet, called

from mooring.api.providers import ClusterProvider
from mooring.kube import Client, MergePatch, typed
from mooring.testing.builders import an_object

PROVIDERS = typed(ClusterProvider)


async def test_the_list(quiet: Quiet, there: Client, room: str) -> None:
    declared, published = f"declared-{room}", f"published-{room}"
    await there.create(PROVIDERS, an_object(ClusterProvider, declared, spec={"image": "registry/local:1"}))
    status = {"observedGeneration": 1, "phase": "Ready", "ready": True, "reason": "AllGood", "message": "It\nworks."}
    await there.patch(PROVIDERS, declared, MergePatch({"status": status}), subresource="status")
    for name, provider in (("a", declared), ("b", declared), ("c", published)):
        await a_profile(there, f"{room}.{name}", provider=provider)
    await a_cluster(there, "one", room, profile=f"{room}.b")
    try:
        header, *lines = quiet.run("provider", "list").out.splitlines()
        assert header.split() == ["NAME", "PHASE", "READY", "IMAGE", "CLUSTERS", "PROFILES"]
        assert [" ".join(line.split()) for line in lines if room in line] == [
            f"{declared} Ready True registry/local:1 1 {room}.a, {room}.b",
            f"{published} (not declared) - - 0 {room}.c",
        ]
        wide = quiet.run("provider", "list", "-o", "wide").out
        assert "AllGood  It works." in wide
        as_json = json.loads(quiet.run("provider", "list", "-o", "json").out)
        assert as_json == yaml.safe_load(quiet.run("provider", "list", "-o", "yaml").out)
        rows = {one["name"]: one for one in as_json["items"]}
        assert rows[declared]["profiles"] == [f"{room}.a", f"{room}.b"]
        assert (rows[published]["declared"], rows[published]["clusters"]) == (False, 0)
    finally:
        # A provider of which scheduling waits to hear would change what other tests on this platform see.
        await there.delete(PROVIDERS, declared)


def test_a_provider_to_begin_with(tmp_path: Path) -> None:
    said = called("provider", "new", "my-cloud", "--into", str(tmp_path)).out
    directory = tmp_path / "my-cloud-provider"
    assert said == f"The provider my-cloud is in {directory}. Its README.md says how to go on.\n"
    assert (directory / "README.md").is_file()
    assert "is there already" in called("provider", "new", "my-cloud", "--into", str(tmp_path), code=1).err


@pytest.mark.parametrize("name", ["My_Cloud", "../x", "", "x" * 41, "-"])
def test_names_that_do_not_work(tmp_path: Path, name: str) -> None:
    refused = called("provider", "new", "--into", str(tmp_path), "--", name, code=1).err
    assert "cannot be the name of a provider" in refused
    assert list(tmp_path.iterdir()) == []


def test_places_that_do_not_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = called("provider", "new", "mine", "--into", str(tmp_path / "file"), code=1).err
    assert "Cannot use" in refused


async def test_a_manifest_declares_what_the_provider_needs(there: Client) -> None:
    image = "registry.example.com/local@sha256:12"
    text = called("provider", "manifest", "local", "--image", image, "--name", "mine").out
    assert "&id" not in text
    document = yaml.safe_load(text)
    assert json.loads(called("provider", "manifest", "local", "-o", "json").out)["items"][0]["spec"] == {
        **document["spec"],
        "image": "mooring/local",
    }
    made = await there.create(PROVIDERS, document, dry_run=True)
    assert (made.metadata.name, made.spec.image) == ("mine", image)
    assert made.spec.rights is not None
    run = {(rule.api_groups, rule.resources): rule.verbs for rule in made.spec.rights.run}
    assert run[("clusters.openmcp.cloud",), ("clusters",)] == ("get", "list", "watch", "patch")
    assert all("*" not in (*rule.verbs, *rule.resources) for rule in (*made.spec.rights.run, *made.spec.rights.init))


def test_a_manifest_of_nobody() -> None:
    assert "known are: " in called("provider", "manifest", "nobody", code=1).err
    assert "--name" in called("provider", "manifest", "local", "--name", "../x", code=1).err


@pytest.mark.parametrize("words", [(), ("list",), ("new",), ("manifest",)])
def test_help(words: tuple[str, ...]) -> None:
    assert " ".join(("mooring provider", *words, "[OPTIONS]")) in called("provider", *words, "--help").out
