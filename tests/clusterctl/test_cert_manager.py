"""cert-manager beside the real clusterctl: brought along, planned, upgraded, and left to others.

The manifests are small ones of our own in the style of its releases: with no nodes nothing would run anyway, and its
definitions are what both ask for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lifecycle_kit import INIT_OLD, NAMED, RBAC, UPGRADE, Yard, cluster_role, left_by_the_judge, webhook
from releases import cert_manager_definitions, definition
from twins import NAMESPACES, PROBE, Twins

from mooring.clusterctl.applying import apply_one, delete_one
from mooring.clusterctl.config import read_configuration
from mooring.clusterctl.finding import labelled
from mooring.clusterctl.providers import CORE_LABEL, PROVIDER_LABEL
from mooring.clusterctl.waiting import DEFINITIONS
from mooring.kube import Client, Object, untyped
from mooring.testing.managers import until

HOME = "cert-manager"
IMAGE = "quay.io/jetstack/cert-manager-controller"
ANY = {"apiGroups": ["cert-manager.io"], "apiVersions": ["*"], "operations": ["CREATE"]}
PLAN = ("upgrade", "plan")
ISSUERS = untyped(group="cert-manager.io", plural="issuers", kind="Issuer")


def manifest(version: str) -> list[Object]:
    """As its releases are: most objects in a namespace of its own, those for leader election in kube-system."""
    account = {"kind": "ServiceAccount", "name": HOME, "namespace": HOME}
    pod = {"containers": [{"name": "controller", "image": f"{IMAGE}:{version}"}], "serviceAccountName": HOME}
    labels = {"app": HOME}
    election = {"name": "cert-manager:leaderelection", "namespace": "kube-system", "labels": labels}
    rules = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update"]}]
    role = {"apiGroup": RBAC, "kind": "Role", "name": election["name"]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}},
        *cert_manager_definitions(),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": HOME, "namespace": HOME}},
        cluster_role("cert-manager-controller", "get", *(["list"] if version > "v1.20.0" else [])),
        {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": election, "rules": rules},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": election,
            "roleRef": role,
            "subjects": [account],
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": HOME, "namespace": HOME},
            "spec": {"ports": [{"port": 443}], "selector": labels},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": HOME, "namespace": HOME, "labels": labels},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
        webhook("cert-manager-webhook", HOME),
        *([definition("acme.cert-manager.io", "Challenge")] if version > "v1.20.0" else []),
    ]


@pytest.fixture
async def bare(twins: Twins, tmp_path: Path) -> Twins:
    """Clusters without any cert-manager; there is a repository with three versions of it."""
    for version in ("v1.19.0", "v1.20.0", "v1.21.0"):
        folder = tmp_path / "cert-manager" / version
        folder.mkdir(parents=True)
        (folder / "cert-manager.yaml").write_text(yaml.safe_dump_all(manifest(version)))
    await twins.on_each(forget_cert_manager)
    return twins.reading(configured(tmp_path, "v1.20.0"), ignore=left_by_the_judge)


def configured(folder: Path, version: str, /, images: dict[str, Any] | None = None, **settings: Any) -> Path:
    """A configuration with this cert-manager."""
    url = str(folder / "cert-manager" / "v1.19.0" / "cert-manager.yaml")
    own = {"url": url, "version": version, "timeout": "20s", **settings}
    place = folder / f"config-{len(list(folder.iterdir()))}"
    return Yard.made(place, **{"cert-manager": own, "images": images or {}}).config


async def forget_cert_manager(client: Client) -> None:
    for one in cert_manager_definitions():
        await delete_one(client, one)

    async def is_gone() -> bool:
        return not [one for one in (await client.list(DEFINITIONS)).items if "cert-manager" in one["spec"]["group"]]

    await until(is_gone, "cert-manager is gone")


async def is_there(client: Client) -> bool:
    return bool((await client.list(NAMESPACES, field_selector=f"metadata.name={HOME}")).items)


async def versions(client: Client) -> set[str]:
    """Of everything that is labelled as cert-manager's."""
    found = await labelled(client, {CORE_LABEL: "cert-manager"}, [HOME, "kube-system"])
    annotation = "cert-manager.clusterctl.cluster.x-k8s.io/version"
    return {one["metadata"].get("annotations", {}).get(annotation, "") for one in found}


