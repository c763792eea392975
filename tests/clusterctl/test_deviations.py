"""The list of deviations is whole: what tests tolerate is listed, and what is listed is tolerated somewhere."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "clusterctl-deviations.md"


def listed() -> list[list[str]]:
    """The rows of the table: name, judge, ours, why."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][2:]  # without head and rule
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines]


def test_every_deviation_that_a_test_tolerates_is_listed_and_the_reverse():
    marked: set[str] = set()
    for file in Path(__file__).parent.glob("*.py"):
        if file.name != Path(__file__).name:
            marked |= set(re.findall(r"DEVIATION ([a-z0-9-]*[a-z0-9])", file.read_text()))
    names = [row[0].strip("`") for row in listed()]
    assert names
    assert len(names) == len(set(names))
    assert set(names) == marked


def test_every_deviation_says_what_both_do_and_why():
    assert not [row for row in listed() if len(row) != 4 or not all(row)]
