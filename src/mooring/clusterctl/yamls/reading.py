"""One document of YAML, built from the events of libyaml without recursion, under the rules of a dialect.

Upstream's parser is a port of libyaml, so the grammar is the same. What it adds is here: merge keys that win over what
stands before them, aliases that are copied, keys that become text, and a bound on depth. Ours is far below upstream's
ten thousand, so that nobody who walks through a document need fear for the stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.yamls import scalars
from mooring.clusterctl.yamls.anchors import Anchors, Refused, Unfinished, copied
from mooring.clusterctl.yamls.scalars import MERGE, Unreadable

DEEPEST: Final = 500
_MOST_RESPELLED: Final = 50  # places in a document

# Where one of these is in a document, its scalars are looked at more closely.
_STRANGE: Final = re.compile(r"!\s|\?|\\/|![^\s,\[\]]*[,\[\]]")
_MARKED: Final = re.compile(r"(?:&\S+\s+)?!(?:\s|\Z)")
_TAG_GOES_ON: Final = re.compile(r"(?:&\S+\s+)?![^\s<,\[\]][^\s,\[\]]*[,\[\]]")
_SLASH: Final = re.compile(r"(?<!\\)(?:\\\\)*\\/")
_MERGE_HERE: Final = object()


class YamlError(ClusterctlError):
    """Text that is not YAML, or not as it must be here. Says where."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What upstream's readers differ in."""

    plain: Callable[[str], tuple[str, Any]]  # tag and value of a scalar without quotes
    tagged: Callable[[str, str], Any]  # value of a scalar with a tag
    as_key: Callable[[Any], str]
    as_value: Callable[[Any], Any]
    may_repeat: bool = True  # whether a key may come twice; the last one wins
    own_keys_win: bool = False  # whether a key in front of a merge stays as it is


OBJECTS: Final = Dialect(scalars.plain, scalars.tagged, scalars.as_key, scalars.as_json)


def read(text: str, *, dialect: Dialect = OBJECTS, line: int = 1, document: int = 1) -> Any:
    """The first document of a text; `line` is where the text begins, and `document` its number, for messages."""
    import yaml

    for left in range(_MOST_RESPELLED, -1, -1):
        building = _Building(dialect, text)
        try:
            return building.run(_parser(text.encode()))
        except UnicodeEncodeError:
            raise YamlError(f"document {document}: this is not UTF-8 text: save it as UTF-8") from None
        except yaml.YAMLError as error:
            respelled = _respelled(text, error) if left else None
            if respelled is None:
                raise YamlError(_told(error, document, line)) from None
            text = respelled
        except (Refused, Unreadable) as error:
            raise YamlError(f"document {document}, line {line + building.line}: {error}") from None
    raise AssertionError("the last time it is read or refused")


def _respelled(text: str, error: Any) -> str | None:
    """The text with what upstream takes and this libyaml does not, where it stopped, in words that both take."""
    problem, mark = getattr(error, "problem", ""), getattr(error, "problem_mark", None)
    if mark is None:
        return None
    here = mark.index
    if problem == "found unknown escape character" and text.startswith("\\'", here):
        return text[:here] + text[here + 1 :]
    if problem == "found unexpected ':'" and text[here + 1 : here + 2] in ("]", "}", ","):  # the colon is part of it
        begin = error.context_mark.index
        plain = text[begin : here + 1].replace("'", "''")
        return f"{text[:begin]}'{plain}'{text[here + 1 :]}"
    return None


def _parser(data: bytes) -> Any:
    try:
        from yaml._yaml import CParser
    except ImportError:  # no libyaml here: the same events, slowly
        import yaml

        return yaml.Loader(data)
    return CParser(data)


def _told(error: Any, document: int, line: int) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"document {document}, line {line + mark.line}" if mark else f"document {document}"
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return f"{where}: this is not YAML: {problem}"


