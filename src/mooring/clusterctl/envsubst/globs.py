"""The patterns of ``${v#…}`` and ``${v%…}``: which beginnings of a value they match.

``*`` is any bytes (a ``/`` too), ``?`` any character, ``[a-c]`` and ``[^a-c]`` one of a class, ``\\`` takes the next
byte as it is. Upstream tries its matcher on every beginning of the value anew; here all are tried in one pass, an
automaton whose states are the bits of a number. Only where characters are wider than bytes that is not exact: a
beginning may end within a character, which then counts as broken bytes, and stars don't look back. There `_Walk` goes
upstream's way, and shares what does not depend on where the beginning ends.

A malformed pattern matches nothing, wherever the fault in it is: upstream either reports it, and the value is left as
it was, or fails to match before it gets there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from mooring.clusterctl.envsubst.runes import BROKEN, mended, to_text

_ANY, _OPEN, _CLOSE, _ESCAPE, _DASH = b"?[]\\-"
_MOST_STEPS, _MOST_BITS = 2_000_000, 1 << 34  # a second or two each
_WIDEST = 4  # bytes of a character


class TooMuch(Exception):
    """A pattern and a value that together would take minutes."""


@dataclass(frozen=True, slots=True)
class Class:
    """One character out of ranges, or, negated, any other. Without ranges and negated: any character."""

    ranges: tuple[tuple[int, int], ...] = ()
    negated: bool = True

    def takes(self, rune: int) -> bool:
        return any(low <= rune <= high for low, high in self.ranges) != self.negated


Item = int | Class  # a byte as it is, or a character
_ANYTHING = Class()


@dataclass(frozen=True, slots=True)
class Chunk:
    """What stands between two stars, and whether one stands before it."""

    star: bool
    items: tuple[Item, ...]


def matching(pattern: bytes, value: bytes, *, longest: bool) -> int:
    """The length of the shortest or longest beginning of the value, of at least a byte, that matches; or 0."""
    chunks = _chunks(pattern)
    if not chunks:
        return 0
    if value.isascii() or all(isinstance(item, int) for chunk in chunks for item in chunk.items):
        return _by_bytes(chunks, value, longest=longest)
    return _Walk(chunks, value).matching(longest=longest)


def _chunks(pattern: bytes) -> list[Chunk]:
    """The pattern, read; empty if it is malformed."""
    chunks, position = [], 0
    while position < len(pattern):
        begun = position
        while pattern[position : position + 1] == b"*":
            position += 1
        end = _chunk_end(pattern, position)
        items = _items(pattern[position:end])
        if items is None:
            return []
        chunks.append(Chunk(position > begun, items))
        position = end
    return chunks


def _chunk_end(pattern: bytes, position: int) -> int:
    """Up to the next star outside of brackets; brackets are counted roughly here, as upstream does."""
    within = False
    while position < len(pattern):
        match pattern[position]:
            case 0x5C:  # a backslash
                position += 1
            case 0x5B:
                within = True
            case 0x5D:
                within = False
            case 0x2A if not within:
                return position
        position += 1
    return len(pattern)


def _items(chunk: bytes) -> tuple[Item, ...] | None:
    items: list[Item] = []
    position = 0
    while position < len(chunk):
        byte = chunk[position]
        if byte == _OPEN:
            read = _class(chunk, position + 1)
            if read is None:
                return None
            one, position = read
            items.append(one)
            continue
        if byte == _ESCAPE and position + 1 == len(chunk):
            return None
        position += byte == _ESCAPE
        items.append(_ANYTHING if byte == _ANY else chunk[position])
        position += 1
    return tuple(items)


def _class(chunk: bytes, position: int) -> tuple[Class, int] | None:
    """A class and what comes after it, from behind its opening bracket."""
    negated = chunk[position : position + 1] == b"^"
    position += negated
    ranges: list[tuple[int, int]] = []
    while not (ranges and chunk[position] == _CLOSE):
        bound = _bound(chunk, position)
        if bound is None:
            return None
        low, position = bound
        if chunk[position] == _DASH:
            bound = _bound(chunk, position + 1)
            if bound is None:
                return None
            position = bound[1]
        ranges.append((low, bound[0]))
    return Class(tuple(ranges), negated), position + 1


def _bound(chunk: bytes, position: int) -> tuple[int, int] | None:
    """One end of a range. Something must follow it: the class is not closed yet."""
    if chunk[position : position + 1] in (b"", b"-", b"]"):
        return None
    position += chunk[position] == _ESCAPE
    character = to_text(chunk[position : position + _WIDEST])[:1]
    if not character or "\udc80" <= character <= "\udcff":
        return None
    position += len(character.encode())
    return None if position == len(chunk) else (ord(character), position)


def _by_bytes(chunks: list[Chunk], value: bytes, *, longest: bool) -> int:
    """Where each item takes a byte: state k means that k items have been met, and a star keeps its state."""
    items = [item for chunk in chunks for item in chunk.items]
    if len(items) * len(value) > _MOST_BITS:
        raise TooMuch
    accepted = 1 << len(items)
    taking = _Taking(items)
    stars, count = [], 0
    for chunk in chunks:
        stars += [count] if chunk.star else []
        count += len(chunk.items)
    staying = _bits(stars, len(items))
    states, found = 1, 0
    for length, byte in enumerate(value, start=1):
        states = ((states & taking[byte]) << 1) | (states & staying)
        if states >= accepted:
            found = length
            if not longest:
                break
        if not states:
            break
    return found


class _Taking(dict[int, int]):
    """By byte, the items that take it, as bits."""

    def __init__(self, items: list[Item]) -> None:
        super().__init__()
        self._size = len(items)
        self._literals: dict[int, list[int]] = {}
        self._classes: dict[Class, list[int]] = {}
        for place, item in enumerate(items):
            if isinstance(item, int):
                self._literals.setdefault(item, []).append(place)
            else:
                self._classes.setdefault(item, []).append(place)

    def __missing__(self, byte: int) -> int:
        places = list(self._literals.get(byte, ()))
        for one, where in self._classes.items():
            if one.takes(byte):
                places += where
        self[byte] = taken = _bits(places, self._size)
        return taken


def _bits(places: Iterable[int], size: int) -> int:
    """A number with these bits; bit by bit onto a long number would cost its length each time."""
    row = bytearray(size // 8 + 1)
    for place in places:
        row[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(row, "little")


@dataclass(slots=True)
class _Walk:
    """Where items take characters: upstream's steps, for every beginning of the value.

    `ends` and `reaches` are of the chunks before the last one, met in the whole value: where each ended, and how far
    one had to look for that. In a beginning that is longer than that, they are met in the same place.
    """

    chunks: list[Chunk]
    value: bytes
    runes: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    reaches: list[int] = field(default_factory=list)
    reach: int = 0
    steps: int = 0

    def __post_init__(self) -> None:
        for character in to_text(self.value):
            broken = "\udc80" <= character <= "\udcff"
            width = 1 if broken else len(character.encode())
            self.runes += [BROKEN if broken else ord(character), *[BROKEN] * (width - 1)]
            self.widths += [width, *[1] * (width - 1)]
        for chunk in self.chunks[:-1]:
            end = self._found(chunk, self.ends[-1] if self.ends else 0, len(self.value))
            if end is None:
                return
            self.ends.append(end)
            self.reaches.append(self.reach)

    def matching(self, *, longest: bool) -> int:
        lengths = range(1, len(self.value) + 1)
        return next((one for one in (reversed(lengths) if longest else lengths) if self._matches(one)), 0)

    def _matches(self, length: int) -> bool:
        settled = bisect_right(self.reaches, length)
        start = self.ends[settled - 1] if settled else 0
        for place, chunk in enumerate(self.chunks[settled:]):
            if not chunk.items:
                return True  # a star at the end
            last = settled + place == len(self.chunks) - 1
            if chunk.star and (last or not place):
                # What lies before was tried in vain in the whole value, or ends before the end.
                start = max(start, length - _WIDEST * len(chunk.items))
            end = self._found(chunk, start, length, last=last)
            if end is None:
                return False
            start = end
        return True

    def _found(self, chunk: Chunk, start: int, length: int, *, last: bool = False) -> int | None:
        """Where the chunk ends, in the first place where it is met from here on; the last one ends at the end."""
        for position in range(start, length) if chunk.star else (start,):
            end = self._met(chunk, position, length)
            if end is not None and (end == length or not last):
                return end
        return None

    def _met(self, chunk: Chunk, position: int, length: int) -> int | None:
        """Where the chunk ends that begins here, if it does; notes how far one had to look."""
        for item in chunk.items:
            self._count(item)
            if position >= length:
                self.reach = len(self.value) + 1
                return None
            width = 1 if isinstance(item, int) else self.widths[position]
            self.reach = max(self.reach, position + width)
            whole = position + width <= length
            if isinstance(item, int):
                taken = self.value[position] == item
            else:
                taken = item.takes(self.runes[position] if whole else BROKEN)
            if not taken:
                return None
            position += width if whole else 1
        return position

    def _count(self, item: Item) -> None:
        self.steps += 1 if isinstance(item, int) else 1 + len(item.ranges)
        if self.steps > _MOST_STEPS:
            raise TooMuch


def reversed_characters(value: bytes) -> bytes:
    """The characters in opposite order. Broken bytes come out as U+FFFD, and stay so."""
    return mended(value)[::-1].encode()
