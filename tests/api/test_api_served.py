"""A real server takes our definitions, and ``kubectl explain`` has something to say about every field."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from upstream_kit import our_schema, paths

from mooring.api.crds import KINDS, definitions
from mooring.api.kinds import Kind
from mooring.app.installing import install
from mooring.cli.crds import stale
from mooring.cli.reference import main
from mooring.controlplane.landscape import Landscape
from mooring.kube import Client, untyped

CRDS = untyped(
    group="apiextensions.k8s.io",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
)
REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.API.kind)
async def test_it_is_served_and_nothing_is_wrong_with_it(kinds: Client, kind: type[Kind]) -> None:
    stored = await kinds.get(CRDS, kind.API.definition_name)
    said = {one["type"]: one["status"] for one in stored["status"]["conditions"]}
    # NonStructuralSchema, KubernetesAPIApprovalPolicyConformant and the like would stand here, too.
    assert said == {"NamesAccepted": "True", "Established": "True"}
    assert stored["status"]["acceptedNames"]["kind"] == kind.API.kind


async def test_the_server_stores_what_we_say(kinds: Client) -> None:
    for document in definitions():
        stored = await kinds.get(CRDS, document["metadata"]["name"])
        (version,), (ours,) = stored["spec"]["versions"], document["spec"]["versions"]
        assert version == ours


async def test_installing_again_changes_nothing(kinds: Client) -> None:
    before = {one["metadata"]["name"]: one["metadata"]["generation"] for one in (await kinds.list(CRDS)).items}
    await install(kinds, definitions())
    after = {one["metadata"]["name"]: one["metadata"]["generation"] for one in (await kinds.list(CRDS)).items}
    assert after == before


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.API.kind)
def test_every_field_is_described(kind: type[Kind]) -> None:
    for path, schema in paths(our_schema(kind)):
        if path == ".metadata" or path.endswith(("[]", "{}")):
            continue  # metadata is the server's own; of a list, the field is described, and a Struct inside it
        if len(re.findall(r"\.(?:or|and|xor)\[\]", path)) > 1:
            assert "description" not in schema, f"{path} repeats what is said further up"
            continue
        assert schema.get("description", "").endswith("."), path


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.API.kind)
def test_everything_is_bounded(kind: type[Kind]) -> None:
    """The server judges the cost of rules by the largest object that the schema allows."""
    for path, schema in paths(our_schema(kind)):
        match schema["type"]:
            case "array":
                assert "maxItems" in schema, path
            case "object" if "additionalProperties" in schema:
                assert "maxProperties" in schema, path
            case "string" if path not in (".apiVersion", ".kind"):
                assert schema.keys() & {"maxLength", "enum", "format"}, path


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.API.kind)
def test_rules_tell_which_field_is_wrong(kind: type[Kind]) -> None:
    for path, schema in paths(our_schema(kind)):
        for rule in schema.get("x-kubernetes-validations", ()):
            fields = {*schema.get("properties", ()), path.rpartition(".")[2].removesuffix("[]")}
            assert any(field in rule["message"] for field in fields), rule


def test_kubectl_explains(kinds: Client, landscape: Landscape, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_bytes(msgspec.json.encode(landscape.admin_kubeconfig()))
    kubectl = landscape.binaries.programs["kubectl"].path
    command = [str(kubectl), "--kubeconfig", str(kubeconfig), "explain", "creq.spec.traits"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "Traits that the cluster shall have" in said
    assert "Satisfied if at least one of these is." in said


def test_the_checked_in_files_are_current() -> None:
    assert stale(REPOSITORY / "crds") == []


def test_files_that_are_not_current_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    (tmp_path / "crds" / "clusters.openmcp.cloud_purposes.yaml").write_text("kind: Nothing\n")
    (tmp_path / "crds" / "left-over.yaml").write_text("kind: Nothing\n")
    (tmp_path / "docs" / "reference" / "api.md").unlink()
    assert main(["--check", str(tmp_path)]) == 1
    complaint = capsys.readouterr().err
    assert all(name in complaint for name in ("clusters.openmcp.cloud_purposes.yaml", "left-over.yaml", "api.md"))
    assert main([str(tmp_path)]) == 0
    assert stale(tmp_path / "crds") == []


def test_definitions_are_plain_data() -> None:
    documents: list[dict[str, Any]] = definitions()
    assert json.loads(json.dumps(documents)) == documents
