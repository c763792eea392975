"""``mooring cluster`` against a real API server; no provider makes these clusters, and no controller changes them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from cluster_kit import CLUSTERS, PLAIN_CLUSTERS, a_cluster, condition
from quiet_kit import Quiet, called, until

from landscape_kit import MOORING
from mooring.api.access import AccessRequest
from mooring.api.claims import Claim, with_claims
from mooring.api.kinds import Metadata
from mooring.api.purposes import Purpose
from mooring.api.requests import ClusterRequest, ClusterRequestGrant
from mooring.app.inventories import deletable, delete
from mooring.app.settings import SettingError
from mooring.kube import Client, MergePatch, ObjectKey, typed
from mooring.kube.errors import ApiError
from mooring.runtime.recorder import EVENTS
from mooring.testing.builders import access_request, an_object, cluster_request, purpose

PAGES = Path(__file__).parent / "outcomes"
READY = {"phase": "Ready", "conditions": [condition("True")]}
HOSTILE = "ends \x1b[2J here"


def claim(number: int, room: str, **more: Any) -> Claim:
    return Claim(uid=f"0000-{number}", namespace=room, name=f"request-{number}", **more)


async def names_in(there: Client, room: str) -> list[str]:
    return [one.metadata.name for one in (await there.list(CLUSTERS, namespace=room)).items]


# -- list -----------------------------------------------------------------------------------------------------------


async def test_the_list(quiet: Quiet, there: Client, room: str) -> None:
    assert quiet.run("cluster", "list", "-n", room).err == f"There are no clusters in the namespace {room}.\n"
    await there.create(typed(Purpose), purpose(f"three-{room}", tenancyCount=3))
    await there.create(typed(Purpose), purpose(f"two-{room}", tenancyCount=2))
    both = [f"three-{room}", f"two-{room}"]
    version = {"clusters.openmcp.cloud/k8sversion": "1.33.4", "clusters.openmcp.cloud/provider": "local"}
    await a_cluster(there, "a", room, claim(1, room), meta={"labels": version}, status=READY, purposes=both)
    await a_cluster(there, "b", room, tenancy="Exclusive", profile="other", purposes=["x"])
    warm = {"mooring.dev/warm": both[0]}
    broken = {"phase": "Progressing", "conditions": [condition("False", reason="Broken", message=f"It\n{HOSTILE}")]}
    await a_cluster(there, "c", room, meta={"labels": warm}, status=broken, purposes=both[:1])

    lines = quiet.run("cluster", "list", "-n", room).out.splitlines()
    assert " ".join(lines[0].split()) == "NAME PURPOSES TENANCY SEATS PHASE READY VERSION PROFILE WARM AGE"
    assert [line.split()[:-1] for line in lines[1:]] == [
        ["a", ",".join(both), "Shared", "1/2", "Ready", "True", "1.33.4", "local", "-"],
        ["b", "x", "Exclusive", "0/1", "-", "-", "-", "other", "-"],
        ["c", both[0], "Shared", "0/3", "Progressing", "False", "-", "local", both[0]],
    ]
    assert re.fullmatch(r"\d+[smh]", lines[1].split()[-1])

    wide = quiet.run("cluster", "list", "-n", room, "-o", "wide").out.splitlines()
    assert wide[0].split()[-3:] == ["PROVIDER", "REASON", "MESSAGE"]
    assert re.search(r" local +AllGood +-$", wide[1])
    assert re.search(r" - +Broken +It ends \\x1b\[2J here$", wide[3])

    everywhere = quiet.run("cluster", "list", "-A").out.splitlines()
    assert everywhere[0].startswith("NAMESPACE")
    assert sum(line.startswith(f"{room} ") for line in everywhere) == 3
    assert "exclude each other" in quiet.run("cluster", "list", "-A", "-n", room, code=2).err


async def test_the_objects_themselves(quiet: Quiet, there: Client, room: str) -> None:
    assert json.loads(quiet.run("cluster", "list", "-n", room, "-o", "json").out)["items"] == []
    await a_cluster(there, "a", room, claim(1, room), status=READY)
    as_json = json.loads(quiet.run("cluster", "list", "-n", room, "-o", "json").out)
    assert as_json == yaml.safe_load(quiet.run("cluster", "list", "-n", room, "-o", "yaml").out)
    assert as_json["items"] == [await there.get(PLAIN_CLUSTERS, "a", namespace=room)]


async def test_only_some_of_them(quiet: Quiet, there: Client, room: str) -> None:
    await a_cluster(there, "a", room, purposes=["x", "y"], profile="one")
    await a_cluster(there, "b", room, purposes=["y"], profile="two")

    def listed(*words: str) -> list[str]:
        items = json.loads(quiet.run("cluster", "list", "-n", room, "-o", "json", *words).out)["items"]
        return [one["metadata"]["name"] for one in items]

    assert listed("--purpose", "y") == ["a", "b"]
    assert listed("--purpose", "x") == ["a"]
    assert listed("--profile", "two") == ["b"]
    assert listed("--purpose", "x", "--profile", "two") == []
    none = quiet.run("cluster", "list", "-n", room, "--purpose", "x", "--profile", "two").err
    assert none == f"There are no clusters for the purpose 'x' of the profile 'two' in the namespace {room}.\n"


async def test_what_cannot_be_read_does_not_hide_the_others(quiet: Quiet, there: Client, room: str) -> None:
    await a_cluster(there, "fine", room)
    bare = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster"}
    await there.create(PLAIN_CLUSTERS, {**bare, "metadata": {"name": "bare", "namespace": room}})
    listed = quiet.run("cluster", "list", "-n", room)
    assert [line.split()[0] for line in listed.out.splitlines()] == ["NAME", "fine"]
    assert f"cluster {room}/bare cannot be read: " in listed.err


async def test_purposes_of_the_configuration_count_too(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    template = {"spec": {"profile": "local", "tenancy": "Shared"}}
    config.write_text(json.dumps({"scheduler": {"purposeMappings": {room: {"tenancyCount": 7, "template": template}}}}))
    await a_cluster(there, "a", room, purposes=[room])
    listed = quiet.run("cluster", "list", "-n", room, "--config", str(config)).out.splitlines()
    assert listed[1].split()[3] == "0/7"
    page = json.loads(quiet.run("cluster", "describe", "a", "-n", room, "--config", str(config), "-o", "json").out)
    assert page["cluster"]["seats"] == 7


# -- describe -------------------------------------------------------------------------------------------------------


async def with_much_to_tell(there: Client, room: str) -> None:
    """One cluster, and everything that a page can show."""
    await there.create(typed(Purpose), purpose(f"three-{room}", tenancyCount=3))
    request = await there.create(typed(ClusterRequest), cluster_request("web", room))
    owner = {"apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest", "name": "web"}
    grant = an_object(
        ClusterRequestGrant, "web", room, spec={"clusterRef": {"name": "one", "namespace": room}, "prefix": "web-"}
    )
    grant["metadata"]["ownerReferences"] = [owner | {"uid": request.metadata.uid}]
    await there.create(typed(ClusterRequestGrant), grant)
    made = await a_cluster(
        there,
        "one",
        room,
        Claim(uid=request.metadata.uid, namespace=room, name="web", prefix="web-"),
        Claim(uid="0000-gone", namespace=room, name="gone", prefix=HOSTILE),
        meta={
            "labels": {"clusters.openmcp.cloud/k8sversion": "1.33.4", "clusters.openmcp.cloud/provider": "local"},
            "finalizers": ["clusters.openmcp.cloud/finalizer"],
        },
        status={
            "phase": "Progressing",
            "conditions": [condition("False", reason="Restarting", message="The API server died, and is started.")],
            "endpoints": [{"name": "apiserver-external", "url": "https://127.0.0.1:1234"}],
        },
        purposes=[f"three-{room}"],
        kubernetes={"version": "1.33.3"},
    )
    await there.create(typed(AccessRequest), access_request("one", room))
    through = access_request("through", room, requestRef={"name": "web"}, token={}, ttl="8h")
    await there.create(typed(AccessRequest), through)
    await there.create(typed(AccessRequest), access_request("elsewhere", room))
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "one.1", "namespace": room},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "test",
        "reportingInstance": "test-1",
        "type": "Warning",
        "reason": "Died",
        "action": "Watch",
        "note": HOSTILE,
        "regarding": {**owner, "kind": "Cluster", "namespace": room, "name": "one", "uid": made.metadata.uid},
    }
    await there.create(EVENTS, event)
    other = event["regarding"] | {"uid": "0000-other"}
    await there.create(EVENTS, event | {"metadata": {"name": "one.2", "namespace": room}, "regarding": other})


async def test_all_about_a_cluster(quiet: Quiet, there: Client, room: str, golden: Any) -> None:
    await with_much_to_tell(there, room)
    said = quiet.run("cluster", "describe", "one", "-n", room).out
    said = re.sub(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b", "UID", said.replace(room, "ROOM"))
    said = re.sub(r"(?<=\s)\d+[smhd](?=\s)", "AGE", said)
    golden(PAGES / "cluster-page.txt", re.sub(r"(?<=\S) {2,}", "  ", said))

    page = json.loads(quiet.run("cluster", "describe", f"{room}/one", "-o", "json").out)
    assert page == yaml.safe_load(quiet.run("cluster", "describe", "one", "-n", room, "-o", "yaml").out)
    assert [(one["name"], one["request"]) for one in page["holders"]] == [("web", "There"), ("gone", "Gone")]
    assert [one["name"] for one in page["access"]] == ["one", "through"]
    assert [one["reason"] for one in page["events"]] == ["Died"]
    assert (page["keptBy"], page["unseen"]) == (["clusters.openmcp.cloud/finalizer"], [])


async def test_a_cluster_without_a_story(quiet: Quiet, there: Client, room: str) -> None:
    await a_cluster(there, "one", room)
    said = quiet.run("cluster", "describe", "one", "-n", room).out
    assert said.startswith(f"The cluster {room}/one waits: no provider has said anything about it yet.\n")
    assert said.endswith("Who holds it (0)\n  nobody\n")


async def test_who_may_read_little_sees_what_they_may(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    await a_cluster(there, "one", room, claim(1, room))
    role = await there.resource("rbac.authorization.k8s.io/v1", "Role")
    binding = await there.resource("rbac.authorization.k8s.io/v1", "RoleBinding")
    rule = {"apiGroups": ["clusters.openmcp.cloud"], "resources": ["clusters"], "verbs": ["get", "list"]}
    named = {"metadata": {"name": "reader", "namespace": room}}
    await there.create(role, {"apiVersion": role.api_version, "kind": "Role", **named, "rules": [rule]})
    group = "rbac.authorization.k8s.io"
    body = {
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": f"reader-{room}"}],
    }
    await there.create(binding, {"apiVersion": binding.api_version, "kind": "RoleBinding", **named, **body})
    document = msgspec.json.decode(quiet.kubeconfig.read_bytes())
    document["users"][0]["user"]["as"] = f"reader-{room}"
    limited = Quiet(quiet.connection, tmp_path / "kubeconfig")
    limited.kubeconfig.write_bytes(msgspec.json.encode(document))

    async def may() -> bool:  # the server learns of new rights a moment later
        return limited.run("cluster", "list", "-n", room, code=None).code == 0

    await until(may, "the reader may read")
    assert limited.run("cluster", "list", "-n", room).out.splitlines()[1].split()[:4] == ["one", "-", "Shared", "1"]
    said = limited.run("cluster", "describe", "one", "-n", room).out
    assert re.search(rf"{room}/request-1 +could not be looked at\n", said)
    assert "  clusterrequests: you may not read them\n" in said
    unknown = limited.run("cluster", "describe", "two", "-n", room, code=1).err
    assert unknown == f"mooring: There is no cluster 'two' in the namespace '{room}'.\n"


@pytest.mark.parametrize("word", ["describe", "delete"])
async def test_names_that_lead_nowhere(quiet: Quiet, there: Client, room: str, word: str) -> None:
    await a_cluster(there, f"only-{room}", room)
    assert (
        f"There is one in the namespace {room}: add '-n {room}'."
        in quiet.run("cluster", word, f"only-{room}", code=1).err
    )
    near = quiet.run("cluster", word, f"{room}/onli-{room}", code=1).err
    assert f"There is no cluster 'onli-{room}' in the namespace '{room}'. Did you mean only-{room}?" in near
    assert "'mooring cluster list -A' shows all there are." in quiet.run("cluster", word, "zzz", code=1).err
    assert "names another namespace" in quiet.run("cluster", word, "a/b", "-n", "c", code=2).err
    for bad in ("/a", "a/", "a/b/c", ""):
        assert "write NAME, or NAMESPACE/NAME" in quiet.run("cluster", word, bad, code=2).err
    assert "cannot be a name" in quiet.run("cluster", word, "..", code=1).err


# -- delete ---------------------------------------------------------------------------------------------------------


async def test_a_cluster_that_nobody_holds_goes(quiet: Quiet, there: Client, room: str) -> None:
    await a_cluster(there, "one", room)
    unasked = quiet.run("cluster", "delete", "one", "-n", room, code=2)
    assert "nobody is there to be asked; say with --yes that it is meant." in unasked.err
    assert await names_in(there, room) == ["one"]
    assert quiet.run("cluster", "delete", "one", "-n", room, "--yes").out == "cluster one is deleted.\n"
    assert await names_in(there, room) == []


async def test_whoever_is_there_is_asked(quiet: Quiet, there: Client, room: str) -> None:
    await a_cluster(there, "one", room, purposes=["x"])

    def answered(text: bytes) -> tuple[int, str]:
        ours, theirs = os.openpty()
        try:
            os.write(ours, text)
            words = ("cluster", "delete", "one", "-n", room, "--kubeconfig", str(quiet.kubeconfig))
            ended = subprocess.run(
                [str(MOORING), *words], stdin=theirs, capture_output=True, text=True, check=False, timeout=200
            )
        finally:
            os.close(ours)
            os.close(theirs)
        return ended.returncode, ended.stdout + ended.stderr

    code, said = answered(b"n\n")
    assert (code, await names_in(there, room)) == (1, ["one"])
    assert f"Delete the cluster {room}/one (for x) with everything in it?" in said
    assert answered(b"y\n")[0] == 0
    assert await names_in(there, room) == []


async def test_a_cluster_that_is_held_stays(quiet: Quiet, there: Client, room: str) -> None:
    unsigned = Claim(uid="0000-unsigned")
    await a_cluster(there, "one", room, claim(1, room), claim(2, room), unsigned)
    for yes in ((), ("--yes",)):
        refused = quiet.run("cluster", "delete", "one", "-n", room, *yes, code=1).err
        assert f"The cluster {room}/one is not deleted: 3 requests hold it, and would keep it.\n" in refused
        for name in ("request-1", "request-2"):
            assert f"  {room}/{name}: 'mooring request delete {name} -n {room}' gives it back\n" in refused
        assert "  the request with the uid 0000-unsigned: look for it with" in refused
    await a_cluster(there, "full", room, *(claim(number, room) for number in range(13)))
    assert quiet.run("cluster", "delete", "full", "-n", room, "-y", code=1).err.endswith("\n  and 3 more\n")
    assert not any(one.metadata.deleting for one in (await there.list(CLUSTERS, namespace=room)).items)


async def test_a_seat_that_is_taken_meanwhile_keeps_the_cluster(there: Client, room: str) -> None:
    await a_cluster(there, "one", room)
    key = ObjectKey(room, "one")
    seen = await deletable(there, key)
    taken = msgspec.to_builtins(with_claims(Metadata(), [claim(1, room)]))
    await there.patch(CLUSTERS, "one", MergePatch({"metadata": taken}), namespace=room)
    with pytest.raises(SettingError, match="a request holds it"):
        await delete(there, key, seen.metadata.uid)
    assert not (await there.get(CLUSTERS, "one", namespace=room)).metadata.deleting


async def test_another_cluster_of_the_same_name_is_left_alone(there: Client, room: str) -> None:
    await a_cluster(there, "one", room)
    assert await delete(there, ObjectKey(room, "one"), "0000-other") == ""
    assert await delete(there, ObjectKey(room, "never"), "0000-other") == ""
    assert await names_in(there, room) == ["one"]


async def test_waiting_until_it_is_gone(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    await a_cluster(there, "one", room, meta={"finalizers": ["clusters.openmcp.cloud/finalizer"]}, status=READY)
    remove = ("cluster", "delete", "one", "-n", room, "--yes")
    assert "give --wait with it" in quiet.run(*remove, "--timeout", "1s", code=2).err
    late = await quiet.late(tmp_path, *remove)
    assert f"The cluster {room}/one is not gone in time; its deletion goes on." in late.err
    assert quiet.run(*remove).out == "cluster one is being deleted.\n"
    assert quiet.run("cluster", "list", "-n", room).out.splitlines()[1].split()[4] == "Terminating"
    assert "is being deleted, for" in quiet.run("cluster", "describe", "one", "-n", room).out

    begun = quiet.begin(tmp_path, *remove, "--wait")
    await begun.until_said("Terminating: waits for clusters.openmcp.cloud/finalizer")
    await there.patch(CLUSTERS, "one", MergePatch({"metadata": {"finalizers": []}}), namespace=room)
    ended = await begun.ended()
    assert (ended.code, ended.out) == (0, "cluster one is deleted.\n")


async def test_a_policy_has_the_last_word(quiet: Quiet, there: Client, room: str) -> None:
    """As the one that keeps the platform's own cluster."""
    await a_cluster(there, "one", room)
    name = f"keep-{room}"
    rule = {
        "apiGroups": ["clusters.openmcp.cloud"],
        "apiVersions": ["*"],
        "resources": ["clusters"],
        "operations": ["DELETE"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"oldObject.metadata.namespace != '{room}'", "message": "This one stays."}],
    }
    group = "admissionregistration.k8s.io/v1"
    policy = await there.resource(group, "ValidatingAdmissionPolicy")
    binding = await there.resource(group, "ValidatingAdmissionPolicyBinding")
    await there.create(policy, {"apiVersion": group, "kind": policy.kind, "metadata": {"name": name}, "spec": spec})
    bound = {"policyName": name, "validationActions": ["Deny"]}
    await there.create(binding, {"apiVersion": group, "kind": binding.kind, "metadata": {"name": name}, "spec": bound})

    async def in_force() -> bool:
        try:
            await there.delete(CLUSTERS, "one", namespace=room, dry_run=True)
        except ApiError as error:
            return "This one stays." in error.message
        return False

    await until(in_force, "the policy is in force")
    refused = quiet.run("cluster", "delete", "one", "-n", room, "--yes", code=1).err
    assert f"The server refused to delete the cluster {room}/one: " in refused
    assert "This one stays." in refused
    assert await names_in(there, room) == ["one"]


@pytest.mark.parametrize("words", [(), ("list",), ("describe",), ("delete",)])
def test_help(words: tuple[str, ...]) -> None:
    assert " ".join(("mooring cluster", *words, "[OPTIONS]")) in called("cluster", *words, "--help").out
