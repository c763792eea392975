"""Words that somebody else brings: ``mooring clusterctl word`` runs ``clusterctl-word``, as clusterctl does."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import NoReturn


def plugin_of(argv: Sequence[str], path: str | None = None) -> tuple[str, Sequence[str]] | None:
    """The program on the PATH that the first words name, the more of them the better, and what is left for it."""
    words = [word.replace("-", "_") for word in takewhile(lambda word: not word.startswith("-"), argv)]
    for count in range(len(words), 0, -1):
        if program := shutil.which("-".join(["clusterctl", *words[:count]]), path=path):
            return program, argv[count:]
    return None


def become(program: str, argv: Sequence[str]) -> NoReturn:
    """Be that program from here on: its streams, its signals and its exit code are ours."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, *argv])  # noqa: S606 - a list, and no shell