class _Building:
    def __init__(self, dialect: Dialect, text: str) -> None:
        self.line = 0  # where we are, for messages
        self._dialect = dialect
        self._text = text if _STRANGE.search(text) else ""
        self._anchors = Anchors()
        self._values: dict[str, Any] = {}
        self._keys: dict[str, str] = {}

    def run(self, parser: Any) -> Any:
        """The value of the first document."""
        import yaml

        starts = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
        open_: list[Unfinished] = []
        result: Any = None
        while True:
            event = parser.get_event()
            kind = event.__class__
            if kind is yaml.ScalarEvent:
                value = self._scalar(event, open_[-1] if open_ else None)
                self._anchors.nodes += 1
                if event.anchor is not None:
                    self._anchors.scalar(event.anchor, event)
            elif kind in starts:
                self._check_tag(event, open_[-1] if open_ else None)
                self._begin(event, open_, is_map=kind is yaml.MappingStartEvent)
                continue
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self.line = event.start_mark.line
                value = self._end(open_)
            elif kind is yaml.AliasEvent:
                value = self._alias(event, open_)
            elif kind is yaml.DocumentStartEvent or kind is yaml.StreamStartEvent:
                self._check_version(event)
                continue
            else:  # the document's end, or the stream's where there is none
                return result
            if open_:
                open_[-1].items.append(value)
            else:
                result = value

    def _check_version(self, event: Any) -> None:
        if getattr(event, "version", None) not in (None, (1, 1)):
            raise Refused("the directive %YAML asks for another version than 1.1: leave it out")

    def _scalar(self, event: Any, around: Unfinished | None) -> Any:
        is_key = around is not None and around.wants_key
        text: str = event.value
        if self._text:
            self._check_tag(event, around)
            self._check(event, in_flow=around is not None and around.in_flow)
        if event.implicit[0]:
            if self._text and self._is_marked(event) and not (is_key and text == "<<"):
                return text
            known: dict[str, Any] = self._keys if is_key else self._values
            if text in known:
                return known[text]
            self.line = event.start_mark.line
            if is_key and text == "<<":
                return _MERGE_HERE
            value = known[text] = self._meant(self._dialect.plain(text)[1], is_key)
            return value
        if event.tag is None:
            return text
        self.line = event.start_mark.line
        if is_key and text == "<<" and event.tag == MERGE:
            return _MERGE_HERE
        return self._meant(self._dialect.tagged(event.tag, text), is_key)

    def _meant(self, raw: Any, is_key: bool) -> Any:
        return self._dialect.as_key(raw) if is_key else self._dialect.as_value(raw)

    def _check(self, event: Any, *, in_flow: bool) -> None:
        """Refuse what this libyaml takes and upstream's does not."""
        if in_flow and not event.style and "?" in event.value[1:]:
            self.line = event.start_mark.line
            raise Refused(f"{event.value!r} has a question mark between brackets or braces: put it in quotes")
        if event.style == '"' and _SLASH.search(self._text, event.start_mark.index, event.end_mark.index):
            self.line = event.start_mark.line
            raise Refused("\\/ is not an escape in YAML: write / alone")

    def _check_tag(self, event: Any, around: Unfinished | None) -> None:
        """Upstream's tags end only at a space; libyaml's, between brackets, also at a comma or bracket."""
        if (
            self._text
            and around is not None
            and around.in_flow
            and _TAG_GOES_ON.match(self._text, event.start_mark.index)
        ):
            self.line = event.start_mark.line
            raise Refused("between brackets or braces a space must follow a tag")

    def _is_marked(self, event: Any) -> bool:
        """Whether a lone ``!`` stands in front, which libyaml swallows. It makes text of everything."""
        if event.style:
            return True
        return _MARKED.match(self._text, event.start_mark.index, event.end_mark.index) is not None

    def _begin(self, event: Any, open_: list[Unfinished], *, is_map: bool) -> None:
        self.line = event.start_mark.line
        if len(open_) >= DEEPEST:
            raise Refused(f"nested deeper than {DEEPEST} levels")
        if open_ and open_[-1].wants_key:
            raise Refused("a key must be text or a number, not a list or mapping")
        one = Unfinished(is_map, bool(event.flow_style), event.anchor, self._anchors.nodes, [])
        self._anchors.nodes += 1
        self._anchors.begun(one)
        open_.append(one)

    def _end(self, open_: list[Unfinished]) -> Any:
        one = open_.pop()
        value = self._mapping(one.items) if one.is_map else one.items
        self._anchors.ended(one, value)
        if open_:
            open_[-1].height = max(open_[-1].height, one.height + 1)
        return value

    def _alias(self, event: Any, open_: list[Unfinished]) -> Any:
        self.line = event.start_mark.line
        named = self._anchors.called(event.anchor)
        around = open_[-1] if open_ else None
        if named.is_scalar:
            value = self._scalar(named.value, around)
            return "<<" if value is _MERGE_HERE else value
        if around is not None and around.wants_key:
            raise Refused("a key must be text or a number, not a list or mapping")
        if len(open_) + named.height > DEEPEST:
            raise Refused(f"nested deeper than {DEEPEST} levels")
        if around is not None:
            around.height = max(around.height, named.height)
            if around.is_map and around.items[-1] is _MERGE_HERE and not isinstance(named.value, dict):
                raise Refused("<< takes a mapping, or a list of mappings")
        return copied(named.value)

    def _mapping(self, items: list[Any]) -> dict[str, Any]:
        keys, values = items[::2], items[1::2]
        own = [key for key in keys if key is not _MERGE_HERE]
        if not self._dialect.may_repeat and len(set(own)) != len(own):
            twice = next(key for key in own if own.count(key) > 1)
            raise Refused(f"the key {twice!r} comes twice")
        if len(own) == len(keys):
            return dict(zip(keys, values, strict=True))
        found: dict[str, Any] = {}
        for key, value in zip(keys, values, strict=True):
            found.update(_merged(value) if key is _MERGE_HERE else {key: value})
        if self._dialect.own_keys_win:
            found.update((key, value) for key, value in zip(keys, values, strict=True) if key is not _MERGE_HERE)
        return found


def _merged(value: Any) -> dict[str, Any]:
    """What ``<<`` brings: one mapping, or several of which the first wins."""
    found: dict[str, Any] = {}
    for one in reversed(value if isinstance(value, list) else [value]):
        if not isinstance(one, dict):
            raise Refused("<< takes a mapping, or a list of mappings")
        found.update(one)
    return found
