"""``get kubeconfig``, and what the configuration says of cert-manager, asked of one management cluster by both."""

from __future__ import annotations

import base64
import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from releases import bootstrap, control_plane, core, definition, write_config, write_repository

from mooring.clusterctl.inventory_definition import inventory_definition
from mooring.kube import untyped
from mooring.kube.definitions import install
from mooring.kube.errors import AlreadyExists

NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
SECRETS = untyped(plural="secrets", kind="Secret")
KUBECONFIG = "apiVersion: v1\nkind: Config\n# of harbour\n"

# What is asked, and what it prints; None is a refusal.
ASKED = [
    (("harbour",), KUBECONFIG),
    (("harbour", "--namespace", "ships"), "of ships"),
    (("harbour", "-n", "ships", "--kubeconfig-context", "other"), "of ships"),
    (("harbour", "--kubeconfig-context", "other"), "of ships"),
    (("empty",), ""),
    (("blank",), None),
    (("nobody",), None),
    (("harbour", "-n", "absent"), None),
    (("harbour", "--kubeconfig-context", "absent"), None),
    (("harbour", "--kubeconfig", "/absent"), None),
    (("harbour", "--config", "/absent.yaml"), None),
    (("Not/A.Name",), None),
]

# What is under `cert-manager`; @ is the folder that has its releases.
USUAL = {"url": "@/v1.21.1/cert-manager.yaml"}
CERT_MANAGER = {
    "a folder": USUAL,
    "another version": {"url": "@/latest/cert-manager.yaml", "version": "v1.20.0"},
    "a version without its folder": {**USUAL, "version": "v1.19.0"},
    "variables": {"url": "${BASE}/v1.21.1/cert-manager.yaml", "Version": "v1.20.0"},
    "broken variables": {"url": "@/${BASE/cert-manager.yaml"},
    "a timeout that is none": {**USUAL, "timeout": "soon"},
    "a switch": {**USUAL, "externallyProvisioned": True},
    "a switch that is none": {**USUAL, "externallyProvisioned": "yes"},
    "a number": {**USUAL, "version": 1.2},
    "a list": [USUAL],
    "text": "@/v1.21.1/cert-manager.yaml",
}


@pytest.fixture
async def place(twins, tmp_path):
    """A management cluster with kubeconfigs of workload clusters, and a kubeconfig with two contexts for it."""
    made = twins.mine
    for namespace, name, values in (
        ("docks", "harbour", {"value": KUBECONFIG}),
        ("ships", "harbour", {"value": "of ships"}),
        ("docks", "empty", {"value": ""}),
        ("docks", "blank", {"other": "x"}),
    ):
        with contextlib.suppress(AlreadyExists):
            await made.client.create(NAMESPACES, {"metadata": {"name": namespace}})
        await made.client.create(SECRETS, secret(f"{name}-kubeconfig", values), namespace=namespace)
    await install(made.client, [inventory_definition()])  # without it, the judge asks for it for a long time
    document = yaml.safe_load(made.kubeconfig.read_text())
    [usual] = document["contexts"]
    document["contexts"] = [
        {"name": name, "context": {**usual["context"], "namespace": namespace}}
        for name, namespace in ((usual["name"], "docks"), ("other", "ships"))
    ]
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(document))
    return replace(made, kubeconfig=kubeconfig)


def secret(name, values):
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {"metadata": {"name": name}, "data": data}


async def test_both_get_the_same_from_one_cluster(place, judge, ours, tmp_path):
    await cert_manager_is_configured(place, judge, ours, tmp_path)
    refused = await both(place, judge, ours, "get", "kubeconfig", "harbour")
    assert refused.code == 1
    assert "run init first" in refused.err
    await install(place.client, [definition("cluster.x-k8s.io", "Cluster")])
    for words, expected in ASKED:
        mine = await both(place, judge, ours, "get", "kubeconfig", *words)
        assert mine.out == ("" if expected is None else f"{expected}\n"), words
        assert (mine.code == 0) == (expected is not None), words


async def both(place, judge, ours, *words, **given):
    """Ours, after it was found to be as theirs."""
    named = words if "--kubeconfig" in words else (*words, "--kubeconfig", str(place.kubeconfig))
    theirs, mine = [await runner.beside(*named, **given) for runner in (judge, ours)]
    assert (mine.code, mine.out) == (theirs.code, theirs.out), f"{words}: {theirs.err}{mine.err}"
    assert mine.code == 0 or (mine.err.startswith("Error: ") and "Traceback" not in mine.err)
    return mine


async def cert_manager_is_configured(place, judge, ours, tmp_path):
    """As far as a list of images tells: which file is read, or that nothing is."""
    made = [core(), bootstrap(), control_plane()]
    write_repository(tmp_path / "repository", made)
    releases = str(tmp_path / "repository" / "cert-manager")
    for version in ("v1.21.1", "v1.20.0"):
        folder = Path(releases, version)
        folder.mkdir(parents=True)
        container = {"name": "c", "image": f"registry.example.com/cert-manager/controller:{version}"}
        deployment = core().deployment()
        deployment["spec"]["template"]["spec"]["containers"] = [container]
        (folder / "cert-manager.yaml").write_text(yaml.safe_dump(deployment))
        (folder / "metadata.yaml").write_text(core("v1.21.0").metadata)
    seen = set()
    for about, settings in CERT_MANAGER.items():
        file = write_config(tmp_path / "clusterctl.yaml", tmp_path / "repository", made, **{"Cert-Manager": settings})
        file.write_text(file.read_text().replace("@", releases))
        mine = await both(place, judge, ours, "init", "list-images", config=file, BASE=releases)
        seen.add((about, mine.code, "controller:v1.20.0" in mine.out))
    assert ("another version", 0, True) in seen
    assert ("a folder", 0, False) in seen
    assert ("a switch that is none", 1, False) in seen
