"""Values as YAML, letter by letter as upstream would write them: through libyaml, with its choice of styles.

Keys are sorted as people count (``node2`` before ``node10``), text of several lines is a literal block, and text that
another reader would take for a number, a boolean or a time of day stands in quotes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key
from typing import Any, Final

from mooring.clusterctl.yamls.reading import YamlError
from mooring.clusterctl.yamls.scalars import STR, float_text, plain

# Times of day were numbers once, to the base of sixty: quoted for the sake of old readers.
_BASE_SIXTY: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_LETTERS: Final = re.compile(r"[A-Za-z]*")
_LONGEST_KNOWN: Final = 100  # characters; longer text is rarely met twice
_LONGEST_KEY: Final = 1024  # as JSON, quotes included
_UNSAYABLE: Final = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff]")
_NEXT_LINE: Final = re.compile(" *\x85[ \x85]*")
_HALF: Final = 1 << 63


def dump_one(value: Any) -> str:
    """One document, with a line end behind it and nothing in front."""
    return _written([value])[0]


def dump(objects: Sequence[Any]) -> str:
    """Documents, with ``---`` between them. What upstream cannot write is refused, see `_spoken`."""
    for one in objects:
        _refuse_long_keys(one)
    return "---\n".join(_written(objects, spoken=_spoken))


def _written(values: Iterable[Any], spoken: Callable[[str], str] = str) -> list[str]:
    texts = []
    for value in values:
        stream = io.StringIO()
        emitter = _emitter(stream)
        for event in _events(value, spoken):
            emitter.emit(event)
        text = stream.getvalue()
        # After text that ends in empty lines, libyaml closes the document; upstream's port does not.
        texts.append(text[:-4] if text.endswith("\n...\n") else text)
    return texts


def _spoken(text: str) -> str:
    """The text after upstream's way from object to YAML: it writes JSON, and reads that as YAML.

    There control characters beyond ASCII are not allowed, and U+0085 ends a line, which a space stands for.
    """
    if found := _UNSAYABLE.search(text):
        raise YamlError(f"{text!r:.60} has the character {found[0]!r}, which cannot be written as YAML: leave it out")
    if "\x85" not in text:
        return text
    return _NEXT_LINE.sub(lambda found: "\n" * (found[0].count("\x85") - 1) or " ", text)


def _refuse_long_keys(value: Any) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if one.__class__ is dict:
            for key in one:
                if len(key) > _LONGEST_KEY // 6 and len(_as_json(key)) > _LONGEST_KEY:
                    raise YamlError(f"the key {key[:40]!r}… has {len(key)} characters: the most are {_LONGEST_KEY - 2}")
            waiting.extend(one.values())
        elif one.__class__ is list:
            waiting.extend(one)


def _as_json(text: str) -> str:
    import json

    return re.sub("[<>&\u2028\u2029]", "......", json.dumps(text, ensure_ascii=False))


def _emitter(stream: io.StringIO) -> Any:
    try:
        from yaml._yaml import CEmitter
    except ImportError:
        from yaml.emitter import Emitter

        return Emitter(stream, allow_unicode=True)
    return CEmitter(stream, allow_unicode=True)


def _events(value: Any, spoken: Callable[[str], str]) -> Iterator[Any]:
    """Depth first, and without recursion: what is still to be said is on a stack."""
    import yaml

    map_end, list_end = yaml.MappingEndEvent(), yaml.SequenceEndEvent()
    scalars: dict[Any, Any] = {}
    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        kind = one.__class__
        if kind is str:
            event = scalars.get(one)
            if event is None:
                text = spoken(one)
                event = yaml.ScalarEvent(None, None, (True, True), text, style=_style(text))
                if len(one) < _LONGEST_KNOWN:
                    scalars[one] = event
            yield event
        elif kind is dict:
            yield yaml.MappingStartEvent(None, None, True, flow_style=not one)
            waiting.append(map_end)
            for key in _sorted(one)[::-1]:
                waiting.append(one[key])
                waiting.append(key)
        elif kind is list:
            yield yaml.SequenceStartEvent(None, None, True, flow_style=not one)
            waiting.append(list_end)
            waiting.extend(one[::-1])
        elif one is map_end or one is list_end:
            yield one
        else:
            yield yaml.ScalarEvent(None, None, (True, True), _word(one), style=None)
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_text(value) if isinstance(value, float) else str(value)


def _style(text: str) -> str | None:
    if "\n" in text:
        return "|"
    return None if plain(text)[0] == STR and not _BASE_SIXTY.fullmatch(text) else '"'


def _sorted(mapping: dict[str, Any]) -> list[str]:
    keys = sorted(mapping)
    # Where there are only letters, the order of code points is the order of people, too.
    return keys if _LETTERS.fullmatch("".join(keys)) else sorted(keys, key=cmp_to_key(_compared))


def _compared(one: str, other: str) -> int:
    """Below zero if the one comes first: numbers by their value, and letters behind everything else."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            return _order(a, b) if a.isalpha() and b.isalpha() else 1 if a.isalpha() else -1
        return _numbers(one, other, place)
    return len(one) - len(other)


def _numbers(one: str, other: str, place: int) -> int:
    # A zero means something only behind a digit that is none.
    before = re.search(r"\d*\Z", one[:place])
    lead = int("0" in (one[place], other[place]) and bool(before and before[0].strip("0")))
    (a, end), (b, other_end) = (_counted(text, place, lead) for text in (one, other))
    return a - b or end - other_end or _order(one[place], other[place])


def _counted(text: str, place: int, number: int) -> tuple[int, int]:
    """The number that goes on here, in 64 bits, and where it ends. Digits of other scripts count as what they are."""
    while place < len(text) and text[place].isdecimal():
        number = number * 10 + ord(text[place]) - ord("0")
        number = (number + _HALF) % (2 * _HALF) - _HALF
        place += 1
    return number, place


def _order(a: str, b: str) -> int:
    return (a > b) - (a < b)
