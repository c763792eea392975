"""Owner chains of live objects, on a real management cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from releases import core, definition, infrastructure, write_repository

from mooring.kube import Client, Object
from mooring.kube.errors import NotFound, UnknownKind

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"


async def make(client: Client, api_version: str, kind: str, name: str, *owners: Object) -> Object:
    resource = await client.resource(api_version, kind)
    references = [
        {"apiVersion": one["apiVersion"], "kind": one["kind"]}
        | {part: one["metadata"][part] for part in ("name", "uid")}
        for one in owners
    ]
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "ownerReferences": references}
    body = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}}
    return {**body, **await client.create(resource, body)}


async def test_every_broken_chain_is_named(management, ours, tmp_path: Path):
    cluster_api = await management()
    client = cluster_api.client
    release = infrastructure("v1.0.0", kinds=[(INFRASTRUCTURE, kind) for kind in ("ShipyardMachine", "ShipyardHull")])
    write_repository(tmp_path / "repository", [release])
    definitions = await client.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    for group, kind in (*core().kinds, *release.kinds):
        await client.create(definitions, definition(group, kind))
    v1beta2 = f"{INFRASTRUCTURE}/v1beta2"
    await served(client, "cluster.x-k8s.io/v1beta2", "Cluster")
    for _, kind in release.kinds:
        await served(client, v1beta2, kind)
    cluster = await make(client, "cluster.x-k8s.io/v1beta2", "Cluster", "one")
    machine = await make(client, v1beta2, "ShipyardMachine", "linked", cluster)
    await make(client, v1beta2, "ShipyardHull", "linked", machine)
    lost = await make(client, v1beta2, "ShipyardMachine", "alone")
    await make(client, v1beta2, "ShipyardHull", "of-alone", lost)
    folder = str(tmp_path / "repository" / release.label)
    words = ("lint", folder, "--rule", "P34,P35", "--kubeconfig", str(cluster_api.kubeconfig))
    ended = await ours.beside(*words)
    assert ended.code == 1
    told = [line.strip(" -") for line in ended.out.splitlines() if " - " in line]
    alone = "ShipyardMachine default/alone, which has no owner"
    assert sorted(told) == sorted(
        [alone, alone, "ShipyardHull default/of-alone ← ShipyardMachine alone, which has no owner"]
    )
    assert (await ours.beside("lint", folder, "--rule", "P34")).out.count("not checkable from files") == 2


async def served(client: Client, api_version: str, kind: str) -> None:
    """Wait until a new definition is served: discovery tells of it a moment later."""
    async with asyncio.timeout(120):
        while True:
            try:
                await client.list(await client.resource(api_version, kind))
            except (NotFound, UnknownKind):
                await asyncio.sleep(0.1)
            else:
                return
