"""The page about configuration and repositories: its examples are used here as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hosts import PlainSite
from repository_kit import components, configured, described_version, shipyard

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.repository import open_repository
from mooring.clusterctl.repository.indexed import read_index

PAGE = (Path(__file__).parents[2] / "docs/reference/clusterctl-repositories.md").read_text()
LABEL, COMPONENTS = "infrastructure-shipyard", "infrastructure-components.yaml"


def example(*, holds: str, language: str = "yaml") -> str:
    """The one example that has this in it."""
    [found] = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.S) if holds in text]
    return found


def write_tree(drawn: str, base: Path) -> Path:
    """The folders and files of a drawn tree, below a folder; each file holds what one of its name should."""
    contents = {"metadata.yaml": example(holds="kind: Metadata"), COMPONENTS: components()}
    way: list[str] = []
    for line in drawn.splitlines():
        found = re.fullmatch(r"(?P<margin>[│├└─ \xa0]*)(?P<name>\S+)", line)
        assert found, line
        way[len(found["margin"]) // 4 :] = [found["name"]]
        path = base.joinpath(*way)
        if path.suffix == ".yaml":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(contents.get(path.name, "kind: Cluster\n"))
    return base / drawn.split("\n")[0]


def test_the_configuration_and_the_folders_are_what_the_judge_reads(judge, ours, tmp_path):
    base = write_tree(example(holds="v1.0.1", language="text"), tmp_path)
    config = tmp_path / "clusterctl.yaml"
    config.write_text(example(holds="overridesFolder"))
    runs = [("config", "repositories"), ("generate", "provider", "--describe", "--infrastructure", "shipyard")]
    for words in runs:
        theirs, mine = (one(*words, config=config, REPOSITORY=str(base)) for one in (judge, ours))
        assert (theirs.code, mine.code) == (0, 0), theirs.err + mine.err
        assert mine.out == theirs.out
    assert described_version(mine) == "v1.0.1"


async def test_the_index_and_its_files_are_a_repository(tmp_path):
    folder = write_tree(example(holds="v1.0.1", language="text"), tmp_path) / LABEL
    index = example(holds="kind: RepositoryIndex")
    listed = read_index(index.encode(), where="the page")
    assert set(listed["v1.0.1"] or {}) == {file.name for file in (folder / "v1.0.1").iterdir()}
    files = {str(path.relative_to(folder.parent)): path.read_text() for path in folder.rglob("*.yaml")}
    with PlainSite({**files, f"{LABEL}/index.yaml": index}) as host:
        repository = await open_repository(shipyard(f"{host.url}/{LABEL}/latest/{COMPONENTS}"), configured(tmp_path))
        assert repository.default_version == "v1.0.1"
        assert await repository.template("small") == "kind: Cluster\n"
        assert await repository.components("v1.0.0") == components()
        with pytest.raises(ClusterctlError, match="its index says sha256:66a045"):
            await repository.components()


def test_every_setting_of_the_example_is_explained():
    explained = re.findall(r"^\| `([a-z][A-Za-z-]+)` \|", PAGE, flags=re.M)
    known = {name for name in yaml.safe_load(example(holds="overridesFolder")) if not name.isupper()}
    assert known <= set(explained)
