"""The page about templates: what its tables say is what the judges say, and what ours does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from runners import Runner

from mooring.clusterctl.variables import process

PAGE = (Path(__file__).parents[2] / "docs/reference/clusterctl-templates.md").read_text()
VALUES = {"V": "harbour/ship.tar.gz", "N": "2"}
Judge = Callable[[bytes, Mapping[str, str]], tuple[int, bytes, bytes]]


def table(heading: str) -> list[list[list[str]]]:
    """The rows below a heading, with what stands between backquotes in each of the first two cells."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [[re.findall(r"`([^`]*)`", cell) for cell in row[:2]] for row in rows]


def test_what_can_be_written(envsubst_judge: Judge) -> None:
    rows = [(written[0], becomes[0]) for written, becomes in table("What can be written")]
    assert len(rows) > 15
    assert [(written, process(written, VALUES.get)) for written, _ in rows] == rows
    tight = [(written, becomes) for written, becomes in rows if "${ " not in written]  # that is clusterctl's own
    code, out, _ = envsubst_judge("".join(f"{written}\n" for written, _ in tight).encode(), VALUES)
    assert (code, out.decode().splitlines()) == (0, [becomes for _, becomes in tight])
    for wrong in ("${V-default}", "${!V}", "${V[0]}"):
        assert wrong in PAGE
        assert envsubst_judge(f"{wrong}\n".encode(), VALUES)[0] == 1


def test_what_yaml_means(judge: Runner, ours: Runner) -> None:
    meant = [(word, json.loads(is_[0]) if is_ else word) for words, is_ in table("What YAML means") for word in words]
    assert len(meant) > 20
    text = "words:\n" + "".join(f"- {word}\n" for word, _ in meant) + "keys: {n: 1, 017: 1}\n"
    theirs, mine = judge("generate", "yaml", stdin=text), ours("generate", "yaml", stdin=text)
    assert mine.out == theirs.out
    [found] = mine.documents
    assert found == {"words": [value for _, value in meant], "keys": {"false": 1, "15": 1}}
