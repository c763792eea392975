"""``mooring simulate``: files in, outcomes out, no API server anywhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from quiet_kit import called

from landscape_kit import Ended

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples/simulate"
OUTCOMES = Path(__file__).parent / "outcomes"


@pytest.fixture(autouse=True)
def nothing_to_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """No landscape and no kubeconfig to be found: it needs none."""
    monkeypatch.setenv("MOORING_DIR", "/nowhere")
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")


def simulate(*words: str, code: int = 0) -> Ended:
    return called("simulate", *words, code=code)


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_come_out_as_shown(example: Path, golden) -> None:
    golden(OUTCOMES / f"{example.stem}.txt", simulate(str(example)).out)


def test_the_guide_shows_what_is_printed() -> None:
    table = (OUTCOMES / "workloads.txt").read_text().partition("\n\n")[0]
    shown = f"```\n$ mooring simulate docs/examples/simulate/workloads.yaml\n{table}\n```\n"
    assert shown in (ROOT / "docs/how-to/simulate.md").read_text()


def test_one_request_can_be_explained(golden) -> None:
    example = str(EXAMPLES / "traits.yaml")
    said = simulate(example, "--explain", "tenants/tenant-3").out
    golden(OUTCOMES / "explained-tenant-3.txt", said)
    assert simulate(example, "--explain", "tenant-3").out == said
    failed = simulate(example, "--explain", "nobody", code=1).err
    assert "--explain: there is no ClusterRequest 'nobody' in the files (there are: tenants/tenant, " in failed


def test_outcomes_as_data() -> None:
    example = str(EXAMPLES / "workloads.yaml")
    as_json = json.loads(simulate(example, "-o", "json").out)
    assert as_json == yaml.safe_load(simulate(example, "-o", "yaml").out)
    assert [one["outcome"]["phase"] for one in as_json["requests"]] == ["Granted", "Granted", "Granted", "Pending"]
    assert [len(one["requests"]) for one in as_json["clusters"]] == [1, 2]


def test_a_dump_can_be_replayed_and_files_are_joined(tmp_path: Path) -> None:
    documents = list(yaml.safe_load_all((EXAMPLES / "workloads.yaml").read_text()))
    rules = [one for one in documents if one["kind"] != "ClusterRequest"]
    requests = [one for one in documents if one["kind"] == "ClusterRequest"]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": requests, "metadata": {}}))
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "all.yaml").write_text(yaml.safe_dump_all(rules))
    assert simulate(str(tmp_path / "rules"), str(dump)).out == simulate(str(EXAMPLES / "workloads.yaml")).out
    requests[2]["spec"] = {"purposes": []}
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": requests}))
    assert (
        f"{dump}, document 1, item 3: ClusterRequest reports: spec.purposes: has 0" in simulate(str(dump), code=1).err
    )


def test_the_configuration_file_is_read(tmp_path: Path) -> None:
    requests = tmp_path / "requests.yaml"
    documents = [
        one for one in yaml.safe_load_all((EXAMPLES / "workloads.yaml").read_text()) if one["kind"] != "Purpose"
    ]
    requests.write_text(yaml.safe_dump_all(documents))
    config = tmp_path / "config.yaml"
    template = {"spec": {"profile": "local", "tenancy": "Shared"}}
    config.write_text(yaml.safe_dump({"scheduler": {"purposeMappings": {"workload": {"template": template}}}}))
    assert "PurposeNotFound" in simulate(str(requests)).out
    assert "PurposeNotFound" not in simulate(str(requests), "--config", str(config)).out
    config.write_text("scheduler: {scope: Everywhere}")
    assert "scheduler.scope" in simulate(str(requests), "--config", str(config), code=1).err


DEEP = "{or: [" * 50 + "{trait: a}" + "]}" * 50


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("", "there is no ClusterRequest in"),
        ("- a", "is not a map of fields (in document 1)"),
        ("a: [", "is not YAML"),
        ("---\n---\nkind: Pod", "bad.yaml, document 2: kind: 'Pod' is not a kind that can be simulated"),
        ("kind: List\nitems: [1]", "document 1, item 1 is not a map of fields"),
        ("apiVersion: v1\nkind: List\nitems: {}", "kind: 'List' is not a kind"),
        (f"spec: {{traits: [{DEEP}]}}", "is nested deeper than 64 levels"),
        ("a: &a [x]\nb: *c", "has an alias *c to nothing before it"),
        ("kind: !!python/object:os.system {}", "is not YAML"),
        ("\x00", "is not YAML"),
    ],
)
def test_bad_files(text: str, phrase: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(text)
    failed = simulate(str(bad), code=1)
    assert failed.err.startswith("mooring: Nothing was simulated:\n  ")
    assert phrase in failed.err


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert f"{tmp_path}/no.yaml cannot be read" in simulate(str(tmp_path / "no.yaml"), code=1).err
    os.mkfifo(tmp_path / "fifo.yaml")
    assert "is not a regular file" in simulate(str(tmp_path / "fifo.yaml"), code=1).err
    assert "Missing argument" in simulate(code=2).err
