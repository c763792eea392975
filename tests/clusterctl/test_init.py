"""``init`` beside the real one: whatever it is asked, both clusters look the same afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from dumping import dump
from lifecycle_kit import Yard
from releases import Release, bootstrap, control_plane, core, definition, infrastructure
from twins import Twins

from mooring.clusterctl.providers import ProviderType
from mooring.clusterctl.waiting import DEPLOYMENTS
from mooring.kube import Client, MergePatch
from mooring.testing.managers import until

MISNAMED = definition("wreck.example.com", "Wreck")
MISNAMED["metadata"]["name"] = "wreckage.wreck.example.com"
MISNAMED["spec"]["names"]["plural"] = "wreckage"
EXCUSED = definition("wreck.example.com", "Hulk")
EXCUSED["metadata"]["name"] = "hulkage.wreck.example.com"
EXCUSED["metadata"]["annotations"] = {"clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check": ""}
EXCUSED["spec"]["names"]["plural"] = "hulkage"
TONNAGE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "tonnage", "namespace": "anywhere"},
    "data": {"tons": "${TONS}", "draught": "${DRAUGHT:=little}"},
}
CLUSTER_WIDE = definition("buoy.example.com", "Mark")
CLUSTER_WIDE["spec"]["scope"] = "Cluster"
A_MARK = {
    "apiVersion": "buoy.example.com/v1beta2",
    "kind": "Mark",
    "metadata": {"name": "north"},
    "spec": {"colour": "red"},
}

EVERYTHING = [
    core(),
    bootstrap(),
    control_plane(),
    infrastructure("v1.0.0"),
    infrastructure("v1.1.0"),
    Release("pier", ProviderType.IPAM, "v0.2.0"),
    Release("raft", ProviderType.INFRASTRUCTURE, "v0.3.0", contract="v1beta1"),
    Release("dinghy", ProviderType.INFRASTRUCTURE, "v0.1.0", contract="v1alpha4"),
    Release("galley", ProviderType.INFRASTRUCTURE, "v0.1.0", series=[(0, 2, "v1beta2")]),
    Release("wreck", ProviderType.ADDON, "v1.0.0", extra=[MISNAMED]),
    Release("hulk", ProviderType.ADDON, "v1.0.0", extra=[EXCUSED]),
    Release("freighter", ProviderType.ADDON, "v1.0.0", extra=[TONNAGE]),
    Release("buoy", ProviderType.RUNTIME_EXTENSION, "v1.0.0", extra=[CLUSTER_WIDE, A_MARK]),
]
REFUSED = (
    ("--infrastructure", "shipyard:v1.1.0"),  # another version is there
    ("--ipam", "pier"),  # it is there, elsewhere
    ("--infrastructure", "dinghy"),
    ("--infrastructure", "galley"),
    ("--addon", "wreck"),
    ("--addon", "freighter"),  # a variable is missing
    ("--core", "-"),
    ("--core", "cluster-api:v1.13.0"),
    ("--infrastructure", "nobody"),
    ("--infrastructure", "shipyard:v9.9.9"),
)


@pytest.fixture
def here(twins: Twins, tmp_path: Path) -> Twins:
    return twins.reading(Yard.made(tmp_path / "everything", EVERYTHING).config)


async def become_available(client: Client, namespace: str) -> None:
    """Every Deployment of a namespace, as soon as there is one: nobody else would see to it."""

    async def there():
        return (await client.list(DEPLOYMENTS, namespace=namespace)).items

    for one in await until(there, f"a Deployment in {namespace}"):
        condition = {"type": "Available", "status": "True", "reason": "Test", "message": ""}
        status = MergePatch({"status": {"conditions": [condition]}})
        await client.patch(DEPLOYMENTS, one["metadata"]["name"], status, namespace=namespace, subresource="status")


async def test_a_management_cluster_beside_the_judges(here: Twins):
    wanted = ("init", "--infrastructure", "shipyard:v1.0.0")
    written = await here.mine_only(*wanted, "--dry-run")
    assert written.code == 0, written.err
    before = await dump(here.mine.client)

    theirs, ours = await here.agree(*wanted)
    assert ours.code == 0, ours.err
    assert "Installing infrastructure-shipyard v1.0.0 in namespace infrastructure-shipyard-system" in ours.err

    after = await dump(here.mine.client)
    new = {(key[0], key[1], key[2]) for key in after.keys() - before.keys()}
    assert {_key(one) for one in written.documents} == new
    again = await here.mine_only(*wanted, "--dry-run")
    assert (again.code, again.documents) == (0, [])

    theirs, ours = await here.agree(*wanted)
    assert ours.code == 0
    assert "Skipping infrastructure-shipyard v1.0.0" in ours.err

    patiently = ("--wait-providers", "--wait-provider-timeout=1")
    _, ours = await here.agree("init", "--ipam", "pier", "--target-namespace", "harbour", *patiently)
    assert ours.code == 1
    assert "ipam-pier-controller-manager in namespace harbour is not available after 1 seconds" in ours.err

    more = ("--infrastructure=RAFT,-", "--addon=hulk", "--runtime-extension=buoy", "--wait-providers")
    waiting = asyncio.create_task(here.both("init", *more))
    for place in (here.judges, here.mine):
        for name in ("infrastructure-raft", "addon-hulk", "runtime-extension-buoy"):
            await become_available(place.client, f"{name}-system")
    theirs, ours = await waiting
    assert (theirs.code, ours.code) == (0, 0), (theirs.err, ours.err)
    await here.are_equal(more)

    for flags in REFUSED:
        theirs, ours = await here.both("init", *flags)
        assert (theirs.code, ours.code) == (1, 1), f"{flags}\njudge: {theirs.err}\nours: {ours.err}"
    await here.are_equal(["everything that is refused"])

    _, ours = await here.agree("init", "--addon", "wreck", "--validate=false")
    assert ours.code == 0, ours.err
    assert "wrecks.wreck.example.com" in ours.err
    _, ours = await here.agree("init", "--addon", "freighter", TONS="a lot", swapped=True)
    assert ours.code == 0, ours.err


def _key(obj: dict) -> tuple[str, str, str]:
    metadata = obj["metadata"]
    return f"{obj['apiVersion']}/{obj['kind']}", metadata.get("namespace", ""), metadata["name"]
