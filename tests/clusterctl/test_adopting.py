"""Components that ``kubectl apply`` brought are taken in where they are, and upgraded and deleted like all others."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from lifecycle_kit import NEW, NEW_SHIPYARD, OLD, OLD_SHIPYARD, SHIPYARD_HOME, UPGRADE, all_releases, left_by_the_judge
from releases import Release
from twins import Twins

from mooring.clusterctl.initialising.adopting import Stray, strays_among
from mooring.clusterctl.inventory import Installed, Inventory
from mooring.clusterctl.providers import ProviderType
from mooring.controlplane.binaries import fetch_binaries
from mooring.controlplane.progress import Silent
from mooring.controlplane.toolsets import KUBERNETES
from mooring.kube import Object

NONE = ("--bootstrap=-", "--control-plane=-")
SHIPYARD = "infrastructure-shipyard"


@pytest.fixture
async def applied(twins: Twins, tmp_path: Path) -> Twins:
    """Both clusters have the old versions, and no clusterctl has ever been there."""
    kubectl = fetch_binaries(KUBERNETES, progress=Silent()).path("kubectl")
    old = [one for one in all_releases() if one.version in (OLD, OLD_SHIPYARD)]
    # As a template it could not be applied.
    text = "\n---\n".join(one.components for one in old).replace("${DOCKS:=false}", "true")
    (tmp_path / "old.yaml").write_text(text)

    def apply(kubeconfig: Path) -> None:
        words = [kubectl, "apply", "--kubeconfig", kubeconfig, "-f", tmp_path / "old.yaml"]
        ended = subprocess.run(words, capture_output=True, encoding="utf-8")
        assert ended.returncode == 0, ended.stderr

    await asyncio.gather(*(asyncio.to_thread(apply, one.kubeconfig) for one in (twins.judges, twins.mine)))
    return twins.reading(twins.config, ignore=left_by_the_judge)


async def test_taken_in_beside_the_judge(applied: Twins):
    named = (f"--core=cluster-api:{OLD}", f"--infrastructure=shipyard:{OLD_SHIPYARD}")
    _, ours = await applied.succeed("init", *NONE, *named)
    assert f"Taking in {SHIPYARD}, which is in namespace {SHIPYARD_HOME}" in ours.err
    await applied.succeed(*UPGRADE)
    await applied.succeed("delete", "--all", swapped=True)


async def test_taken_in_as_they_are(applied: Twins):
    """DEVIATION init-adopts: in the version and the namespace that they have, where the judge would bring others."""
    ended = await applied.mine_only("init", *NONE, "--infrastructure=shipyard", "--target-namespace=elsewhere")
    assert ended.code == 1
    assert "To take it in, use --target-namespace capi-system" in ended.err
    assert await Inventory(applied.mine.client).list() == []

    ended = await applied.mine_only("init", *NONE, "--infrastructure=shipyard")
    assert ended.code == 0, ended.err
    installed = {one.label: (one.version, one.namespace) for one in await Inventory(applied.mine.client).list()}
    assert installed == {"cluster-api": (OLD, "capi-system"), SHIPYARD: (OLD_SHIPYARD, SHIPYARD_HOME)}
    ended = await applied.mine_only("upgrade", "plan")
    assert NEW in ended.out
    assert NEW_SHIPYARD in ended.out


def deployment(**given: str) -> Object:
    return {**Release("shipyard", ProviderType.INFRASTRUCTURE, "v1.2.3", **given).deployment()}


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry.example.com/manager:v1.2.3", "v1.2.3"),
        ("registry.example.com:5000/manager:v1.2.3-rc.1", "v1.2.3-rc.1"),
        ("registry.example.com/manager:v1.2.3@sha256:0123", "v1.2.3"),
        ("registry.example.com/manager@sha256:0123", ""),
        ("registry.example.com:5000/manager", ""),
        ("manager:latest", ""),
        ("manager:1.2.3", ""),
        ("manager", ""),
    ],
)
def test_the_image_tells_the_version(image: str, version: str):
    found = strays_among([deployment(image=image)], [])
    assert found == {SHIPYARD: (Stray(SHIPYARD, "infrastructure-shipyard-system", version),)}


def test_who_is_no_stray():
    known = Installed(SHIPYARD, "shipyard", ProviderType.INFRASTRUCTURE, "v1.0.0", "harbour")
    leaving, other = deployment(), deployment()
    leaving["metadata"] = {**leaving["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    other["spec"]["template"]["spec"]["containers"][0]["name"] = "metrics"
    assert strays_among([deployment(namespace="harbour"), leaving, other], [known]) == {}
    assert list(strays_among([deployment(namespace="quay")], [known])) == [SHIPYARD]
