"""Command lines are read as the judge reads them: flags in all their forms and places, and what is a mistake."""

from __future__ import annotations

import re

import pytest

from mooring.cli.clusterctl.common import EVERYWHERE
from mooring.cli.clusterctl.tree import Command, Flag, Form, UsageError, check, parse


# Command lines that need no server, in every order and form.
@pytest.mark.parametrize(
    "argv",
    [
        ["version", "-o", "short"],
        ["-o", "short", "version"],
        ["--output", "short", "version"],
        ["--output=short", "version"],
        ["-v", "3", "version", "-oshort"],
        ["-v=3", "version", "-o=short"],
        ["--v=3", "version", "--output=short"],
        ["version", "-o", "short", "--"],
        ["version", "-o", "short", "extra"],
        ["version", "-o", "short", "--", "extra"],
        ["version", "-o", "nonsense"],
        ["version", "--output", "short", "-v"],
        ["version", "--output", "short", "-v", "x"],
        ["version", "--output", "short", "-v", "0x2"],
        ["version", "--output"],
        ["version", "---output=short"],
        ["version", "--=short"],
        ["version", "-"],
        ["--nope", "version"],
        ["--nope", "x", "version", "-o", "short"],
        ["-x", "y", "version"],
        ["nothing"],
        ["completion"],
        ["completion", "bash", "zsh"],
        ["describe", "cluster"],
        ["describe", "cluster", "a", "b"],
        ["get", "kubeconfig"],
        ["generate", "cluster"],
        ["move", "x"],
        ["config", "repositories", "x"],
        ["convert", "a", "b"],
        ["upgrade", "apply", "x"],
        ["init", "list-images", "x"],
    ],
    ids=" ".join,
)
def test_command_lines_end_as_the_judges_do(judge, ours, argv):
    theirs, mine = judge(*argv), ours(*argv)
    assert mine.code == theirs.code, (mine, theirs)
    if theirs.code:
        assert mine.out == ""
        assert re.fullmatch(r"Error: .+\n", mine.err), mine
    else:
        assert mine.out == theirs.out


@pytest.mark.parametrize("level", ["", "5", "-1", "+3", "much", "0x2", "1.5"])
def test_the_level_of_the_environment_must_be_a_number(judge, ours, level):
    theirs = judge("version", "-o", "short", CLUSTERCTL_LOG_LEVEL=level)
    mine = ours("version", "-o", "short", CLUSTERCTL_LOG_LEVEL=level)
    assert (mine.code, mine.out) == (theirs.code, theirs.out)
    assert not mine.code or level in mine.err


WORDS = Command(
    "it",
    "A tree.",
    words=[
        Command(
            "do",
            "Does it.",
            lambda given: 0,
            [
                Flag("to", "Where.", letter="n"),
                Flag("also", "More.", Form.LIST, "i"),
                Flag("many", "How many.", Form.NUMBER, default=1),
                Flag("quick", "Now.", Form.SWITCH, "q"),
                Flag("sure", "Really.", Form.SWITCH, default=True),
            ],
            arguments="THING",
            least=1,
            most=2,
        )
    ],
)


def read(*argv: str):
    given = parse(WORDS, argv, EVERYWHERE)
    check(given)
    return given


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("do", "a", "--to", "b"), {"to": "b"}),
        (("do", "--to=b", "a"), {"to": "b"}),
        (("do", "-nb", "a"), {"to": "b"}),
        (("do", "-n=b", "a"), {"to": "b"}),
        (("do", "-qn", "b", "a"), {"to": "b", "quick": True}),
        (("do", "a", "--to", "--quick"), {"to": "--quick", "quick": False}),
        (("-v", "5", "do", "a"), {"v": 5}),
        (("--config", "do", "do", "a"), {"config": "do"}),
        (("do", "a", "-v=3"), {"v": 3}),
        (("do", "a", "-i", "b,c", "--also=d", "--also", '"e,f"'), {"also": ("b", "c", "d", "e,f")}),
        (("do", "a", "--also="), {"also": ()}),
        (("do", "a", "--many=0x10"), {"many": 16}),
        (("do", "a", "--many=-1"), {"many": -1}),
        (("do", "a", "--many=010"), {"many": 8}),
        (("do", "a", "--many=0_10"), {"many": 8}),
        (("do", "a", "--many=1_000"), {"many": 1000}),
        (("do", "a", "--many=0b1_1"), {"many": 3}),
        (("do", "a", "--many=00"), {"many": 0}),
        (("do", "a", "--many=-0x8000000000000000"), {"many": -(2**63)}),
        (("do", "a", "--sure=false"), {"sure": False}),
        (("do", "--sure", "a"), {"sure": True}),
        (("do", "a", "-q=F"), {"quick": False}),
        (("do", "a"), {"to": "", "also": (), "many": 1, "quick": False, "sure": True, "v": 0}),
    ],
)
def test_flags_are_read_in_all_their_forms(argv, expected):
    given = read(*argv)
    assert given.arguments == ("a",)
    assert {name: given[name] for name in expected} == expected


def test_what_follows_two_hyphens_is_no_flag():
    given = parse(WORDS, ["do", "a", "--", "--to"], EVERYWHERE)
    assert given.arguments == ("a", "--to")
    assert given["to"] == ""


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("do",), "it do needs THING"),
        (("do", "a", "b", "c"), "unknown argument 'c'"),
        (("do", "a", "--too", "b"), "unknown flag: --too. Did you mean 'to'?"),
        (("do", "a", "-x"), "unknown shorthand flag: -x"),
        (("do", "a", "--to"), "flag needs an argument: --to"),
        (("do", "a", "-n"), "flag needs an argument: -n"),
        (("do", "a", "--many", "few"), "'few' for --many"),
        (("do", "a", "--many=08"), "'08' for --many"),
        (("do", "a", "--many=1__0"), "'1__0' for --many"),
        (("do", "a", "--many=_1"), "'_1' for --many"),
        (("do", "a", "--many=１"), "'１' for --many"),
        (("do", "a", "--many="), "'' for --many"),
        (("do", "a", "--many", "9223372036854775808"), "too large"),
        (("do", "a", "--sure=perhaps"), "'perhaps' for --sure"),
        (("do", "a", "--also", '"b'), "for --also"),
        (("doo", "a"), "unknown command 'doo' for it. Did you mean 'do'?"),
    ],
)
def test_what_cannot_be_understood_is_told(argv, told):
    with pytest.raises(UsageError, match=re.escape(told)):
        read(*argv)