async def test_brought_along_and_upgraded(bare: Twins, tmp_path: Path):
    _, ours = await bare.succeed(*INIT_OLD)
    assert "Installing cert-manager v1.20.0" in ours.err
    assert await versions(bare.mine.client) == {"v1.20.0"}
    _, ours = await bare.succeed(*INIT_OLD)
    assert "Skipping cert-manager" in ours.err

    issuer = {"apiVersion": ISSUERS.api_version, "kind": "Issuer", "metadata": {"name": "one", "namespace": "default"}}
    await bare.on_each(lambda client: client.create(ISSUERS, {**issuer, "spec": {"selfSigned": {}}}))
    elsewhere = {"cert-manager": {"repository": "registry.example.com/mirror"}}
    for version, images, told in (
        ("v1.20.0", None, "Cert-Manager is already up to date"),
        ("v1.19.0", None, "Cert-Manager is already up to date"),
        ("v1.20.0", elsewhere, 'Cert-Manager will be upgraded from "v1.20.0" to "v1.20.0"'),
        ("v1.21.0", None, 'Cert-Manager will be upgraded from "v1.20.0" to "v1.21.0"'),
    ):
        newer = bare.reading(configured(tmp_path, version, images))
        theirs, ours = await newer.both(*PLAN)
        assert (theirs.code, ours.code) == (0, 0), ours.err
        assert ours.out == theirs.out
        assert told in ours.out

    _, refused = await newer.of_one("upgrade", "apply", "--contract=v1beta1")
    assert refused.code == 1
    await newer.succeed(*UPGRADE)
    assert await versions(bare.mine.client) == {"v1.21.0"}
    assert (await bare.mine.client.get(ISSUERS, "one", namespace="default"))["spec"] == {"selfSigned": {}}
    again = bare.reading(configured(tmp_path, "v1.21.0", elsewhere))
    await again.succeed("upgrade", "apply", "--core=cluster-api:v1.14.2", swapped=True)
    await again.succeed("delete", *NAMED)
    assert await versions(bare.mine.client) == {"v1.21.0"}


async def test_left_to_others(bare: Twins, tmp_path: Path):
    external = bare.reading(configured(tmp_path, "v1.20.0", externallyProvisioned="true", timeout="1s"))
    _, ours = await external.agree(*INIT_OLD)
    assert ours.code == 1
    assert "cert-manager does not answer after 1 seconds" in ours.err
    assert not await is_there(bare.mine.client)
    probe = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PROBE}}
    await bare.on_each(lambda client: delete_one(client, probe))  # which the judge has left
    ended = await external.mine_only(*INIT_OLD, "--skip-cert-manager")
    assert ended.code == 1
    assert "needs cert-manager" in ended.err

    for one in cert_manager_definitions():
        await bare.on_each(lambda client, one=one: client.create(DEFINITIONS, one))
    await external.succeed(*INIT_OLD)
    theirs, ours = await external.both(*PLAN)
    assert (ours.code, ours.out) == (0, theirs.out)
    assert "Cert-Manager" not in ours.out
    await bare.reading(configured(tmp_path, "v1.21.0")).succeed(*UPGRADE)
    assert await versions(bare.mine.client) == set()

    # DEVIATION cert-manager-of-others: it is theirs also when it does not answer.
    silent = webhook("cert-manager-silent", HOME)
    silent["metadata"]["labels"] = {PROVIDER_LABEL: "nobody"}
    silent["webhooks"][0] |= {"failurePolicy": "Fail", "rules": [{**ANY, "resources": ["issuers"]}]}
    await apply_one(bare.mine.client, silent)
    ended = await bare.reading(configured(tmp_path, "v1.20.0", timeout="1s")).mine_only("init")
    assert ended.code == 1
    assert "cert-manager is there, but does not answer" in ended.err
    assert not await is_there(bare.mine.client)


@pytest.mark.parametrize("wrong", [{"version": "v9.9.9"}, {"url": "/nowhere/x/v1.0.0/cert-manager.yaml"}])
async def test_a_release_that_is_not_there(bare: Twins, tmp_path: Path, wrong: dict[str, str]):
    given = {"version": "v1.20.0", **wrong}
    config = configured(tmp_path, given.pop("version"), **given)
    read_configuration(str(config), {})  # it is well-formed
    _, ours = await bare.reading(config).agree(*INIT_OLD)
    assert ours.code == 1
    assert "cert-manager" in ours.err
