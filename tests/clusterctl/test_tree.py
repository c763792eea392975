"""Every word and every flag of the judge is ours, too, and so are plugins; what is a mistake, is one for both."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mooring.cli.clusterctl.common import EVERYWHERE
from mooring.cli.clusterctl.main import MODULES, root
from mooring.cli.clusterctl.tree import HELP, Command, Form

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


@pytest.mark.parametrize("form", ["", "short", "json", "yaml"])
def test_the_version_is_that_of_the_judge(judge, ours, form):
    """But for what each was made with."""
    theirs, mine = (
        re.sub(r"((?:[Gg]oVersion|[Cc]ompiler)\"?: ?)(\".*?\"|.*)", r"\1…", one("version", "-o", form).out)
        for one in (judge, ours)
    )
    assert mine == theirs
    assert "v1.14.2" in mine
