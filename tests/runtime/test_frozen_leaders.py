"""Two processes, one lease, and a leader that is frozen for longer than the lease: proved by the server's audit log.

Twenty rounds: four pairs of processes, five rounds each. In every other round the leader stops by itself, at the worst
moment: right before a write that nothing but the lease protects. In the others it is stopped from outside, wherever it
happens to be, while it writes as fast as it can.
"""

import asyncio
import datetime
import json
import signal
from pathlib import Path

import pytest
from lease_process import SETTINGS
from runtime_kit import eventually
from wheel_processes import process

from mooring.controlplane.plane import new_identity
from mooring.kube import Client, connection_from_document
from mooring.testing.builders import CONFIG_MAPS, NAMESPACES, config_map, namespace_object

PROGRAM = Path(__file__).with_name("lease_process.py")
PAIRS, ROUNDS = 4, 5
COUNTS = 10  # writes by which a leader proves itself
# From the guard's yes to the server's note of the arrival, on a machine that is busy with other tests: less than what
# is left until others may take the lease.
TRANSPORT = datetime.timedelta(milliseconds=500)

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "RequestResponse",
            "users": [f"{pair}-{side}" for pair in range(PAIRS) for side in "ab"],
            "verbs": ["create", "update", "patch", "delete"],
        },
        {"level": "None"},
    ],
}


@pytest.fixture
async def audited(landscape, tmp_path):
    """A control plane that writes down who wrote what, and when."""
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(POLICY))
    plane = landscape.control_plane(new_identity())
    plane.api_server_flags = {"audit-policy-file": str(policy), "audit-log-path": str(tmp_path / "audit.log")}
    try:
        await plane.start()
        yield plane
    finally:
        await plane.delete()
        landscape.etcd.close()


class Pair:
    """Two processes, and the counter that the leader of them counts up."""

    def __init__(self, kube, namespace, processes):
        self.late_attempts = 0
        self._kube = kube
        self._namespace = namespace
        self._processes = {one.identity: one for one in processes}

    async def _counter(self):
        return (await self._kube.get(CONFIG_MAPS, "counter", namespace=self._namespace)).get("data", {})

    async def leader(self, *, other_than=None):
        """Who leads now, and has proved it by counting on for a while."""

        async def counted():
            first = await self._counter()
            if "by" not in first or first["by"] == other_than:
                return None
            for _ in range(500):
                later = await self._counter()
                if later["by"] != first["by"] or int(later["count"]) >= int(first["count"]) + COUNTS:
                    return self._processes[later["by"]]
                await asyncio.sleep(0.01)
            return None

        return await eventually(counted)

    async def round(self, number):
        leader = await self.leader()
        if number % 2:
            leader.signal(signal.SIGSTOP)
        else:
            leader.tell("freeze")
            await leader.until_said("frozen", leader.said.count("@frozen") + 1)
            await eventually(leader.is_stopped)
        successor = await self.leader(other_than=leader.identity)
        assert successor is not leader
        leader.signal(signal.SIGCONT)
        if not number % 2:
            self.late_attempts += 1
            await eventually(lambda: has_tried(leader))


def has_tried(leader):
    """Whether it has attempted each write that it was stopped before, with whatever success."""
    return leader.said.count("@frozen") == leader.said.count("@refused") + leader.said.count("@accepted")


async def run_pair(plane, kube, number, directory):
    namespace = f"pair-{number}"
    await kube.create(NAMESPACES, namespace_object(namespace))
    for name in ("counter", "unprotected"):
        await kube.create(CONFIG_MAPS, config_map(name, namespace))
    async with (
        process(PROGRAM, plane, f"{number}-a", namespace, directory) as one,
        process(PROGRAM, plane, f"{number}-b", namespace, directory) as other,
    ):
        pair = Pair(kube, namespace, [one, other])
        for turn in range(ROUNDS):
            await pair.round(turn + number)
        assert "@accepted" not in one.said + other.said
        return pair.late_attempts


class Entry:
    """One write that the server accepted."""

    def __init__(self, entry):
        self.user = entry["user"]["username"]
        self.namespace = entry["objectRef"]["namespace"]
        self.resource = entry["objectRef"]["resource"]
        self.received = datetime.datetime.fromisoformat(entry["requestReceivedTimestamp"])
        self.revision = int(entry["responseObject"]["metadata"]["resourceVersion"])
        self.lease = entry["responseObject"].get("spec", {})

    @property
    def renewed(self):
        return datetime.datetime.fromisoformat(self.lease["renewTime"])


def accepted(log, namespace):
    """The accepted writes to a pair's objects, in the order in which the store took them."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    writes = [
        Entry(line)
        for line in lines
        if line["responseStatus"]["code"] < 300 and line["objectRef"].get("namespace") == namespace
    ]
    return sorted(writes, key=lambda entry: entry.revision)


def late_by(entries):
    """Of each write but the lease's own, how long after its writer's deadline it arrived (before: negative)."""
    deadline = datetime.timedelta(seconds=SETTINGS["deadline"])
    for entry in entries:
        if entry.resource == "configmaps":
            renewals = [
                one.renewed
                for one in entries
                if one.resource == "leases" and one.user == entry.user and one.revision < entry.revision
                if one.lease.get("holderIdentity") == entry.user
            ]
            yield entry.received - (max(renewals) + deadline)


async def test_no_write_of_a_leader_that_was_frozen_is_accepted_after_its_deadline(audited, tmp_path):
    connection = connection_from_document(audited.admin_kubeconfig(name="test"))
    async with Client(connection) as kube, asyncio.TaskGroup() as group:
        pairs = [group.create_task(run_pair(audited, kube, number, tmp_path)) for number in range(PAIRS)]
    assert sum(pair.result() for pair in pairs) == PAIRS * ROUNDS // 2

    takeovers = 0
    for number in range(PAIRS):
        entries = accepted(tmp_path / "audit.log", f"pair-{number}")
        assert max(late_by(entries)) <= TRANSPORT
        # In the order of the store: whoever writes has the lease. Nothing comes in between, not even late.
        holder = None
        for entry in entries:
            if entry.resource == "leases":
                takeovers += holder not in (None, "", entry.lease.get("holderIdentity"))
                holder = entry.lease.get("holderIdentity")
            else:
                assert entry.user == holder, f"{entry.user} wrote {entry.revision} under the lease of {holder}"
        assert sum(entry.resource == "configmaps" for entry in entries) >= ROUNDS * COUNTS
    assert takeovers >= PAIRS * ROUNDS
