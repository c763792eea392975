"""A stream cut into documents, as upstream does before any parser sees it: at each line that begins with ``---``.

Such a line holds nothing but a comment, not even in a block of text. What stands behind ``...`` in a document is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mooring.clusterctl.yamls.reading import YamlError

_SEPARATOR: Final = re.compile(r"^---([^\n]*)(?:\n|\Z)", re.MULTILINE)


def split(text: str) -> Iterator[tuple[str, int]]:
    """Each document with the number of the line on which it begins."""
    text = text.replace("\r\n", "\n")
    if text and not text.endswith("\n"):
        text += "\n"  # a block of text at the end keeps it
    begin = line = 0  # of the document that is being read
    for found in _SEPARATOR.finditer(text):
        here = line + text.count("\n", begin, found.start())
        rest = found[1].strip()
        if rest and not rest.startswith("#"):
            raise YamlError(
                f"line {here + 1}: only a comment may follow ---, found {rest!r:.60}: put it on its own line"
            )
        if found.start() > begin:  # a marker at the very beginning stays with its document
            yield text[begin : found.start()], line + 1
            begin, line = found.end(), here + 1
    if begin < len(text):
        yield text[begin:], line + 1
