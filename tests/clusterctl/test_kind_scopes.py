"""Whether a kind is in a namespace: from the file, from what everybody knows, and from a real server."""

from __future__ import annotations

import pytest
from releases import definition

from mooring.clusterctl.finding import served
from mooring.clusterctl.scopes import Scopes, asking
from mooring.kube.definitions import install

IDENTITY = {"apiVersion": "scopes.example.com/v1beta2", "kind": "Identity", "metadata": {"name": "default"}}


def cluster_wide() -> dict:
    one = definition("scopes.example.com", "Identity")
    one["spec"]["scope"] = "Cluster"
    return one


@pytest.mark.parametrize(
    ("api_version", "kind", "namespaced"),
    [
        ("v1", "Secret", True),
        ("v1", "Namespace", False),
        ("networking.k8s.io/v1", "Ingress", True),
        ("networking.k8s.io/v1", "IngressClass", False),
        ("cert-manager.io/v1", "Issuer", True),
        ("cert-manager.io/v1", "ClusterIssuer", False),
        ("policy/v1beta1", "PodSecurityPolicy", False),
        ("example.com/v1", "StorageClass", False),  # as upstream has it, whichever the group
        ("example.com/v1", "Whatever", True),
        ("", "", True),
    ],
)
def test_what_everybody_knows(api_version, kind, namespaced):
    assert Scopes().namespaced({"apiVersion": api_version, "kind": kind}) is namespaced


def test_a_definition_in_the_file_knows_better():
    own = definition("example.com", "StorageClass")
    scopes = Scopes().with_definitions_of([cluster_wide(), own])
    assert not scopes.namespaced(IDENTITY)
    assert scopes.namespaced({"apiVersion": "example.com/v1", "kind": "StorageClass"})
    assert not scopes.namespaced({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"})
    assert scopes.unknown([IDENTITY]) == []


async def test_a_server_knows_the_rest(twins):
    """And says the same as the table of what everybody knows."""
    client = twins.mine.client
    await install(client, [cluster_wide()])
    stranger = {"apiVersion": "nowhere.example.com/v1", "kind": "Stranger"}
    assert Scopes().namespaced(IDENTITY)
    scopes = await asking(client, Scopes(), [IDENTITY, stranger, {"apiVersion": "v1", "kind": "Secret"}])
    assert not scopes.namespaced(IDENTITY)
    assert scopes.namespaced(stranger)

    kinds = {(one.resource.api_version, one.resource.kind): one.resource.namespaced for one in await served(client)}
    assert len(kinds) > 60
    told = {key: Scopes().namespaced(dict(zip(("apiVersion", "kind"), key, strict=True))) for key in kinds}
    wrong = {key for key in kinds if told[key] != kinds[key]}
    assert wrong == {(IDENTITY["apiVersion"], IDENTITY["kind"])}
