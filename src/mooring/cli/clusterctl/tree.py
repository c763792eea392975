"""A tree of commands whose flags are read as clusterctl's are, so that its scripts work with one word changed.

That is: ``--flag value`` and ``--flag=value``, ``-f value``, ``-f=value`` and ``-fvalue``, switches that take a value
only behind ``=`` (``--validate=false``), lists parted by commas and repeated, flags and arguments in any order, and
``--`` before what is not a flag. Nothing here knows what a command does.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TextIO

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_INTEGER: Final = re.compile(
    r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?[0-9])*)"
)
_BIG: Final = 1 << 63


class UsageError(Exception):
    """The command line cannot be understood."""


class Form(Enum):
    """What the value of a flag is. The value is how help calls it."""

    SWITCH = ""
    TEXT = "string"
    LIST = "strings"
    NUMBER = "int"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: its long name, its letter if it has one, what it is for, and what it is when nobody gives it."""

    name: str
    help: str
    form: Form = Form.TEXT
    letter: str = ""
    default: Any = None
    hidden: bool = False
    required: bool = False
    deprecated: str = ""  # what to use instead; such a flag works, and says so

    @property
    def initial(self) -> Any:
        if self.default is not None:
            return self.default
        return {Form.SWITCH: False, Form.TEXT: "", Form.LIST: (), Form.NUMBER: 0}[self.form]

    def read(self, text: str, before: Any, *, given: bool) -> Any:
        """The value after this text was given, too."""
        match self.form:
            case Form.SWITCH:
                return self._switch(text)
            case Form.NUMBER:
                return self._number(text)
            case Form.LIST:
                return (*(before if given else ()), *self._list(text))
        return text

    def _switch(self, text: str) -> bool:
        if text not in _TRUE | _FALSE:
            raise UsageError(f"invalid argument {text!r} for --{self.name}: write true or false")
        return text in _TRUE

    def _number(self, text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise UsageError(f"invalid argument {text!r} for --{self.name}: write a whole number")
        digits = re.sub(r"^([+-]?)0(?=[0-7]+$)", r"\g<1>0o", text.replace("_", ""))  # a 0 in front is octal
        value = int(digits, 0)
        if not -_BIG <= value < _BIG:
            raise UsageError(f"invalid argument {text!r} for --{self.name}: the number is too large")
        return value

    def _list(self, text: str) -> list[str]:
        if not text:
            return []
        try:
            return next(csv.reader([text], strict=True))
        except csv.Error as error:
            raise UsageError(f"invalid argument {text!r} for --{self.name}: {error}") from None


@dataclass(slots=True)
class Given:
    """What one call was given: flags by their names, the arguments, and where to read and write."""

    command: Command
    path: tuple[str, ...]
    arguments: tuple[str, ...]
    values: Mapping[str, Any]
    changed: frozenset[str]
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    stdin: TextIO = field(default_factory=lambda: sys.stdin)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def __getitem__(self, flag: str) -> Any:
        """The value of a flag, by its long name."""
        return self.values[flag]

    def say(self, text: str = "") -> None:
        print(text, file=self.out)

    def note(self, text: str) -> None:
        """Something beside the result: progress, warnings."""
        print(text, file=self.err, flush=True)


Run = Callable[[Given], int | None]


@dataclass(frozen=True, slots=True)
class Command:
    """A word: with words below it, or with something to do."""

    name: str
    short: str
    run: Run | None = None
    flags: Sequence[Flag] = ()
    words: Sequence[Command] = ()
    aliases: Sequence[str] = ()
    arguments: str = ""  # as help shows them, such as "NAME"
    least: int = 0  # how many arguments there must be
    most: int | None = 0  # and may be; None: any number
    long: str = ""
    examples: str = ""
    hidden: bool = False
    deprecated: str = ""  # what to use instead

    def word(self, name: str) -> Command | None:
        return next((one for one in self.words if name == one.name or name in one.aliases), None)


HELP: Final = Flag("help", "Show this, and do nothing else.", Form.SWITCH, "h")


def parse(root: Command, argv: Sequence[str], everywhere: Sequence[Flag] = ()) -> Given:
    """Read a command line. Flags in ``everywhere`` may stand anywhere, in front of the first word, too."""
    path, rest = [root], list(argv)
    given = _Reading([*everywhere, *root.flags, HELP])
    while path[-1].words:
        index = _next_word(rest, given)
        if index is None:
            break
        below = path[-1].word(rest[index])
        if below is None:
            if path[-1].run is not None:
                break
            raise UsageError(_unknown(path, rest[index]))
        del rest[index]
        path.append(below)
        given.know([*everywhere, *below.flags, HELP])
    arguments = given.read(rest)
    names = tuple(one.name for one in path)
    return Given(path[-1], names, tuple(arguments), given.values, frozenset(given.changed))


def check(given: Given) -> None:
    """The number of arguments, and the flags that must be there."""
    command, words = given.command, " ".join(given.path)
    lacking = [one.name for one in command.flags if one.required and one.name not in given.changed]
    if lacking:
        raise UsageError(f"required flag(s) {', '.join(f'--{name}' for name in lacking)} not set")
    count = len(given.arguments)
    if count < command.least:
        raise UsageError(f"{words} needs {command.arguments}: see {words} --help")
    if command.most is not None and count > command.most:
        extra = given.arguments[command.most]
        raise UsageError(f"unknown argument {extra!r} for {words}: see {words} --help")


class _Reading:
    """Flags as they come along."""

    def __init__(self, flags: Iterable[Flag]) -> None:
        self.values: dict[str, Any] = {}
        self.changed: set[str] = set()
        self._flags: dict[str, Flag] = {}
        self._letters: dict[str, Flag] = {}
        self.know(flags)

    def know(self, flags: Iterable[Flag]) -> None:
        for one in flags:
            self._flags[one.name] = one
            if one.letter:
                self._letters[one.letter] = one
            if one.name not in self.changed:
                self.values[one.name] = one.initial

    def takes_next(self, text: str) -> bool:
        """Whether this flag has its value in the next word. One that is not known yet, of a word to come, does."""
        if text.startswith("--"):
            name, equals, _ = text[2:].partition("=")
            flag = self._flags.get(name)
            return not equals and (flag is None or flag.form is not Form.SWITCH)
        for place, letter in enumerate(text[1:], 1):
            flag = self._letters.get(letter)
            if text[place + 1 : place + 2] == "=":
                return False
            if flag is None or flag.form is not Form.SWITCH:
                return place == len(text) - 1
        return False

    def read(self, words: Sequence[str]) -> list[str]:
        arguments: list[str] = []
        rest = iter(words)
        for text in rest:
            if text == "--":
                arguments.extend(rest)
            elif text.startswith("--"):
                self._long(text[2:], rest)
            elif text.startswith("-") and text != "-":
                self._short(text[1:], rest)
            else:
                arguments.append(text)
        return arguments

    def _long(self, text: str, rest: Iterator[str]) -> None:
        name, equals, value = text.partition("=")
        flag = self._flags.get(name)
        if flag is None or not name:
            raise UsageError(f"unknown flag: --{name}{_near(name, self._flags)}")
        if not equals:
            value = "true" if flag.form is Form.SWITCH else self._next(rest, f"--{name}")
        self._set(flag, value)

    def _short(self, text: str, rest: Iterator[str]) -> None:
        while text:
            letter, text = text[0], text[1:]
            flag = self._letters.get(letter)
            if flag is None:
                raise UsageError(f"unknown shorthand flag: -{letter}")
            if text.startswith("="):
                self._set(flag, text[1:])
                return
            if flag.form is not Form.SWITCH:
                self._set(flag, text or self._next(rest, f"-{letter}"))
                return
            self._set(flag, "true")

    def _next(self, rest: Iterator[str], what: str) -> str:
        value = next(rest, None)
        if value is None:
            raise UsageError(f"flag needs an argument: {what}")
        return value

    def _set(self, flag: Flag, text: str) -> None:
        self.values[flag.name] = flag.read(text, self.values[flag.name], given=flag.name in self.changed)
        self.changed.add(flag.name)


def _next_word(words: Sequence[str], given: _Reading) -> int | None:
    """Where the next word is that is neither a flag nor the value of one."""
    index = 0
    while index < len(words):
        text = words[index]
        if text == "--":
            return None
        if not text.startswith("-") or text == "-":
            return index
        index += 2 if given.takes_next(text) else 1
    return None


def _unknown(path: Sequence[Command], word: str) -> str:
    words = " ".join(one.name for one in path)
    known = {one.name: one for one in path[-1].words if not one.hidden}
    return f"unknown command {word!r} for {words}{_near(word, known)}"


def _near(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1)
    return f". Did you mean {found[0]!r}?" if found else ""
