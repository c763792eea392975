"""What the page says of clusters from elsewhere is so; and what goes wrong with them is told in words of our own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from mooring.kube import ObjectKey
from mooring.kube.errors import Invalid, Timeout
from mooring.providers.external import AdoptedCluster, ExternalClusterConfig, ExternalConfig
from mooring.providers.external.probing import NEEDS
from mooring.providers.external.reasons import Reason, Trouble
from mooring.providers.external.sources import Source
from mooring.providers.external.troubles import told

PAGE = (Path(__file__).parents[2] / "docs/how-to/bring-your-own-cluster.md").read_text()
SOURCE = Source(secret=ObjectKey("team", "theirs"), key="kubeconfig", context="", field="spec.here")


def examples():
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    return [document for block in blocks for document in yaml.safe_load_all(block)]


def test_every_reason_is_explained():
    assert not [reason for reason in Reason if f"`{reason}`" not in PAGE]


def test_the_role_on_the_page_is_what_is_asked_for():
    (role,) = [one for one in examples() if one["kind"] == "ClusterRole"]
    rules = [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in role["rules"]]
    assert rules == [([need.group], [need.resource], list(need.verbs)) for need in NEEDS]


async def test_the_examples_on_the_page_are_accepted(dock):
    for document in examples():
        kind = document["kind"]
        resource = await dock.kube.resource(document["apiVersion"], kind)
        if "namespace" in document["metadata"]:
            document["metadata"]["namespace"] = dock.namespace
        await dock.kube.create(resource, document, dry_run=True)
    assert {"ClusterProvider", "Secret", "ExternalConfig", "ExternalClusterConfig"} <= {
        one["kind"] for one in examples()
    }


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"context": "main"}, "spec.context"),
        ({"kubeconfigSecretRef": {"name": "a"}}, "spec.kubeconfigSecretRef.namespace"),
        ({"kubeconfigSecretRef": {"namespace": "a", "name": "b,metadata.name!=c"}}, "spec.kubeconfigSecretRef.name"),
        ({"kubeconfigSecretRef": {"namespace": "a/b", "name": "b"}}, "spec.kubeconfigSecretRef.namespace"),
        ({"kubeconfigSecretRef": {"namespace": "a", "name": "b", "key": "../c"}}, "spec.kubeconfigSecretRef.key"),
    ],
)
async def test_a_reference_that_is_none_is_refused_by_the_server(dock, spec, field):
    with pytest.raises(Invalid, match=re.escape(field)):
        await dock.config("wrong", provider="external", kind=ExternalConfig, **spec)


async def test_the_usual_key_is_filled_in(dock):
    await dock.own_config("plain", "theirs")
    made = await dock.plain(ExternalClusterConfig, "plain")
    assert made["spec"]["kubeconfigSecretRef"] == {"name": "theirs", "key": "kubeconfig"}


@pytest.mark.parametrize(
    ("server", "local"),
    [
        ("https://127.0.0.1:6443", True),
        ("https://127.1.2.3", True),
        ("https://[::1]:6443", True),
        ("https://localhost:6443", True),
        ("https://kind.localhost", True),
        ("https://0.0.0.0:6443", True),
        ("https://10.0.0.1:6443", False),
        ("https://example.com/localhost", False),
    ],
)
def test_whose_machine_an_address_means_is_said_where_it_matters(server, local):
    with pytest.raises(Trouble) as error, told(SOURCE, server):
        raise Timeout("not in time", verb="GET", path="/version")
    assert error.value.reason == Reason.UNREACHABLE
    assert "does not answer in time" in str(error.value)
    assert ("means the machine that the provider runs on" in str(error.value)) == local


def test_claims_can_be_read_at_a_glance():
    columns = [column.name for column in AdoptedCluster.API.columns if not column.priority]
    assert columns == ["Namespace", "Cluster", "Age"]
