"""``delete`` beside the real one, with every combination of flags, by each in clusters that the other one made."""

from __future__ import annotations

import asyncio

import pytest
from lifecycle_kit import (
    INIT_OLD,
    LEFT_BY_THE_JUDGE,
    NAMED,
    OLD_SHIPYARD,
    SHIPYARD_HOME,
    cluster_roles,
    gone,
    left_by_the_judge,
)
from twins import Twins

from mooring.clusterctl.inventory_definition import PROVIDERS
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.kube import Client, untyped

SHIPYARDS = untyped(
    group="infrastructure.cluster.x-k8s.io", version="v1beta1", plural="shipyardclusters", kind="ShipyardCluster"
)
CORE_HOME = "capi-system"
REFUSED = (
    (),
    ("--all", "--infrastructure=shipyard"),
    ("--all", "--infrastructure=,"),
    ("--infrastructure=nobody",),
    ("--bootstrap=shipyard",),
    ("--bootstrap=kubeadm",),
    ("--infrastructure=shipyard:v1.0.0",),  # another version is there
    ("--infrastructure=shipyard:",),
    ("--infrastructure=ship yard",),
    ("--infrastructure=shipyard,nobody",),
    ("--core=-",),
    ("--core=cluster-api", "too-much"),
)


@pytest.fixture
async def old(twins: Twins) -> Twins:
    twins = twins.reading(twins.config, ignore=left_by_the_judge)
    await twins.succeed(*INIT_OLD)
    return twins


async def without(twins: Twins, *groups: str) -> None:
    """Until the definitions of these groups are gone: the judge does not wait for it."""
    for place in (twins.judges, twins.mine):
        for one in (await place.client.list(DEFINITIONS)).items:
            if one["spec"]["group"] in groups:
                await gone(place.client, one["apiVersion"], one["kind"], one["metadata"]["name"])


async def test_deletions_beside_the_judge(old: Twins):
    endings = await asyncio.gather(*(old.both("delete", *flags) for flags in REFUSED))
    for flags, (theirs, ours) in zip(REFUSED, endings, strict=True):
        assert (theirs.code, ours.code) == (1, 1), f"{flags}\njudge: {theirs.err}\nours: {ours.err}"
    await old.are_equal(["everything that is refused"])

    # A comma too many means nothing; and nothing is deleted.
    await old.succeed("delete", "--infrastructure=,")

    _, ours = await old.succeed("delete", "--infrastructure=shipyard", swapped=True)
    assert f"Deleting provider {SHIPYARD_HOME}/infrastructure-shipyard, version {OLD_SHIPYARD}" in ours.err
    # DEVIATION delete-leaks-cluster-roles
    assert LEFT_BY_THE_JUDGE & await cluster_roles(old.judges.client) == {"capi-manager-role"}
    assert {"shipyard-plain", "shipyard-of-old"} <= await cluster_roles(old.mine.client)

    await old.succeed(*INIT_OLD)
    await old.succeed("delete", *NAMED, swapped=True)
    await old.succeed("delete", "--all")  # nobody is there

    await old.succeed(*INIT_OLD)
    await old.succeed("delete", f"-i=SHIPYARD:{OLD_SHIPYARD}", "--include-crd")
    await without(old, SHIPYARDS.group)
    await old.succeed("delete", "--all", "--include-crd", swapped=True)
    await without(old, "cluster.x-k8s.io")
    for again in (("--all",), ("--core=cluster-api",)):
        _, ours = await old.agree("delete", *again)
        assert ours.code == 1
        assert "run init first" in ours.err
    assert "capi-manager-role" not in await cluster_roles(old.judges.client)


