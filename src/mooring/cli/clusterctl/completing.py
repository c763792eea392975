"""``__complete``: what could come next on a command line. The scripts of ``completion`` ask this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mooring.cli.clusterctl.tree import HELP, Command, Flag, Form, Given


def _complete(given: Given) -> None:
    from mooring.cli.clusterctl.main import root

    for name, about in candidates(root(), given.arguments):
        given.say(f"{name}\t{about}")


def candidates(root: Command, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What fits the last of these words, which may be begun or empty; with what it is for."""
    from mooring.cli.clusterctl.common import EVERYWHERE

    *before, last = words or [""]
    command, flags = root, [*EVERYWHERE, *root.flags, HELP]
    waiting: Flag | None = None  # for its value
    for word in before:
        if waiting is not None:
            waiting = None
        elif word.startswith("-"):
            waiting = _waiting(word, flags)
        elif (below := command.word(word)) is not None:
            command, flags = below, [*EVERYWHERE, *below.flags, HELP]
    if waiting is not None:
        return  # a value is the user's own
    if last.startswith("-"):
        for one in sorted(flags, key=lambda flag: flag.name):
            if not one.hidden and f"--{one.name}".startswith(last):
                yield f"--{one.name}", one.help
    else:
        for below in command.words:
            if not below.hidden and below.name.startswith(last):
                yield below.name, below.short


def _waiting(word: str, flags: Sequence[Flag]) -> Flag | None:
    for one in flags:
        if word in (f"--{one.name}", f"-{one.letter}") and one.form is not Form.SWITCH:
            return one
    return None


COMMAND = Command("__complete", "What could come next.", _complete, arguments="[WORD]…", most=None, hidden=True)
