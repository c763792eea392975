"""A provider to begin with: a package that works, with a test that proves it, for an author to change.

``templates/`` holds its files; ``$name``, ``$package`` and ``$Name`` in them stand for what the author calls it.
"""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from mooring import __version__

LONGEST: Final = 40
_NAME: Final = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")

_FILES: Final = {
    "pyproject.toml": "pyproject.toml",
    "readme.md": "README.md",
    "gitignore": ".gitignore",
    "provider.py": "src/$package/__init__.py",
    "main.py": "src/$package/__main__.py",
    "test.py": "tests/test_$package.py",
}


class SkeletonRefused(Exception):
    """Nothing was written; the message says why, and what would be right."""


def write_skeleton(name: str, into: Path) -> Path:
    """Write a provider called ``name`` into a new directory of that name; gives the directory."""
    if len(name) > LONGEST or _NAME.fullmatch(name) is None:
        raise SkeletonRefused(
            f"{name!r} cannot be the name of a provider: use up to {LONGEST} lower-case letters, digits and inner "
            f"hyphens, and begin with a letter."
        )
    package = f"{name.replace('-', '_')}_provider"
    directory = into / f"{name}-provider"
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        raise SkeletonRefused(f"{directory} is there already; choose another name, or another place.") from None
    words = {
        "name": name,
        "package": package,
        "Name": "".join(part.capitalize() for part in name.split("-")),
        "plural": f"{name.replace('-', '')}configs",
        "version": __version__,
    }
    for template, target in _FILES.items():
        file = directory / Template(target).substitute(words)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_template(template).substitute(words), encoding="utf-8")
    return directory


def _template(name: str) -> Template:
    return Template(resources.files(__package__).joinpath("templates", f"{name}.txt").read_text(encoding="utf-8"))
