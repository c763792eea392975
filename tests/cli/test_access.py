"""``mooring access`` against a real API server that no controller of ours works on."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from quiet_kit import Quiet, called

from mooring.api.access import AccessRequest
from mooring.api.clusters import ClusterProfile
from mooring.api.marks import GRANT_FINALIZER, PROFILE_LABEL
from mooring.app.accesses import Wish
from mooring.app.own_access import ask_for_oneself, context_for, end_earlier
from mooring.kube import Client, MergePatch, ObjectKey, typed
from mooring.testing.builders import SECRETS, an_object

REQUESTS = typed(AccessRequest)
CREATE = ("access", "create", "--cluster", "one", "--rule", "get:pods@shop")


async def granted(there: Client, room: str, name: str) -> None:
    """What a provider would write."""
    grant = json.dumps({"expires": 4_000_000_000, "door": "d", "server": "s"})
    metadata = {
        "name": f"{name}.kubeconfig",
        "namespace": room,
        "labels": {"mooring.dev/entrant": "u"},
        "annotations": {"mooring.dev/grant": grant},
    }
    kubeconfig = {"clusters": [{"name": "cluster"}], "users": [{"name": "u"}], "contexts": []}
    data = {"kubeconfig": yaml.safe_dump(kubeconfig)}
    await there.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
    ready: dict[str, Any] = {"type": "Ready", "status": "True", "reason": "Granted", "message": ""}
    ready |= {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}
    status = {
        "observedGeneration": 1,
        "phase": "Granted",
        "reason": "Granted",
        "secretRef": {"name": f"{name}.kubeconfig"},
        "conditions": [ready],
    }
    await there.patch(REQUESTS, name, MergePatch({"status": status}), namespace=room, subresource="status")


async def test_asked_for_listed_and_told(quiet: Quiet, there: Client, room: str) -> None:
    said = quiet.run(*CREATE, "mine", "--role", "view", "--ttl", "8h", "--lifetime", "1h", "-n", room).out
    assert said == f"accessrequest mine is created in the namespace {room}.\n"
    made = await there.get(REQUESTS, "mine", namespace=room)
    assert made.spec.cluster_ref is not None
    assert (made.spec.cluster_ref.name, made.spec.cluster_ref.namespace) == ("one", room)
    assert made.spec.token is not None
    assert (made.spec.ttl, made.spec.token.lifetime) == ("8h", "1h")
    header, row = quiet.run("access", "list", "-n", room).out.splitlines()
    assert header.split()[:5] == ["NAME", "PHASE", "CLUSTER", "BY", "MAY"]
    assert " ".join(row.split()).startswith(f"mine Pending {room}/one token get:pods@shop; view - 7h")
    assert "no credentials at the moment" in quiet.run("access", "kubeconfig", "mine", "-n", room, code=1).err

    await granted(there, room, "mine")
    assert " Granted " in quiet.run("access", "list", "-n", room, "--cluster", "one").out
    assert "There are no access requests" in quiet.run("access", "list", "-n", room, "--cluster", "two").err
    listed = json.loads(quiet.run("access", "list", "-n", room, "-o", "json").out)
    assert [one["metadata"]["name"] for one in listed["items"]] == ["mine"]
    assert yaml.safe_load(quiet.run("access", "kubeconfig", "mine", "-n", room).out)["users"] == [{"name": "u"}]

    quiet.run("access", "rotate", "mine", "-n", room)
    quiet.run("access", "revoke", "mine", "-n", room)
    marked = await there.get(REQUESTS, "mine", namespace=room)
    assert marked.metadata.annotations["openmcp.cloud/operation"] == "revoke"
    assert "is revoked" in quiet.run("access", "rotate", "mine", "-n", room, code=1).err
    quiet.run("access", "revoke", "mine", "--undo", "-n", room)
    assert "is not revoked" in quiet.run("access", "revoke", "mine", "--undo", "-n", room, code=1).err
    assert quiet.run("access", "delete", "mine", "--wait", "-n", room).out == "accessrequest mine is deleted.\n"


async def test_what_was_never_given_is_taken_back_at_once(quiet: Quiet, there: Client, room: str) -> None:
    """Whoever denied it goes on to say why; nobody will ever say that it is revoked."""
    quiet.run(*CREATE, "mine", "-n", room)
    denied = {"observedGeneration": 1, "phase": "Denied", "reason": "ForeignNamespace"}
    await there.patch(REQUESTS, "mine", MergePatch({"status": denied}), namespace=room, subresource="status")
    said = quiet.run("access", "revoke", "mine", "-n", room, "--wait", "--timeout", "60s")
    assert said.out == "accessrequest mine is revoked.\n"
    # One whose provider still holds it is not.
    held = {"metadata": {"finalizers": [GRANT_FINALIZER]}}
    await there.patch(REQUESTS, "mine", MergePatch(held), namespace=room)
    assert "not so in time" in quiet.run("access", "revoke", "mine", "-n", room, "-w", "--timeout", "1s", code=1).err
    await there.patch(REQUESTS, "mine", MergePatch({"metadata": {"finalizers": None}}), namespace=room)


async def test_words_that_a_provider_does_not_know_are_not_said(quiet: Quiet, there: Client, room: str) -> None:
    """openMCP's own providers would leave everything as it is."""
    spec = {"providerRef": {"name": "kind"}, "providerConfigRef": {"name": "kind"}, "supportedVersions": []}
    await there.create(typed(ClusterProfile), an_object(ClusterProfile, f"theirs-{room}", None, spec=spec))
    quiet.run(*CREATE, "mine", "-n", room)
    labels = {"metadata": {"labels": {PROFILE_LABEL: f"theirs-{room}"}}}
    await there.patch(REQUESTS, "mine", MergePatch(labels), namespace=room)
    for word in ("rotate", "revoke"):
        said = quiet.run("access", word, "mine", "-n", room, "--wait", code=1).err
        assert all(part in said for part in ("'kind'", word, "mooring access delete mine"))
    assert "openmcp.cloud/operation" not in (await there.get(REQUESTS, "mine", namespace=room)).metadata.annotations
    await there.delete(typed(ClusterProfile), f"theirs-{room}")


