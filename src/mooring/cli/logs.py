"""Log files of a landscape: their last lines, and what follows."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import typer

_LOOK_AGAIN = 0.25


def log_files(directory: Path, component: str | None) -> dict[str, Path]:
    """Log files by what they are called: the component, behind its cluster's id where there are several.

    The programs of a provider are behind its name, and are meant by it.
    """
    patterns = ("*.log", "etcd/*.log", "clusters/*/*.log", "providers/*/*.log")
    found = sorted(path for pattern in patterns for path in directory.glob(pattern))
    several = len({path.parent for path in found if path.parent.parent.name == "clusters"}) > 1
    files = {}
    for path in found:
        of_provider = path.parent.parent.name == "providers"
        if component in (None, path.stem) or (of_provider and component == path.parent.name):
            in_cluster = several and path.parent.parent.name == "clusters"
            files[f"{path.parent.name}/{path.stem}" if in_cluster or of_provider else path.stem] = path
    return files


def show(files: Mapping[str, Path], *, lines: int, follow: bool) -> None:
    """Print the end of each file; then, if wanted, whatever comes, until Ctrl-C."""
    with contextlib.ExitStack() as stack:
        opened = {name: stack.enter_context(path.open("rb")) for name, path in files.items()}
        width = max(map(len, opened)) if len(opened) > 1 else 0
        for name, file in opened.items():
            for line in deque(file, maxlen=lines):
                _print(name, line, width)
        with contextlib.suppress(KeyboardInterrupt):
            while follow:
                news = [_print_new(name, file, width) for name, file in opened.items()]
                if not any(news):
                    for name in (name for name, file in opened.items() if _was_replaced(files[name], file)):
                        opened[name] = stack.enter_context(files[name].open("rb"))
                    time.sleep(_LOOK_AGAIN)


def _was_replaced(path: Path, file: BinaryIO) -> bool:
    """Whether there is another file by now: a long log is set aside when its component is restarted."""
    try:
        return not os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _print_new(name: str, file: BinaryIO, width: int) -> bool:
    start = file.tell()
    line = file.readline()
    if not line.endswith(b"\n"):
        file.seek(start)  # the rest of the line is still to come
        return False
    _print(name, line, width)
    return True


def _print(name: str, line: bytes, width: int) -> None:
    text = line.decode(errors="replace").rstrip("\n")
    typer.echo(f"{name.ljust(width)} | {text}" if width else text)
