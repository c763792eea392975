"""Every word and every flag of the judge is ours, too; and command lines are read as its are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mooring.cli.clusterctl.common import EVERYWHERE
from mooring.cli.clusterctl.completing import candidates
from mooring.cli.clusterctl.main import MODULES, root
from mooring.cli.clusterctl.tree import HELP, Command, Flag, Form, UsageError, check, parse

FLAG = re.compile(r"^ {2,6}(?:-(?P<letter>\w), )? *--(?P<name>[\w-]+)(?: (?P<form>[\w$/.-]+))?(?: {2,}(?P<about>.*))?$")
WORD = re.compile(r"^ {2}(?P<name>[\w-]+) +\S")
FORMS = {None: Form.SWITCH, "string": Form.TEXT, "strings": Form.LIST, "int": Form.NUMBER}


def section(text: str, title: str) -> list[str]:
    """The lines below a title, up to the next empty one."""
    lines = iter(text.splitlines())
    for line in lines:
        if line == title:
            break
    return list(iter(lambda: next(lines, ""), ""))


def words_in(text: str) -> list[str]:
    titles = [line for line in text.splitlines() if line.endswith("Commands:")]
    found = [WORD.match(line) for title in titles for line in section(text, title)]
    return [match["name"] for match in found if match]


def tree_of(judge, *path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each word of the judge with its help."""
    text = judge(*path, "--help").out
    yield path, text
    for word in words_in(text):
        if word != "help":
            yield from tree_of(judge, *path, word)


def ours_at(path: tuple[str, ...]) -> Command | None:
    command: Command | None = root()
    for word in path:
        command = command.word(word) if command is not None else None
    return command


def test_every_word_and_flag_of_the_judge_is_ours(judge):
    seen = 0
    for path, text in tree_of(judge):
        command = ours_at(path)
        assert command is not None, f"there is no {' '.join(path)}"
        flags = {one.name: one for one in (*command.flags, HELP, *EVERYWHERE)}
        for line in (*section(text, "Flags:"), *section(text, "Global Flags:")):
            match = FLAG.match(line)
            assert match, line
            ours = flags.get(match["name"])
            assert ours is not None, f"{' '.join(path)} has no --{match['name']}"
            assert ours.letter == (match["letter"] or ""), f"{' '.join(path)} --{match['name']}"
            if match["name"] != "config":  # the judge shows its default in place of its kind
                assert ours.form is FORMS[match["form"]], f"{' '.join(path)} --{match['name']}"
            default = re.search(r"\(default (.*?)\)$", match["about"] or "")
            if default:
                assert str(ours.initial).lower() == default[1].strip('"'), f"{' '.join(path)} --{match['name']}"
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("word", [word for word in MODULES if not word.startswith("_")])
def test_each_word_tells_what_it_is_for(ours, word):
    ended = ours(word, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert f"mooring clusterctl {word}" in ended.out
    assert ended.out == ours("help", word).out


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
        (("do", "a", "--many", "9223372036854775808"), "too large"),
        (("do", "a", "--sure=perhaps"), "'perhaps' for --sure"),
        (("do", "a", "--also", '"b'), "for --also"),
        (("doo", "a"), "unknown command 'doo' for it. Did you mean 'do'?"),
    ],
)
def test_what_cannot_be_understood_is_told(argv, told):
    with pytest.raises(UsageError, match=re.escape(told)):
        read(*argv)


@pytest.mark.parametrize(
    "argv", [["nothing"], ["version", "--no-such-flag"], ["version", "-o"], ["completion"], ["completion", "tcsh"]]
)
def test_mistakes_end_as_the_judges_do(judge, ours, argv):
    theirs, mine = judge(*argv), ours(*argv)
    assert mine.code == theirs.code == 1
    assert mine.err.startswith("Error: ")


@pytest.mark.parametrize("form", ["short", "json", "yaml"])
def test_the_version_is_that_of_the_judge(judge, ours, form):
    theirs, mine = judge("version", "-o", form), ours("version", "-o", form)
    if form == "short":
        assert mine.out == theirs.out
    else:
        told, said = theirs.documents[0]["clusterctl"], mine.documents[0]["clusterctl"]
        assert {name: said[name] for name in ("major", "minor", "gitVersion")} == {
            name: told[name] for name in ("major", "minor", "gitVersion")
        }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gen"], ["generate"]),
        (["generate", ""], ["cluster", "provider", "yaml"]),
        (["version", "--ou"], ["--output"]),
        (["version", "--output", ""], []),
        (["version", "-o", ""], []),
        (["--config", "get", "ver"], ["version"]),
    ],
)
def test_what_could_come_next(words, expected):
    assert [name for name, _ in candidates(root(), words)] == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(ours, shell):
    ended = ours("completion", shell)
    assert ended.code == 0
    assert "mooring clusterctl __complete" in ended.out
