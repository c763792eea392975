"""The page that states the contract, and the checks: one for each statement, and the other way round."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mooring.testing.conformance import Level, UnknownChecks, all_checks
from mooring.testing.conformance.checks import PAGE, chosen_checks

TEXT = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
STATEMENT = re.compile(
    r'^<a id="(?P<anchor>[a-z-]+)"></a>\n\*\*(?P<number>\d+\.\d+) (?P<level>MUST|SHOULD)\*\* (?P<words>.+?)(?=\n\n|\Z)',
    re.MULTILINE | re.DOTALL,
)
STATEMENTS = list(STATEMENT.finditer(TEXT))


def test_every_statement_has_an_anchor_and_a_number():
    assert len(STATEMENTS) == len(re.findall(r"\*\*[\d.]+ (?:MUST|SHOULD)\*\*", TEXT))
    numbers = [tuple(map(int, one["number"].split("."))) for one in STATEMENTS]
    assert numbers == sorted(set(numbers))
    anchors = [one["anchor"] for one in STATEMENTS]
    assert len(anchors) == len(set(anchors))


def test_every_statement_has_a_check_or_says_why_not():
    checks = {one.id: one for one in all_checks()}
    for one in STATEMENTS:
        named = re.findall(r"^Check: `([a-z.-]+)`", one["words"], re.MULTILINE)
        if not named:
            assert re.search(r"^Not checked: \w", one["words"], re.MULTILINE), one["anchor"]
            continue
        (name,) = named
        assert checks[name].anchor == one["anchor"]
        assert checks[name].level == Level(one["level"])


def test_every_check_is_stated_in_the_order_of_the_page():
    stated = [one["anchor"] for one in STATEMENTS if "\nCheck: " in one["words"]]
    assert [one.anchor for one in all_checks()] == stated


def test_what_a_check_needs_comes_before_it():
    checks = {one.id: one for one in all_checks()}
    for one in checks.values():
        assert all(checks[name].stage <= one.stage for name in one.needs), one.id
        assert len(chosen_checks([one.id])) < len(checks), "no check needs all others, least of all itself"


def test_checks_are_chosen_by_name_and_by_group():
    assert [one.id for one in chosen_checks(["profiles.name"])] == [
        "program.init",
        "profiles.at-least-one",
        "profiles.provider-ref",
        "profiles.name",
    ]
    left = [one.id for one in chosen_checks(["secrets"], ["secrets.events", "program"])]
    assert left[-2:] == ["secrets.status", "secrets.marks"]
    assert "program.init" not in left
    with pytest.raises(UnknownChecks, match=r"no check 'profile'.*profiles\.name"):
        chosen_checks(["profile"])