async def test_only_what_the_same_person_had_for_the_same_thing_ends(there: Client, room: str) -> None:
    """Whoever is called alike elsewhere, or asks for something of the same name, keeps what they have."""
    cluster, request = Wish(cluster="one", roles=["view"]), Wish(request="one", roles=["view"])

    async def asked(wish: Wish, machine: str) -> dict[str, Any]:
        made = await ask_for_oneself(there, wish, room, user="Root!", machine=machine)
        return dict(made["metadata"])

    first = await asked(cluster, "here")
    others = [await asked(cluster, "elsewhere"), await asked(request, "here")]
    second = await asked(cluster, "here")
    assert second["name"].startswith("kubeconfig-root-one-")
    at_once = sorted((first, second), key=lambda one: (one["creationTimestamp"], one["uid"]))
    for one in at_once:
        await end_earlier(there, one)
    left = {one.metadata.name for one in (await there.list(REQUESTS, namespace=room)).items}
    assert left == {one["name"] for one in (*others, at_once[-1])}


def test_contexts_tell_namesakes_apart() -> None:
    assert context_for(ObjectKey("default", "mine")) == "mooring-mine"
    places = [ObjectKey("a", "b-c"), ObjectKey("a-b", "c"), ObjectKey("default", "a-b-c"), ObjectKey("default", "c")]
    assert len({context_for(one) for one in places}) == len(places)


async def test_what_cannot_be_had_is_told(quiet: Quiet, there: Client, room: str) -> None:
    assert "no accessrequest 'nobody'" in quiet.run("access", "delete", "nobody", "-n", room, code=1).err
    assert "no namespace 'nowhere'" in quiet.run(*CREATE, "-n", "nowhere", code=1).err
    quiet.run(*CREATE, "mine", "-n", room)
    assert "already an accessrequest" in quiet.run(*CREATE, "mine", "-n", room, code=1).err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("access", "create", "--rule", "get:pods"), "--cluster or --request"),
        (("access", "create", "--cluster", "a", "--request", "b", "--rule", "get:pods"), "--cluster or --request"),
        (("access", "create", "--cluster", "a"), "--rule"),
        (("kubeconfig", "a", "--request", "b"), "either"),
        (("kubeconfig", "--role", "view"), "name one"),
        (("kubeconfig", "a", "--print", "--kubeconfig", "x"), "--print"),
    ],
)
def test_words_that_do_not_go_together(words: tuple[str, ...], told: str) -> None:
    assert told in called(*words, code=2).err


@pytest.mark.parametrize(
    ("words", "told"),
    [(("--rule", "pods"), "--rule 'pods'"), (("--role", "role/x"), "--role"), (("--ttl", "-1h"), "--ttl")],
)
def test_rights_that_cannot_be_read_create_nothing(quiet: Quiet, room: str, words: tuple[str, str], told: str) -> None:
    rule = () if words[0] == "--rule" else ("--rule", "get:pods")
    assert told in quiet.run("access", "create", "x", "--cluster", "a", *rule, *words, "-n", room, code=1).err
    assert "There are no access requests" in quiet.run("access", "list", "-n", room).err


@pytest.mark.parametrize("word", ["create", "list", "kubeconfig", "rotate", "revoke", "delete"])
def test_help(word: str) -> None:
    assert f"mooring access {word} [OPTIONS]" in called("access", word, "--help").out
