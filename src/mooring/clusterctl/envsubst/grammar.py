"""Reading ``${…}``: a text becomes steps for a machine with a stack.

A step is bytes, which go on the stack, or a `Call`, which takes its arguments from there and leaves its result. What
is on the stack in the end, joined, is the expansion. Calls that are open while their arguments are read wait in a list
of our own, so that depth costs memory and nothing else; every byte is looked at a bounded number of times.

Which character ends what is upstream's grammar, told by its scanner rather than by its documentation: the pattern of a
replacement may contain ``}``; several slashes or colons in a row separate like one; a NUL byte is the end of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from mooring.clusterctl.envsubst.faults import BadSubstitution, Fault
from mooring.clusterctl.envsubst.runes import is_name_character, is_wide, to_text

_PLAIN_END: Final = re.compile(rb"\$[${]|\0")
_NAME: Final = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")
_OPERATOR: Final = re.compile(rb":[=\-?+]|=|[,^]{1,2}|/[/#%]?|##?|%%?|:")
_WORD_END: Final = re.compile(rb"\$\{|[}\0]")
_OFFSET_END: Final = re.compile(rb"\$\{|[:}\0]")
_PATTERN_END: Final = re.compile(rb"\$\{|[/\0]|(?P<escape>\$(?=\$)|\\(?=[\\/])).", re.DOTALL)
_REPLACEMENT_END: Final = re.compile(rb"\$\{|[}\0]|(?P<escape>\$(?=\$)|\\(?=[\\/])).", re.DOTALL)
_COLONS: Final = re.compile(rb":+")
_SLASHES: Final = re.compile(rb"/+")


@dataclass(frozen=True, slots=True)
class Call:
    """A variable, what is done to its value, and how many arguments there are for that."""

    name: str
    operator: str
    arguments: int
    position: int  # in the text, of its ${


Step = bytes | Call


class _Awaits(Enum):
    """What an open call needs next."""

    OFFSET = auto()
    LENGTH_OR_END = auto()
    PATTERN = auto()
    SLASH = auto()
    REPLACEMENT = auto()
    WORD = auto()
    DEFAULT = auto()
    END = auto()


_FIRST: Final = {":": _Awaits.OFFSET, "/": _Awaits.PATTERN, "#": _Awaits.WORD, "%": _Awaits.WORD}


@dataclass(slots=True)
class _Open:
    """A call whose closing brace has not come yet."""

    name: str
    operator: str
    position: int
    awaits: _Awaits
    arguments: int = 0


@dataclass(slots=True)
class Reader:
    """Reads one text, from its beginning to its end."""

    text: bytes
    position: int = 0
    steps: list[Step] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)

    def read(self) -> tuple[Step, ...]:
        while self._read_plain():
            self._enter()
            while self.open:
                self._advance(self.open[-1])
        return tuple(self.steps)

    def _read_plain(self) -> bool:
        """Text up to the next ``${``, if there is one. ``$$`` is a plain dollar sign."""
        while found := _PLAIN_END.search(self.text, self.position):
            self._keep(self.text[self.position : found.start()])
            self.position = found.end()
            if found[0] != b"$$":
                return found[0] == b"${"
            self._keep(b"$")
        self._keep(self.text[self.position :])
        return False

    def _keep(self, text: bytes) -> None:
        if text:
            self.steps.append(text)

    def _enter(self) -> None:
        """A call, from behind its opening brace up to its first argument."""
        begun = self.position - 2
        if self._next() == b"#":
            self.position += 1
            call = _Open(self._name(begun, Fault.FORM), "#", begun, _Awaits.END)
        else:
            call = _Open(self._name(begun, Fault.NAME), "", begun, _Awaits.END)
            call.operator = self._operator(begun)
            call.awaits = _awaited(call.operator)
        self.open.append(call)

    def _name(self, begun: int, fault: Fault) -> str:
        found = _NAME.match(self.text, self.position)
        name = found[0] if found else b""
        if not name.isascii():
            characters = to_text(name)
            wrong = (place for place, one in enumerate(characters) if not is_name_character(one))
            name = characters[: next(wrong, None)].encode()
        if not name:
            raise self._bad(fault, begun)
        self.position += len(name)
        return name.decode()

    def _operator(self, begun: int) -> str:
        found = _OPERATOR.match(self.text, self.position)
        if found is None:
            if self._next() != b"}":
                raise self._bad(Fault.CLOSING, begun)
            return ""
        self.position = found.end()
        # Upstream steps back too far, or not at all, when it has looked at what follows a colon.
        if found[0] == b":" and (is_wide(self.text, self.position) or self.position == len(self.text)):
            raise self._bad(Fault.FORM, begun)
        return found[0].decode()

    def _advance(self, call: _Open) -> None:
        """One thing more of the innermost call that is open: an argument, a separator, or its end."""
        match call.awaits:
            case _Awaits.OFFSET:
                call.awaits = _Awaits.LENGTH_OR_END
                self._argument(call, _OFFSET_END)
            case _Awaits.LENGTH_OR_END:
                call.awaits = _Awaits.WORD if self._skipped(_COLONS) else _Awaits.END
            case _Awaits.PATTERN:
                call.awaits = _Awaits.SLASH
                self._argument(call, _PATTERN_END)
            case _Awaits.SLASH:
                if not self._skipped(_SLASHES):
                    raise self._bad(Fault.FORM, call.position)
                call.awaits = _Awaits.END if self._next() == b"}" else _Awaits.REPLACEMENT
            case _Awaits.REPLACEMENT:
                call.awaits = _Awaits.END
                self._argument(call, _REPLACEMENT_END)
            case _Awaits.WORD:
                call.awaits = _Awaits.END
                self._argument(call, _WORD_END)
            case _Awaits.DEFAULT if self._next() != b"}":
                self._argument(call, _WORD_END)
            case _:
                self._leave(call)

    def _argument(self, call: _Open, end: re.Pattern[bytes]) -> None:
        """A text that is not empty, or a call."""
        call.arguments += 1
        if self.text.startswith(b"${", self.position):
            self.position += 2
            self._enter()
            return
        parts = []
        for found in end.finditer(self.text, self.position):
            parts.append(self.text[self.position : found.start()])
            self.position = found.start()
            if found.lastgroup is None:
                break
            parts.append(found[0][1:])
            self.position = found.end()
        else:
            parts.append(self.text[self.position :])
            self.position = len(self.text)
        argument = b"".join(parts)
        if not argument:
            raise self._bad(Fault.ARGUMENT, call.position)
        self.steps.append(argument)

    def _leave(self, call: _Open) -> None:
        if self._next() != b"}":
            raise self._bad(Fault.FORM, call.position)
        self.position += 1
        self.steps.append(Call(call.name, call.operator, call.arguments, call.position))
        self.open.pop()

    def _skipped(self, separators: re.Pattern[bytes]) -> bool:
        found = separators.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return found is not None

    def _next(self) -> bytes:
        return self.text[self.position : self.position + 1]

    def _bad(self, fault: Fault, position: int) -> BadSubstitution:
        return bad(fault, self.text, position)


def bad(fault: Fault, text: bytes, position: int) -> BadSubstitution:
    """What is wrong with the call that begins here."""
    excerpt = to_text(text[position : position + 200]).partition("\n")[0]
    return BadSubstitution(fault, excerpt, line=text.count(b"\n", 0, position) + 1)


def _awaited(operator: str) -> _Awaits:
    """What comes first after an operator: a default may be empty, and changes of case have no argument."""
    if operator == "=" or (len(operator) == 2 and operator[0] == ":"):
        return _Awaits.DEFAULT
    return _FIRST.get(operator[:1], _Awaits.END)
