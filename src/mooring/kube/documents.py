"""YAML text to plain data, safely: whatever the text is, the answer is data or a `ConfigError`, and soon.

Two things in YAML make small texts dangerous. Nesting makes parsers recurse, so depth is measured on the flat
stream of events before anything is built. Aliases let a text grow by powers when it is unfolded: merge keys
are refused altogether, and in text of strangers so is every alias.
"""

from __future__ import annotations

from typing import Any

import yaml

from mooring.kube.errors import ConfigError

_DEEPEST = 32
_LARGEST = 4 * 1024 * 1024
_LARGEST_OF_STRANGERS = 1024 * 1024

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def yaml_document(text: str | bytes, *, file: str | None = None, stranger: bool = False) -> object:
    """The one document that `text` holds; None for an empty text."""
    if len(text) > (_LARGEST_OF_STRANGERS if stranger else _LARGEST):
        raise ConfigError(f"this is too large to be a kubeconfig ({len(text)} bytes)", file=file)
    try:
        _measure(text, file=file, stranger=stranger)
        return yaml.load(text, _Loader)  # noqa: S506 - the safe loader, in its C form
    except ConfigError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" in line {mark.line + 1}" if mark is not None else ""
        raise ConfigError(f"this is not YAML{place}: {error.problem}", file=file) from None
    except Exception as error:
        # The loader builds numbers, dates and tagged values, and raises whatever their constructors raise.
        raise ConfigError(f"this is not YAML that can be read ({type(error).__name__})", file=file) from None


def _measure(text: str | bytes, *, file: str | None, stranger: bool) -> None:
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise ConfigError(f"this is nested deeper than {_DEEPEST} levels", file=file)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent) and stranger:
            raise ConfigError("YAML aliases are refused here", file=file, field=f"*{event.anchor}")
        elif isinstance(event, yaml.ScalarEvent) and _merges(event):
            raise ConfigError("YAML merge keys are refused", file=file, field="<<")


def _merges(event: yaml.ScalarEvent) -> bool:
    # The C parser tells a plain scalar by an empty style, the Python one by none.
    return (event.value == "<<" and not event.style) or event.tag == "tag:yaml.org,2002:merge"