async def test_objects_that_are_there(old: Twins):
    async def build(client: Client) -> None:
        for name in ("one", "two"):
            metadata = {"name": name, "namespace": "default"}
            kind = {"apiVersion": SHIPYARDS.api_version, "kind": SHIPYARDS.kind}
            await client.create(SHIPYARDS, {**kind, "metadata": metadata})

    await old.on_each(build)
    for flags in (("--infrastructure=shipyard",), ("--all", "--include-namespace"), NAMED):
        _, ours = await old.agree("delete", *flags, "--include-crd")
        assert ours.code == 1
        assert "ShipyardCluster default/one, default/two (of infrastructure-shipyard)" in ours.err
    _, ours = await old.succeed("delete", "--infrastructure=shipyard")
    assert len((await old.mine.client.list(SHIPYARDS)).items) == 2


async def test_with_namespaces(old: Twins):
    async def move_in(client: Client) -> None:
        """Something that is no component is in the namespaces, too."""
        config_maps = await client.resource("v1", "ConfigMap")
        for home in (SHIPYARD_HOME, CORE_HOME):
            metadata = {"name": "luggage", "namespace": home}
            await client.create(config_maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    await old.on_each(move_in)
    theirs, ours = await old.both("delete", "--infrastructure=shipyard", "--include-namespace", swapped=True)
    assert (theirs.code, ours.code) == (0, 0), ours.err
    await old.on_each(lambda client: gone(client, "v1", "Namespace", SHIPYARD_HOME))
    await old.are_equal()

    # In another namespace than its names tell of, the judge leaves one more role behind.
    old = old.reading(old.config, lambda key: left_by_the_judge(key) or key[2] == f"{SHIPYARD_HOME}-own-role")
    await old.succeed("init", f"--infrastructure=shipyard:{OLD_SHIPYARD}", "--target-namespace", CORE_HOME)
    # The namespace has the label of who was there last, and goes with it only.
    await old.succeed("delete", "--core=cluster-api", "--include-namespace", swapped=True)
    theirs, ours = await old.both("delete", "--all", "--include-namespace", "--include-crd")
    assert (theirs.code, ours.code) == (0, 0), ours.err
    await old.on_each(lambda client: gone(client, "v1", "Namespace", CORE_HOME))
    await without(old, SHIPYARDS.group)
    await old.are_equal()


async def test_what_is_left_when_the_core_has_gone(old: Twins):
    """DEVIATION delete-without-core: nobody has to install Cluster API again to get rid of its providers."""
    ended = await old.mine_only("delete", "--core=cluster-api", "--include-crd")
    assert ended.code == 0, ended.err
    theirs, ours = await old.of_one("delete", "--infrastructure=shipyard", "--include-crd")
    assert (theirs.code, ours.code) == (1, 0), ours.err
    assert (await old.mine.client.list(PROVIDERS)).items == []
    assert not LEFT_BY_THE_JUDGE & await cluster_roles(old.mine.client)


async def test_several_instances(old: Twins):
    """Which only v1alpha3 could install: the inventory says so, and they are told apart by their namespaces."""
    for place in (old.judges, old.mine):
        entry = await place.client.get(PROVIDERS, "infrastructure-shipyard", namespace=SHIPYARD_HOME)
        metadata = {"name": "infrastructure-shipyard", "namespace": "default", "labels": entry["metadata"]["labels"]}
        await place.client.create(PROVIDERS, {**entry, "metadata": metadata})
    _, ours = await old.agree("delete", "--infrastructure=shipyard")
    assert ours.code == 1
    assert "is in several namespaces (default, infrastructure-shipyard-system): say which one" in ours.err

    refused = await old.mine_only("delete", "--infrastructure=shipyard", "--namespace=default", "--include-crd")
    assert refused.code == 1
    assert f"delete {SHIPYARD_HOME}/infrastructure-shipyard first" in refused.err
    ended = await old.mine_only("delete", "--infrastructure=shipyard", "--namespace=default")
    assert ended.code == 0, ended.err
    assert "shipyard-plain" in await cluster_roles(old.mine.client)  # nobody can tell whose it is

    await old.succeed("delete", "--all")
    assert "shipyard-plain" not in await cluster_roles(old.mine.client)
