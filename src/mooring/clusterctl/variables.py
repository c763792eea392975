"""The variables of a template or of components: which there are, and the text with their values in place.

The grammar is `mooring.clusterctl.envsubst`'s. Before it, ``${ NAME }``, ``${ NAME}`` and ``${NAME }`` lose their
spaces, as they always have in clusterctl. Values come from `mooring.clusterctl.config`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mooring.clusterctl.envsubst import Template, parse
from mooring.clusterctl.errors import MissingVariables

# White space is what Go's regular expressions take for it: no vertical tab, and nothing beyond ASCII.
_SPACED: Final = re.compile(r"\$\{(?:[\t\n\f\r ]++([A-Za-z0-9_$]++)[\t\n\f\r ]*+|([A-Za-z0-9_$]++)[\t\n\f\r ]++)\}")


def inspect(text: str) -> dict[str, str | None]:
    """The variables, sorted by name, each with its default; None if it has none and so needs a value.

    Only outermost variables are told, and the first occurrence of each decides. Whatever follows an operator counts as
    a default, so ``${V#x}`` needs no value, and ``${V:=}`` does: that is how clusterctl sees it.
    """
    return {name: default or None for name, default in sorted(_read(text).defaults().items())}


def process(text: str, lookup: Callable[[str], str | None]) -> str:
    """The text with values in place of variables. None is a variable that nobody has set; an empty value is a value.

    MissingVariables names all that are not set and have no default; BadSubstitution what cannot be read.
    """
    template = _read(text)
    values: dict[str, str | None] = {}

    def looked_up(name: str) -> str | None:
        if name not in values:
            values[name] = lookup(name)
        return values[name]

    missing = [name for name, default in template.defaults().items() if not default and looked_up(name) is None]
    if missing:
        raise MissingVariables(missing)
    return template.expand(lambda name: looked_up(name) or "")


def _read(text: str) -> Template:
    return parse(_SPACED.sub(lambda found: f"${{{found[1] or found[2]}}}", text))
