"""``mooring request`` against a real API server.

There is no scheduling on this platform: where a test waits for an answer, it writes the answer itself, as scheduling
would.
"""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from quiet_kit import Quiet, until

from mooring.api.clusters import ClusterProfile
from mooring.api.purposes import Purpose
from mooring.api.requests import ClusterRequest
from mooring.kube import Client, MergePatch, typed
from mooring.testing.builders import cluster_profile, cluster_request, plain_resource_of, purpose

REQUESTS = typed(ClusterRequest)
PLAIN = plain_resource_of(ClusterRequest)


async def names_in(there: Client, room: str) -> list[str]:
    return [one.metadata.name for one in (await there.list(REQUESTS, namespace=room)).items]


async def answer(there: Client, room: str, name: str, *, ready: str | None = None, **status: Any) -> None:
    """The status that scheduling would write."""
    conditions = []
    if ready is not None:
        conditions.append(
            {
                "type": "Ready",
                "status": ready,
                "reason": "ClusterReady" if ready == "True" else "ClusterNotReady",
                "message": "" if ready == "True" else "it is being made",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        )
    body = {"status": {"observedGeneration": 1, "conditions": conditions, **status}}
    await there.patch(REQUESTS, name, MergePatch(body), namespace=room, subresource="status")


async def test_what_was_said_is_what_is_asked_for(quiet: Quiet, there: Client, room: str) -> None:
    said = quiet.run(
        *("request", "create", "web", "-n", room, "--purpose", "a", "--purpose", "b", "--version", "1.33"),
        *("--trait", "x/y", "--trait", "p/q?", "--trait", "!bad", "--trait", "{or: [{trait: m}, {trait: n}]}"),
        *("--dedicated", "--prefix", "web-", "--ttl", "72h", "--label", "team=shop", "--annotation", "note=a=b"),
    ).out
    assert said.startswith(f"clusterrequest web is created in the namespace {room}.\n")
    assert f"'mooring why web -n {room} --kubeconfig " in said
    made = await there.get(PLAIN, "web", namespace=room)
    assert made["spec"] == {
        "purposes": ["a", "b"],
        "kubernetes": {"version": "1.33"},
        "dedicated": True,
        "traits": [
            {"trait": "x/y"},
            {"trait": "p/q", "optional": True},
            {"trait": "bad", "negated": True},
            {"or": [{"trait": "m"}, {"trait": "n"}]},
        ],
        "prefix": "web-",
        "ttl": "72h",
    }
    assert made["metadata"]["labels"] == {"team": "shop"}
    assert made["metadata"]["annotations"] == {"note": "a=b"}


async def test_it_can_be_printed_instead(quiet: Quiet, there: Client, room: str) -> None:
    create = ("request", "create", "-n", room, "--purpose", "workload", "--shared", "-o")
    named = quiet.run(*create, "name").out
    assert re.fullmatch(r"clusterrequest/workload-[a-z0-9]+\n", named)
    as_yaml = yaml.safe_load(quiet.run(*create, "yaml").out)
    as_json = json.loads(quiet.run(*create, "json").out)
    assert as_yaml["spec"] == as_json["spec"] == {"purpose": "workload", "dedicated": False}
    printed = {named.strip().removeprefix("clusterrequest/"), *(one["metadata"]["name"] for one in (as_yaml, as_json))}
    assert printed == set(await names_in(there, room))


@pytest.mark.parametrize(
    ("words", "code", "phrase"),
    [
        ((), 2, "say what the cluster is for"),
        (("--purpose", "w", "--dry-run", "--wait"), 2, "--dry-run creates nothing"),
        (("--purpose", "w", "--timeout", "1s"), 2, "give --wait with it"),
        (("--purpose", "w", "--wait", "--timeout", "soon"), 1, "--timeout: 'soon' is not a length of time"),
        (("--purpose", "w", "--ttl", "3 days"), 1, "--ttl: '3 days' is not a length of time"),
        (("--purpose", "w", "--ttl", "0s"), 1, "--ttl: '0s' must be longer than nothing"),
        (("--purpose", "w", "--version", "1.x"), 1, "spec.kubernetes.version"),
        (("--purpose", "w", "--prefix", "A_"), 1, "spec.prefix"),
        (("--purpose", ""), 1, "spec.purpose"),
        (("--purpose", "w", "--trait", "!?"), 1, "--trait '!?' names no trait"),
        (("--purpose", "w", "--trait", "{or: [}"), 1, "is not YAML"),
        (("--purpose", "w", "--trait", "{nor: [{trait: a}]}"), 1, "spec.traits"),
        (("--purpose", "w", "--trait", "{trait: a, or: [{trait: a}]}"), 1, "exactly one of trait"),
        (("--purpose", "w", "--trait", "{or: [" * 50 + "{trait: a}" + "]}" * 50), 1, "is nested deeper than"),
        (("--purpose", "w", "--trait", "{or: [" * 6 + "{trait: a}" + "]}" * 6), 1, "spec.traits[0].or[0]"),
        (("--purpose", "w", "--label", "shop"), 1, "--label 'shop' is not KEY=VALUE"),
        (("--purpose", "w", "--label", "a b=c"), 1, "metadata.labels"),
    ],
)
async def test_bad_requests(quiet: Quiet, there: Client, room: str, words: Any, code: int, phrase: str) -> None:
    failed = quiet.run("request", "create", "web", "-n", room, *words, code=code)
    assert phrase in failed.err
    assert await names_in(there, room) == []


async def test_names_and_namespaces_that_do_not_work(quiet: Quiet, there: Client, room: str) -> None:
    await there.create(REQUESTS, cluster_request("web", room))
    for extra in ((), ("--dry-run",)):
        create = ("request", "create", "--purpose", "w", *extra)
        assert "There is already a clusterrequest 'web'" in quiet.run(*create, "web", "-n", room, code=1).err
        assert "There is no namespace 'no-such-room'" in quiet.run(*create, "web", "-n", "no-such-room", code=1).err


async def test_a_dry_run_tells_and_writes_nothing(quiet: Quiet, there: Client, room: str) -> None:
    name = f"dry-{room}"
    await there.create(typed(Purpose), purpose(name, dedicated=True, template={"spec": {"profile": name}}))
    await there.create(typed(ClusterProfile), cluster_profile(name))
    dry = ("request", "create", "web", "-n", room, "--purpose", name, "--dry-run")
    said = quiet.run(*dry).out
    assert said.startswith("Granted, if it were created now:\n")
    assert f"is made by the profile {name} with Kubernetes 1.33.3." in " ".join(said.split())
    refused = quiet.run(*dry, "--version", "1.20").out
    assert refused.startswith("Denied (NoFittingProfile), if it were created now:\n")
    assert f"With version 1.33.3 instead of 1.20, the profile {name} would do." in refused
    whole = json.loads(quiet.run(*dry, "-o", "json").out)
    assert (whole["outcome"]["phase"], whole["outcome"]["new"], whole["notes"]) == ("Granted", True, [])
    assert await names_in(there, room) == []


async def test_waiting_ends_when_its_cluster_is_ready(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    begun = quiet.begin(tmp_path, "request", "create", "web", "-n", room, "--purpose", "w", "--wait", "-o", "name")
    await begun.until_said("Pending: no answer yet")
    await answer(there, room, "web", phase="Pending", reason="NoCapacity", message="All are full.")
    await begun.until_said("Pending (NoCapacity): All are full.")
    cluster = {"name": "one", "namespace": room}
    await answer(there, room, "web", ready="False", phase="Granted", reason="Granted", message="", cluster=cluster)
    await begun.until_said(f"Granted: {room}/one is not ready yet (it is being made)")
    await answer(there, room, "web", ready="True", phase="Granted", reason="Granted", message="", cluster=cluster)
    ended = await begun.ended()
    assert (ended.code, ended.out) == (0, "clusterrequest/web\n")
    assert f"Granted: {room}/one is ready" in ended.err


async def test_waiting_ends_when_it_is_denied(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    begun = quiet.begin(tmp_path, "request", "create", "web", "-n", room, "--purpose", "w", "--wait")
    await begun.until_said("Pending")
    await answer(there, room, "web", phase="Denied", reason="NoFittingProfile", message="Ask for less.")
    ended = await begun.ended()
    assert ended.code == 1
    assert f"mooring: The clusterrequest {room}/web is denied (NoFittingProfile). Ask for less.\n" in ended.err
    assert await names_in(there, room) == ["web"]


async def test_waiting_ends_when_it_is_deleted(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    begun = quiet.begin(tmp_path, "request", "create", "web", "-n", room, "--purpose", "w", "--wait")
    await begun.until_said("Pending")
    await there.delete(REQUESTS, "web", namespace=room)
    ended = await begun.ended()
    assert ended.code == 1
    assert "was deleted while it was waited for" in ended.err


async def test_whoever_stops_waiting_leaves_the_request(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    begun = quiet.begin(tmp_path, "request", "create", "web", "-n", room, "--purpose", "w", "--wait")
    await begun.until_said("Pending")
    begun.process.send_signal(signal.SIGINT)
    ended = await begun.ended()
    assert ended.code == 130
    assert f"The request stays; 'mooring why web -n {room}" in ended.err
    assert await names_in(there, room) == ["web"]


async def test_waiting_has_an_end_if_wanted(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    failed = await quiet.late(tmp_path, "request", "create", "web", "-n", room, "--purpose", "w")
    assert f"The clusterrequest {room}/web is not ready in time, and stays." in failed.err
    assert await names_in(there, room) == ["web"]


async def test_the_list(quiet: Quiet, there: Client, room: str) -> None:
    assert quiet.run("request", "list", "-n", room).err == f"There are no requests in the namespace {room}.\n"
    await there.create(REQUESTS, cluster_request("api", room, purposes=["a", "b"], kubernetes={"version": "1.33"}))
    await there.create(REQUESTS, cluster_request("web", room, purpose="w", ttl="72h", dedicated=True))
    cluster = {"name": "one", "namespace": room}
    await answer(there, room, "web", ready="True", phase="Granted", reason="Granted", message="Yours.", cluster=cluster)

    lines = quiet.run("request", "list", "-n", room).out.splitlines()
    assert re.split(r"  +", lines[0]) == ["NAME", "PURPOSES", "PHASE", "REASON", "CLUSTER", "READY", "TTL LEFT", "AGE"]
    assert lines[1].split()[:-1] == ["api", "a,b", "Pending", "-", "-", "-", "-"]
    assert re.fullmatch(rf"web +w +Granted +Granted +{room}/one +True +(2d|7\dh) +\d+[smh]", lines[2])
    assert len(lines) == 3

    wide = quiet.run("request", "list", "-n", room, "-o", "wide").out.splitlines()
    assert wide[0].endswith("VERSION  SHARING    MESSAGE")
    assert wide[2].endswith("dedicated  Yours.")
    everywhere = quiet.run("request", "list", "-A").out.splitlines()
    assert everywhere[0].startswith("NAMESPACE")
    assert sum(line.startswith(f"{room} ") for line in everywhere) == 2

    as_json = json.loads(quiet.run("request", "list", "-n", room, "-o", "json").out)
    assert as_json == yaml.safe_load(quiet.run("request", "list", "-n", room, "-o", "yaml").out)
    assert [one["metadata"]["name"] for one in as_json["items"]] == ["api", "web"]
    assert {one["kind"] for one in as_json["items"]} == {"ClusterRequest"}
    assert "exclude each other" in quiet.run("request", "list", "-A", "-n", room, code=2).err


async def test_the_end_can_be_moved(quiet: Quiet, there: Client, room: str) -> None:
    await there.create(REQUESTS, cluster_request("web", room, purpose="w"))
    extend = ("request", "extend", "web", "-n", room)
    assert "has no end that could be moved; give it one with --ttl" in quiet.run(*extend, "--by", "1h", code=1).err
    assert quiet.run(*extend, "--ttl", "90m").out.startswith("clusterrequest web has a ttl of 90m now; ")
    assert quiet.run("request", "extend", "cr/web", "-n", room, "--by", "24h").out.startswith(
        "clusterrequest web has a ttl of 25h30m now; "
    )
    assert (await there.get(REQUESTS, "web", namespace=room)).spec.ttl == "25h30m"
    assert "give either --ttl" in quiet.run(*extend, code=2).err
    assert "give either --ttl" in quiet.run(*extend, "--ttl", "1h", "--by", "1h", code=2).err
    assert "would end it at once" in quiet.run(*extend, "--ttl", "1ms", code=1).err
    assert "--by: '-1h' must be longer than nothing" in quiet.run(*extend, "--by=-1h", code=1).err
    assert "There is no clusterrequest 'no'" in quiet.run("request", "extend", "no", "--by", "1h", code=1).err
    assert (await there.get(REQUESTS, "web", namespace=room)).spec.ttl == "25h30m"


async def test_giving_back(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    await there.create(REQUESTS, cluster_request("web", room, purpose="w"))
    assert quiet.run("request", "delete", "web", "-n", room).out == "clusterrequest web is deleted.\n"
    assert await names_in(there, room) == []
    assert "There is no clusterrequest 'web'" in quiet.run("request", "delete", "web", "-n", room, code=1).err

    held = cluster_request("held", room, purpose="w")
    held["metadata"]["finalizers"] = ["clusters.openmcp.cloud/request"]
    await there.create(REQUESTS, held)
    delete = ("request", "delete", "held", "-n", room)
    late = await quiet.late(tmp_path, *delete)
    assert "is not gone in time; its deletion goes on" in late.err
    assert quiet.run(*delete).out == "clusterrequest held is being deleted.\n"
    assert quiet.run("request", "list", "-n", room).out.splitlines()[1].split()[2] == "Leaving"
    assert "already being deleted" in quiet.run("request", "extend", "held", "-n", room, "--ttl", "1h", code=1).err

    begun = quiet.begin(tmp_path, *delete, "--wait")
    await begun.until_said("Leaving")
    await there.patch(REQUESTS, "held", MergePatch({"metadata": {"finalizers": []}}), namespace=room)
    ended = await begun.ended()
    assert (ended.code, ended.out) == (0, "clusterrequest held is deleted.\n")


async def test_a_timely_answer_is_not_missed(quiet: Quiet, there: Client, room: str, tmp_path: Path) -> None:
    """The answer may be there before anybody waits for it."""
    begun = quiet.begin(tmp_path, "request", "create", "web", "-n", room, "--purpose", "w", "--wait")

    async def is_there() -> bool:
        return await names_in(there, room) == ["web"]

    await until(is_there, "the request is there")
    await answer(there, room, "web", ready="True", phase="Granted", reason="Granted", message="")
    assert (await begun.ended()).code == 0
