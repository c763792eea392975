"""``mooring why`` against a real API server. What stories say is in ``tests/scheduling/stories``."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from quiet_kit import Quiet, called

from landscape_kit import Mooring
from mooring.api.claims import Claim, with_claims
from mooring.api.clusters import Cluster, ClusterProfile
from mooring.api.crds import definitions
from mooring.api.kinds import Metadata
from mooring.api.marks import claim_of
from mooring.api.purposes import Purpose
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.app.installing import install
from mooring.kube import Client, typed
from mooring.testing.builders import an_object, cluster, cluster_profile, cluster_request, purpose

REQUESTS = typed(ClusterRequest)


def unique(name: str) -> str:
    return f"{name}-{uuid4().hex[:8]}"


@pytest.mark.parametrize(
    "form", ["clusterrequest/{}", "cr/{}", "request/{}", "clusterrequests.clusters.openmcp.cloud/{}", "{}"]
)
async def test_a_request_is_found_under_all_its_names(quiet: Quiet, there: Client, room: str, form: str) -> None:
    made = await there.create(REQUESTS, cluster_request("web", room, purpose="nobody-knows-this"))
    said = quiet.run("why", form.format("web"), "-n", room).out
    assert said.startswith(f"The request {room}/web is waiting: PurposeNotFound.\n")
    assert "Create the Purpose nobody-knows-this." in said
    after = await there.get(REQUESTS, "web", namespace=room)
    assert after == made, "whoever asks why changes nothing"


async def test_the_story_as_data(quiet: Quiet, there: Client, room: str) -> None:
    name, profile = unique("p"), unique("profile")
    trait = unique("trait")
    await there.create(typed(Purpose), purpose(name, dedicated=True, traits=[{"trait": trait}]))
    await there.create(typed(ClusterProfile), cluster_profile(profile))
    await there.create(REQUESTS, cluster_request("web", room, purpose=name))
    as_json = json.loads(quiet.run("why", "web", "-n", room, "-o", "json").out)
    assert as_json == yaml.safe_load(quiet.run("why", "web", "-n", room, "-o", "yaml").out)
    assert as_json["request"] == f"{room}/web"
    assert as_json["outcome"]["phase"] == "Denied"
    assert as_json["asked"]["dedicatedBy"] == f"purpose {name}"
    assert as_json["asked"]["traits"] == [
        {"wish": trait, "required": True, "askedBy": [f"purpose {name}"], "sameAs": []}
    ]
    assert profile in {one["profile"] for one in as_json["profiles"]}
    assert as_json["remedies"]


async def test_what_a_granted_request_holds(quiet: Quiet, there: Client, room: str) -> None:
    # There is no scheduling here: what it would write is written by hand.
    name = unique("shared")
    await there.create(typed(Purpose), purpose(name, dedicated=False))
    made = await there.create(REQUESTS, cluster_request("web", room, purpose=name))
    claim = Claim(uid=made.metadata.uid, namespace=room, name="web", prefix="web-")
    marks = with_claims(Metadata(), [claim])
    body = cluster("one", room, purposes=[name])
    body["metadata"] |= {"finalizers": [claim_of(made.metadata.uid)], "annotations": dict(marks.annotations)}
    await there.create(typed(Cluster), body)
    said = quiet.run("why", "web", "-n", room).out
    assert f"The request {room}/web is granted.\n" in said
    assert f"It holds the cluster {room}/one." in said
    assert "begins with web-" in said

    reference = {"name": "one", "namespace": room}
    grant = an_object(ClusterRequestGrant, "web", room, spec={"clusterRef": reference, "prefix": "web-"})
    written = await there.create(typed(ClusterRequestGrant), grant)
    said = quiet.run("why", "web", "-n", room).out
    assert f"It does so since {written.metadata.creation_timestamp}." in said
    assert f"The cluster {room}/one is not ready: its provider has not said anything yet." in said


async def test_purposes_of_a_configuration_file_are_known(
    quiet: Quiet, there: Client, room: str, tmp_path: Path
) -> None:
    name = unique("configured")
    await there.create(REQUESTS, cluster_request("web", room, purpose=name))
    template = {"spec": {"profile": "nowhere", "tenancy": "Exclusive"}}
    document = {"scheduler": {"purposeMappings": {name: {"template": template}}}}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(document))
    assert "PurposeNotFound" in quiet.run("why", "web", "-n", room).out
    assert "ProfileNotFound" in quiet.run("why", "web", "-n", room, "--config", str(file)).out
    assert "cannot be read" in quiet.run("why", "web", "-n", room, "--config", str(tmp_path / "no"), code=1).err


async def test_names_that_lead_nowhere_come_with_a_remedy(quiet: Quiet, there: Client, room: str) -> None:
    await there.create(REQUESTS, cluster_request("frontend", room, purpose="x"))
    nowhere = quiet.run("why", "frontend", "-n", "kube-system", code=1).err
    assert nowhere == (
        f"mooring: There is no clusterrequest 'frontend' in the namespace 'kube-system'. There is one in the namespace "
        f"{room}: add '-n {room}'.\n"
    )
    assert "Did you mean frontend?" in quiet.run("why", "fronted", "-n", room, code=1).err
    assert "mooring request list -A" in quiet.run("why", "qqq", "-n", room, code=1).err


@pytest.mark.parametrize(
    ("word", "phrase"),
    [("pod/web", "'pod/web' is no request"), ("cr/", "'cr/' has no name"), ("a/b/c", "is no request")],
)
def test_words_that_mean_no_request(word: str, phrase: str) -> None:
    assert phrase in called("why", word, code=2).err


def test_without_a_landscape_it_says_what_to_do(tmp_path: Path) -> None:
    for words in (("why", "web"), ("request", "list")):
        failed = called(*words, "--dir", str(tmp_path), code=1)
        assert "Start one with 'mooring up', or say which cluster is meant with --kubeconfig" in failed.err


def test_a_platform_that_does_not_answer(tmp_path: Path) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": ""}}],
        "current-context": "a",
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    failed = called("why", "web", "--kubeconfig", str(file), code=1)
    assert "127.0.0.1" in failed.err


async def test_the_landscape_of_this_machine_is_what_is_meant(kube: Client, namespace: str, shared: Mooring) -> None:
    await install(kube, definitions())
    # Whoever may run controllers there comes to the same answer.
    await kube.create(REQUESTS, cluster_request("web", namespace, purpose=unique("unknown")))
    assert "PurposeNotFound" in shared.run("why", "web", "-n", namespace).out
