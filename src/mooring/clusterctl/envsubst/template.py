"""A text that was read, ready to be filled in as often as one likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mooring.clusterctl.envsubst.faults import Fault
from mooring.clusterctl.envsubst.grammar import Call, Reader, Step, bad
from mooring.clusterctl.envsubst.operators import OPERATIONS, Impossible
from mooring.clusterctl.envsubst.runes import to_bytes, to_text

# Defaults are joined where somebody looks into them, not in each of a thousand calls around them.
_MOST_MADE = 1 << 30  # bytes: operators around operators can make much out of little
_T = TypeVar("_T")
Piece = bytes | tuple["Piece", ...]


def parse(text: str) -> Template:
    """Read a text; BadSubstitution tells what in it is no substitution."""
    source = to_bytes(text)
    return Template(source, Reader(source).read())


@dataclass(frozen=True, slots=True)
class Template:
    """The text and its steps. Two texts may mean the same; templates are compared by the text."""

    source: bytes
    steps: tuple[Step, ...]

    def expand(self, lookup: Callable[[str], str]) -> str:
        """The text with the values in place. A variable without a value is looked up as the empty text."""
        stack: list[Piece] = []
        made = 0
        for step in self.steps:
            if isinstance(step, bytes):
                stack.append(step)
                continue
            arguments = _taken(stack, step.arguments)
            value = to_bytes(lookup(step.name))
            if step.operator in OPERATIONS:
                result = self._operated(step, value, arguments)
                made += len(result)
                if made > _MOST_MADE:
                    raise bad(Fault.EFFORT, self.source, step.position)
                stack.append(result)
            else:
                stack.append(value or (arguments[0] if len(arguments) == 1 else tuple(arguments)))
        return to_text(_joined(stack))

    def _operated(self, call: Call, value: bytes, arguments: list[Piece]) -> bytes:
        try:
            return OPERATIONS[call.operator](value, [_joined([one]) for one in arguments])
        except Impossible as impossible:
            raise bad(impossible.fault, self.source, call.position) from None

    def defaults(self) -> dict[str, str]:
        """The variables of the text, by first appearance, and what stands for each if it has no value.

        As upstream tells it: whatever follows an operator counts as a default, variables in it are written as
        ``${NAME}`` and are not told themselves.
        """
        stack: list[bytes | tuple[str, bytes]] = []
        for step in self.steps:
            if isinstance(step, bytes):
                stack.append(step)
                continue
            arguments = _taken(stack, step.arguments)
            written = [one if isinstance(one, bytes) else b"${%s}" % one[0].encode() for one in arguments]
            stack.append((step.name, b"".join(written)))
        found: dict[str, str] = {}
        for outermost in stack:
            if not isinstance(outermost, bytes):
                found.setdefault(outermost[0], to_text(outermost[1]))
        return found


def _taken(stack: list[_T], count: int) -> list[_T]:
    arguments = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return arguments


def _joined(pieces: Sequence[Piece]) -> bytes:
    parts: list[bytes] = []
    waiting = list(reversed(pieces))
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, bytes):
            parts.append(piece)
        else:
            waiting.extend(reversed(piece))
    return b"".join(parts)
