"""All clusters of a landscape come back after a stop, with their data. A long run has twenty of them."""

import asyncio
import os

import pytest

from landscape_kit import COMPONENTS, processes_with, until
from mooring.app.landscapes import landscape_to_look_at
from mooring.app.settings import Place
from mooring.controlplane.plane import identity_for
from mooring.kube import Client
from mooring.providers.local.access import admin_connection
from mooring.testing.builders import CONFIG_MAPS, config_map

MANY = 20 if os.environ.get("MOORING_LONG_RUN") else 2
PATIENCE = 280.0  # twenty at once take two processors a while
REQUEST = """
apiVersion: clusters.openmcp.cloud/v1alpha1
kind: ClusterRequest
metadata: {{name: team-{number}, namespace: default}}
spec: {{purpose: mcp}}
---
"""


@pytest.mark.timeout(1_500)
def test_all_clusters_come_back_with_their_data(running, tmp_path):
    def apply():
        file = tmp_path / "requests.yaml"
        file.write_text("".join(REQUEST.format(number=number) for number in range(MANY)))
        running.kubectl("apply", "-f", str(file))

    def ready():
        path = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'
        return running.kubectl("get", "clusterrequests", "-o", path).out.split() == ["True"] * MANY

    def uids():
        path = 'jsonpath={.items[?(@.metadata.name!="platform")].metadata.uid}'
        return running.kubectl("get", "clusters", "-A", "-o", path).out.split()

    apply()
    until(ready, "all requests have clusters that are ready", patience=PATIENCE)
    made = uids()
    assert len(set(made)) == MANY
    asyncio.run(_write(running, made))

    running.run("down")
    assert processes_with(f"{running.directory}/") == {}
    running.run("up", "--detach")
    until(lambda: len(running.processes()) == len(COMPONENTS) + 2 * MANY, "all processes run", patience=PATIENCE)
    until(ready, "all clusters are ready again", patience=PATIENCE)
    assert uids() == made
    assert asyncio.run(_read(running, made)) == made

    running.kubectl("delete", "clusterrequests", "--all", "--wait=false")
    until(lambda: not uids(), "all clusters are gone", patience=PATIENCE)
    running.assert_each_runs_once()


def _entries(running, made):
    landscape = landscape_to_look_at(Place(running.name, running.directory))
    return [admin_connection(landscape.control_plane(identity_for(uid))) for uid in made]


async def _write(running, made):
    """Into each cluster its own uid."""
    for uid, connection in zip(made, _entries(running, made), strict=True):
        async with Client(connection) as kube:
            await kube.create(CONFIG_MAPS, config_map("kept", "default", {"uid": uid}))


async def _read(running, made):
    found = []
    for connection in _entries(running, made):
        async with Client(connection) as kube:
            found.append((await kube.get(CONFIG_MAPS, "kept", namespace="default"))["data"]["uid"])
    return found
