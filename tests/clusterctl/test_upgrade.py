"""``upgrade apply`` beside the real one; and where ours goes on after the other one gave up."""

from __future__ import annotations

from pathlib import Path

import pytest
from dumping import difference, dump
from lifecycle_kit import (
    INIT_OLD,
    NEW,
    NEW_SHIPYARD,
    OLD_SHIPYARD,
    RBAC,
    SHIPYARD_HOME,
    SHIPYARD_MANAGER,
    UPGRADE,
    Yard,
    cluster_role,
    cluster_roles,
    left_by_the_judge,
    manager_of,
    scale,
    set_arguments,
)
from releases import core, definition, infrastructure
from twins import Twins

from mooring.clusterctl.inventory import Inventory
from mooring.clusterctl.waiting import DEFINITIONS, DEPLOYMENTS
from mooring.kube import JsonPatch, Object, untyped

OLD_SLIPS = untyped(group="slip.example.com", version="v1alpha1", plural="slips", kind="Slip")
SLIPS = untyped(group="slip.example.com", version="v1beta1", plural="slips", kind="Slip")


@pytest.fixture
async def old(twins: Twins) -> Twins:
    """Both have the old versions, and an old contract among them."""
    twins = twins.reading(twins.config, ignore=left_by_the_judge)
    await twins.succeed(*INIT_OLD)
    return twins


async def test_upgrades_beside_the_judge(old: Twins):
    theirs, ours = await old.both("upgrade", "plan")
    assert (ours.code, ours.out) == (0, theirs.out)
    assert f"{OLD_SHIPYARD}            {NEW_SHIPYARD}" in ours.out

    only_shipyard = ("upgrade", "apply", f"--infrastructure=shipyard:{NEW_SHIPYARD}")
    await old.succeed(*only_shipyard, swapped=True)
    # DEVIATION upgrade-leaks-cluster-roles
    assert "shipyard-of-old" not in await cluster_roles(old.judges.client)
    assert "shipyard-of-old" in await cluster_roles(old.mine.client)
    await old.succeed("upgrade", "apply", f"-i={SHIPYARD_HOME}/Shipyard:{OLD_SHIPYARD}")  # and back again

    before = await dump(old.mine.client)
    theirs, ours = await old.both("upgrade", "apply", "--core=cluster-api:v1.14.9")  # which is not there
    assert (theirs.code, ours.code) == (1, 1)
    # DEVIATION upgrade-decides-first: the judge has stopped all controllers by then.
    assert difference(before, await dump(old.mine.client)) == []

    impatient = ("--wait-providers", "--wait-provider-timeout=1")
    _, ours = await old.agree(*UPGRADE, *impatient, swapped=True)
    assert ours.code == 1
    assert "capi-controller-manager in namespace capi-system is not available after 1 seconds" in ours.err
    theirs, ours = await old.both("upgrade", "plan")
    assert (ours.code, ours.out) == (0, theirs.out)
    assert "You are already up to date!" in ours.out
    await old.succeed(*UPGRADE)
    await old.succeed("upgrade", "apply", f"--core=cluster-api:{NEW}", f"--infrastructure=shipyard:{NEW_SHIPYARD}")
    await old.succeed("delete", "--all", swapped=True)


