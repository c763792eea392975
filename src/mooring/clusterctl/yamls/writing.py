"""Values as YAML, letter by letter as upstream would write them: through libyaml, with its choice of styles.

Keys are sorted as people count (``node2`` before ``node10``), text of several lines is a literal block, and text that
another reader would take for a number, a boolean or a time of day stands in quotes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cmp_to_key
from typing import Any, Final

from mooring.clusterctl.yamls.scalars import STR, float_text, plain

# Times of day were numbers once, to the base of sixty: quoted for the sake of old readers.
_BASE_SIXTY: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_LETTERS: Final = re.compile(r"[A-Za-z]*")
_LONGEST_KNOWN: Final = 100  # characters; longer text is rarely met twice


def dump_one(value: Any) -> str:
    """One document, with a line end behind it and nothing in front."""
    return _written([value])[0]


def dump(objects: Sequence[Any]) -> str:
    """Documents, with ``---`` between them."""
    return "---\n".join(_written(objects))


def _written(values: Iterable[Any]) -> list[str]:
    texts = []
    for value in values:
        stream = io.StringIO()
        emitter = _emitter(stream)
        for event in _events(value):
            emitter.emit(event)
        text = stream.getvalue()
        # After text that ends in empty lines, libyaml closes the document; upstream's port does not.
        texts.append(text[:-4] if text.endswith("\n...\n") else text)
    return texts


def _emitter(stream: io.StringIO) -> Any:
    try:
        from yaml._yaml import CEmitter
    except ImportError:
        from yaml.emitter import Emitter

        return Emitter(stream, allow_unicode=True)
    return CEmitter(stream, allow_unicode=True)


def _events(value: Any) -> Iterator[Any]:
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
                event = yaml.ScalarEvent(None, None, (True, True), one, style=_style(one))
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
    before = re.search(r"[0-9]*\Z", one[:place])
    lead = "1" if "0" in (one[place], other[place]) and before and before[0].strip("0") else ""
    mine, yours = (re.match(r"[0-9]*", text[place:]) for text in (one, other))
    a, b = (found[0] if found else "" for found in (mine, yours))
    worth = int(lead + a or "0") - int(lead + b or "0")
    return worth or len(a) - len(b) or _order(one[place], other[place])


def _order(a: str, b: str) -> int:
    return (a > b) - (a < b)
