"""Every word and every flag of the judge is ours, too; and command lines are read as its are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mooring.cli.clusterctl.common import EVERYWHERE
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
            seen += 1
            if match["name"] == "config":  # the judge shows its default in place of its kind
                continue
            assert ours.form is FORMS[match["form"]], f"{' '.join(path)} --{match['name']}"
            default = re.search(r"\(default (.*?)\)$", match["about"] or "")
            if default:
                assert str(ours.initial).lower() == default[1].strip('"'), f"{' '.join(path)} --{match['name']}"
    assert seen > 100


def test_a_flag_that_is_not_there_is_told_everywhere(judge, ours):
    """One sentence, and the exit code of the judge."""
    for path, text in tree_of(judge):
        if words_in(text):
            continue
        theirs, mine = judge(*path, "--no-such-flag"), ours(*path, "--no-such-flag")
        assert mine.code == theirs.code == 1, path
        assert (mine.out, mine.err) == ("", "Error: unknown flag: --no-such-flag\n"), path


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


@pytest.mark.parametrize(
    "argv", [[], ["--help"], ["-h"], ["describe"], ["alpha"], ["alpha", "rollout"], ["help", "get"]]
)
def test_help_is_no_mistake(judge, ours, argv):
    theirs, mine = judge(*argv), ours(*argv)
    assert mine.code == theirs.code == 0
    assert words_in(theirs.out), argv
    assert mine.err == ""
    for word in words_in(theirs.out):
        assert re.search(rf"^  {word} +\S", mine.out, re.MULTILINE), word


@pytest.mark.parametrize("argv", [["describe", "clutser", "a"], ["alpha", "rolout"], ["help", "descirbe"]])
def test_a_word_that_is_not_there_is_a_mistake_everywhere(judge, ours, argv):
    """DEVIATION unknown-words: below the first floor, the judge shows help and is content."""
    assert judge(*argv).code == 0
    mine = ours(*argv)
    assert (mine.code, mine.out) == (1, "")
    assert f"unknown command '{argv[1]}'" in mine.err


def test_convert_says_what_to_do_instead(judge, ours):
    """DEVIATION convert-refused."""
    text = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\n"
    assert judge("convert", stdin=text).documents[0]["apiVersion"] == "cluster.x-k8s.io/v1beta2"
    mine = ours("convert", "--to-version", "v1beta2", "-o", "-", stdin=text)
    assert (mine.code, mine.out) == (1, "")
    assert re.fullmatch(r"Error: convert is not here.*kubectl get.*\n", mine.err)


def test_a_flag_of_old_works_and_says_so(judge, ours):
    words = ("describe", "cluster", "a", "--v1beta2=false", "--kubeconfig", "/no/such/file")
    theirs, mine = judge(*words), ours(*words)
    assert mine.code == theirs.code == 1
    for told in (theirs, mine):
        assert re.search("--v1beta2 (is|has been) deprecated", told.err)


def test_a_configuration_that_is_not_there_is_told(judge, ours):
    words = ("describe", "cluster", "a", "--config", "/no/such/file.yaml")
    assert ours(*words).code == judge(*words).code == 1
    assert "/no/such/file.yaml" in ours(*words).err


@pytest.mark.parametrize("level", ["", "5", "-1", "+3", "much", "0x2", "1.5"])
def test_the_level_of_the_environment_must_be_a_number(judge, ours, level):
    theirs = judge("version", "-o", "short", CLUSTERCTL_LOG_LEVEL=level)
    mine = ours("version", "-o", "short", CLUSTERCTL_LOG_LEVEL=level)
    assert (mine.code, mine.out) == (theirs.code, theirs.out)
    assert not mine.code or level in mine.err


PLUGIN = '#!/bin/sh\necho "$(basename "$0")" "$HULL" "$@"; exit 7\n'


def test_words_that_somebody_else_brings(judge, ours_apart, tmp_path):
    """The longest name that is on the PATH is run, with the rest of the line."""
    for name in ("hello", "hello-big-world", "my_word", "describe", "version"):
        file = tmp_path / f"clusterctl-{name}"
        file.write_text(PLUGIN)
        file.chmod(0o755)
    (tmp_path / "clusterctl-asleep").write_text(PLUGIN)  # that nobody may run
    environ = {"PATH": f"{tmp_path}:{ours_apart.environ.get('PATH', '/usr/bin:/bin')}", "HULL": "oak"}
    for argv, told in (
        (["hello", "small", "-x", "y"], "clusterctl-hello oak small -x y\n"),
        (["hello", "big", "world", "--", "z"], "clusterctl-hello-big-world oak -- z\n"),
        (["my-word"], "clusterctl-my_word oak\n"),
        (["describe"], None),
        (["asleep"], None),
        (["-x", "hello"], None),
    ):
        theirs, mine = judge(*argv, **environ), ours_apart(*argv, **environ)
        assert mine.code == theirs.code, argv
        assert mine.out == theirs.out == told if told else "oak" not in mine.out, argv


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


@pytest.mark.parametrize("form", ["", "short", "json", "yaml"])
def test_the_version_is_that_of_the_judge(judge, ours, form):
    """But for what each was made with."""
    theirs, mine = (
        re.sub(r"((?:[Gg]oVersion|[Cc]ompiler)\"?: ?)(\".*?\"|.*)", r"\1…", one("version", "-o", form).out)
        for one in (judge, ours)
    )
    assert mine == theirs
    assert "v1.14.2" in mine