async def test_what_people_changed_survives(old: Twins):
    """DEVIATION upgrade-keeps-changes."""
    client = old.mine.client
    by_hand = ("--leader-elect", "--v=7", "--feature-gates=Docks=true,Cranes=false", "--soon-gone=no", "--by-hand")
    await set_arguments(client, SHIPYARD_MANAGER, SHIPYARD_HOME, *by_hand)
    await scale(client, SHIPYARD_MANAGER, SHIPYARD_HOME, 3)
    container = "/spec/template/spec/containers/0"
    changes = [
        {"op": "add", "path": f"{container}/env", "value": [{"name": "TOKEN", "value": "told-to-nobody"}]},
        {"op": "add", "path": f"{container}/resources", "value": {"limits": {"cpu": "1500m", "memory": "0.5Gi"}}},
    ]
    await client.patch(DEPLOYMENTS, SHIPYARD_MANAGER, JsonPatch(changes), namespace=SHIPYARD_HOME)

    ended = await old.mine_only(*UPGRADE)
    assert ended.code == 0, ended.err
    manager = await manager_of(client)
    assert manager["image"].endswith(NEW_SHIPYARD)
    gates = "--feature-gates=Docks=true,Cranes=false,Slips=true"
    assert manager["args"] == ["--leader-elect", "--v=7", gates, "--new", "--by-hand"]
    assert manager["env"] == [{"name": "TOKEN", "value": "told-to-nobody"}]
    assert manager["resources"] == {"limits": {"cpu": "1500m", "memory": "512Mi"}}
    assert (await client.get(DEPLOYMENTS, SHIPYARD_MANAGER, namespace=SHIPYARD_HOME))["spec"]["replicas"] == 3
    assert "Not kept, although it was changed: --soon-gone=no" in ended.err
    assert "told-to-nobody" not in ended.err

    # Once more to the same version, twice: changes are still changes, unless nobody wants them any more.
    again = ("upgrade", "apply", f"--infrastructure=shipyard:{NEW_SHIPYARD}")
    assert (await old.mine_only(*again)).code == 0
    assert (await manager_of(client))["args"] == manager["args"]
    assert (await old.mine_only(*again, "--discard-changes")).code == 0
    assert "--by-hand" not in (await manager_of(client))["args"]

    # What is set by a variable today is not what somebody wrote by hand yesterday.
    await set_arguments(client, SHIPYARD_MANAGER, SHIPYARD_HOME, "--feature-gates=Docks=true,Cranes=true")
    ended = await old.mine_only(*again, DOCKS="maybe")
    assert ended.code == 0, ended.err
    assert (await manager_of(client))["args"] == ["--feature-gates=Docks=maybe,Cranes=true"]


def slips(stored: str, *others: str) -> Object:
    """A definition with these versions."""
    made = definition("slip.example.com", "Slip", infrastructure())
    like = made["spec"]["versions"][0]
    made["spec"]["versions"] = [{**like, "name": name, "storage": name == stored} for name in (stored, *others)]
    return made


def bound_to(role: str) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "shipyard-binding"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "infrastructure-shipyard-manager", "namespace": SHIPYARD_HOME}],
    }


async def test_what_servers_refuse_to_change_in_place(twins: Twins, tmp_path: Path):
    """DEVIATION upgrade-migrates: a definition that drops a version. DEVIATION upgrade-rebinds: another role bound."""
    series = [(0, minor, "v1beta2") for minor in (7, 8, 9)]
    made = [core()]
    for version, slip, role in (
        ("v0.7.0", slips("v1alpha1"), "first"),
        ("v0.8.0", slips("v1beta1", "v1alpha1"), "second"),
        ("v0.9.0", slips("v1beta1"), "second"),
    ):
        extra = [slip, cluster_role(role, "get"), bound_to(role)]
        made.append(infrastructure(version, series=series, extra=extra, kinds=[]))
    twins = twins.reading(Yard.made(tmp_path / "dropping", made).config)
    client = twins.mine.client
    none = ("--bootstrap=-", "--control-plane=-")
    ended = await twins.mine_only("init", *none, "--infrastructure=shipyard:v0.7.0")
    assert ended.code == 0, ended.err
    slip = {"apiVersion": OLD_SLIPS.api_version, "kind": "Slip", "metadata": {"name": "one", "namespace": "default"}}
    await client.create(OLD_SLIPS, {**slip, "spec": {"length": 30}})

    before = await dump(client)
    ended = await twins.mine_only("upgrade", "apply", "--infrastructure=shipyard:v0.9.0")
    assert ended.code == 1
    assert "slips.slip.example.com stores its objects in version v1alpha1" in ended.err
    assert difference(before, await dump(client)) == []

    for version in ("v0.8.0", "v0.9.0"):
        ended = await twins.mine_only("upgrade", "apply", f"--infrastructure=shipyard:{version}")
        assert ended.code == 0, ended.err
    assert "Storing 1 objects of kind Slip in version v1beta1" in ended.err
    assert (await client.get(DEFINITIONS, "slips.slip.example.com"))["status"]["storedVersions"] == ["v1beta1"]
    assert (await client.get(SLIPS, "one", namespace="default"))["spec"] == {"length": 30}
    bindings = await client.resource(f"{RBAC}/v1", "ClusterRoleBinding")
    assert (await client.get(bindings, "shipyard-binding"))["roleRef"]["name"] == "second"
    assert [one.version for one in await Inventory(client).list()] == ["v1.14.2", "v0.9.0"]
