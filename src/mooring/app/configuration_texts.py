"""The texts of a configuration: found in files and directories, and read as YAML without trusting its size.

A text of a few lines can stand for gigabytes, by aliases of aliases, or for a nesting that no parser survives. So both
are measured on the flat stream of events before anything is built.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LARGEST = 1024 * 1024  # bytes of one text
_DEEPEST = 64
_MOST_NODES = 200_000
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BadText(ValueError):
    """A text that cannot be read; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of configuration, and how people know it: a file's path, say."""

    origin: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in a source at one moment, in order, and what could not be read."""

    texts: tuple[Text, ...] = ()
    problems: tuple[str, ...] = ()


def read_texts(paths: Sequence[Path]) -> Reading:
    """The contents of files, and of all files in directories."""
    texts: list[Text] = []
    problems: list[str] = []
    for path in paths:
        try:
            for file in _files(path):
                texts.append(_read(file))  # noqa: PERF401 - those before the fault are kept
        except OSError as error:
            problems.append(f"{error.filename or path} cannot be read: {error.strerror or error}")
        except BadText as error:
            problems.append(str(error))
    return Reading(tuple(texts), tuple(problems))


def _files(path: Path) -> Iterator[Path]:
    """The file itself, or what a directory holds: by name, each directory where its name stands among the others."""
    if not path.is_dir():
        yield path
        return
    with os.scandir(path) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        # In a mounted ConfigMap these hold every file a second time; its own files are links to them.
        if entry.name.startswith(".."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        elif Path(entry.name).suffix in _SUFFIXES and not entry.is_dir():
            yield Path(entry.path)


def _read(path: Path) -> Text:
    # Opening a pipe would wait for somebody to write to it.
    if not stat.S_ISREG(path.stat().st_mode):
        raise BadText(f"{path} is not a regular file")
    with path.open("rb") as file:
        return Text(str(path), file.read(LARGEST + 1))


def documents_of(text: Text) -> list[Mapping[str, Any]]:
    """The documents in a text; empty ones are left out."""
    if len(text.content) > LARGEST:
        raise BadText(f"{text.origin} is larger than {LARGEST} bytes, too large for a configuration")
    try:
        content = text.content.decode("utf-8-sig")
        _measure(content, text.origin)
        found = list(yaml.load_all(content, _Loader))
    except BadText:
        raise
    except UnicodeDecodeError as error:
        raise BadText(f"{text.origin} is not UTF-8 text: byte {error.start} cannot be read") from None
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise BadText(f"{text.origin} is not YAML{line}: {error.problem}") from None
    except Exception as error:
        # The loader builds numbers and dates, and raises whatever their constructors raise.
        raise BadText(f"{text.origin} is not YAML that can be read ({type(error).__name__})") from None
    for number, document in enumerate(found, start=1):
        if not isinstance(document, dict | None):
            raise BadText(f"{text.origin} is not a map of fields (in document {number})")
    return [document for document in found if document]


def _measure(content: str, origin: str) -> None:
    """Refuse what is nested too deep, or would be too large with every alias written out."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(content, _Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            sizes.clear()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise BadText(f"{origin} has an alias *{event.anchor} to nothing before it, or to what it is in")
            total += sizes[event.anchor]
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.NodeEvent):
            total += 1
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event.anchor, total - 1))
            elif event.anchor:
                sizes[event.anchor] = 1
        if len(open_nodes) > _DEEPEST:
            raise BadText(f"{origin} is nested deeper than {_DEEPEST} levels")
        if total > _MOST_NODES:
            raise BadText(f"{origin} stands for more than {_MOST_NODES} values, too many for a configuration")
