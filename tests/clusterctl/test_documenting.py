"""docs: the documentation that the provider contract asks of a provider."""

from __future__ import annotations

from itertools import product

import pytest
from lint_kit import TEMPLATE, Yard
from releases import definition

from mooring.clusterctl.documenting import documented
from mooring.clusterctl.lint import read_material


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def test_the_documentation(ours, yard, tmp_path):
    (yard.release / "cluster-template-ha.yaml").write_text(TEMPLATE.replace("SHIPYARD_BERTHS:=3", "SHIPYARD_BERTHS"))
    yard.add(definition("infrastructure.cluster.x-k8s.io", "ShipyardIdentity") | {"kind": "CustomResourceDefinition"})
    ended = ours("docs", str(yard.folder))
    assert ended.code == 0
    for line in (
        "# infrastructure-shipyard v1.0.0",
        "| `SHIPYARD_BERTHS` | `3` | TODO |",
        "| `SHIPYARD_BERTHS` | required | TODO |",
        "| `CLUSTER_NAME` | required | set by the argument of `generate cluster` |",
        "| `--flavor ha` | `cluster-template-ha.yaml` | Cluster, ShipyardCluster |",
        "- ShipyardIdentity: moved only if owner references lead from it to a Cluster or ClusterResourceSet",
    ):
        assert line in ended.out
    file = tmp_path / "docs.md"
    assert ours("docs", str(yard.folder), "--write-to", str(file)).out == ""
    assert file.read_text() == ended.out == documented(read_material(yard.folder).releases[-1])


def test_the_documentation_of_what_is_broken(ours, yard, tmp_path):
    """As far as it goes: what cannot be read is told in its place."""
    yard.components.unlink()
    yard.template.write_text("a: [\n")
    (yard.release / "metadata.yaml").unlink()
    ended = ours("docs", str(yard.release))
    assert (ended.code, ended.err) == (0, "")
    assert "- There is no components YAML (P03)." in ended.out
    assert "| (default) | `cluster-template.yaml` | cluster-template.yaml: " in ended.out
    for folder, told in ((tmp_path / "nothing", "not a folder"), (tmp_path, "not a provider's folder")):
        ended = ours("docs", str(folder))
        assert (ended.code, ended.out) == (1, "")
        assert told in ended.err
    unwritable = ours("docs", str(yard.folder), "--write-to", str(tmp_path / "no" / "such" / "file.md"))
    assert unwritable.code == 1
    assert "file.md" in unwritable.err


def test_the_documentation_of_what_move_leaves_out(ours, yard):
    """By scope and by label, as the contract tells."""
    for index, (scope, label) in enumerate(product(("Namespaced", "Cluster"), ("", "move", "move-hierarchy"))):
        one = definition("infrastructure.cluster.x-k8s.io", f"ShipyardPart{index}")
        one["spec"]["scope"] = scope
        if label:
            one["metadata"]["labels"][f"clusterctl.cluster.x-k8s.io/{label}"] = ""
        yard.add(one)
    text = ours("docs", str(yard.folder)).out
    told = {line.split(":")[0].removeprefix("- "): line for line in text.splitlines() if line.startswith("- Shipyard")}
    assert "moved only if owner references lead" in told["ShipyardPart0"]
    assert not told.keys() & {"ShipyardPart1", "ShipyardPart2"}, "they are moved"
    assert "not moved" in told["ShipyardPart3"]
    assert "copied, and stays" in told["ShipyardPart4"]
    assert "copied, and stays" in told["ShipyardPart5"]


def test_the_documentation_of_hostile_files(yard):
    yard.replace("${SHIPYARD_BERTHS:=3}", "${SHIPYARD_BERTHS:=<script>`|x}")
    text = documented(read_material(yard.folder).releases[-1])
    assert "``<script>`\\|x``" in text, "it is shown as code, and ends no cell"
