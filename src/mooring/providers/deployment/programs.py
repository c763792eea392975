"""Which program a provider is on this machine. What may run here is decided by who owns the machine, not by an object.

``spec.image`` gives a name and nothing else. A program of that name is looked for among the providers of installed
packages, and then among the executables in the directories that ``MOORING_PROVIDERS`` lists. So whoever may write
objects on the platform chooses among programs that are here already, and can neither bring one nor name a path.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from mooring import __version__
from mooring.api.providers import ProviderRights
from mooring.api.texts import printable
from mooring.providers.deployment.contract import Unfit
from mooring.providers.deployment.declaring import declared_rights
from mooring.providers.registry import GROUP, BrokenProvider, NoSuchProvider, known_providers, provider_class

VARIABLE: Final = "MOORING_PROVIDERS"

_PREFIX: Final = "cluster-provider-"  # that images of providers have in front of the provider's name
_LONGEST_TOLD: Final = 200

_COMPONENT = r"[a-z0-9][a-z0-9._-]*"
_IMAGE = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9._-]*(?::[0-9]+)?/)?"  # a registry
    rf"(?:{_COMPONENT}/)*"
    r"(?P<name>[a-z0-9][a-z0-9.-]*)"
    r"(?::[A-Za-z0-9_][A-Za-z0-9._-]*)?"  # a tag
    r"(?:@[a-z0-9+._-]+:[0-9a-f]+)?"  # a digest
)
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")

# Variables that change what a program is, and not only what it does: the loader's, and those by which an interpreter
# takes in code, or runs another program. And those that say whose machine it is, and who is who.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_OURS = re.compile(
    r"(LD_|DYLD_|PYTHON|BASH|PERL|RUBY|NODE_|JAVA_|JDK_|_JAVA|LUA_|GIT_|GCONV_|GLIBC_|MALLOC_|OPENSSL_|SSLKEYLOG"
    r"|MOORING_|XDG_).*"
    r"|ENV|IFS|PATH|HOME|SHELL|SHELLOPTS|PS4|BROWSER|PAGER|EDITOR|VISUAL|TMPDIR|CDPATH|PROMPT_COMMAND|KUBECONFIG",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A program that is here."""

    name: str
    executable: Path
    words: tuple[str, ...] = ()  # before those of the contract
    version: str  # another one, and the provider is initialised and started again
    speaks_ours: bool = False  # it is made with our SDK


def named_by(image: str) -> str:
    """The name of the program that an image stands for: without registry, path, prefix, tag and digest."""
    fits = _IMAGE.fullmatch(image)
    name = fits["name"].removeprefix(_PREFIX) if fits is not None else ""
    if not _NAME.fullmatch(name):
        raise Unfit(
            f"The image {_told(image)} does not name a provider. On an embedded landscape its last part is the name of "
            f"a program: lower-case letters, digits, inner '-' and '.', such as mooring/external.",
            reason="BadImage",
        )
    return name


def program_for(image: str) -> Found:
    """The program for an image. Unfit: there is none; the message says what was looked for, where, and what to do."""
    name = named_by(image)
    if name in known_providers():
        return Found(
            name=name,
            executable=Path(sys.executable),
            words=("-P", "-m", "mooring.providers", name),  # -P: no code is taken from wherever we were started
            version=_package_version(name),
            speaks_ours=True,
        )
    for path in _candidates(name):
        if (version := _file_version(path)) is not None:
            return Found(name=name, executable=path, version=version)
    raise Unfit(_nothing(image, name), reason="ProgramNotFound")


def rights_declared_by(found: Found) -> ProviderRights | None:
    """What the program says it needs; None if it does not say. Unfit: it is here, and cannot be used."""
    if not found.speaks_ours:
        return None
    try:
        return declared_rights(provider_class(found.name))
    except (NoSuchProvider, BrokenProvider) as error:
        raise Unfit(str(error), reason="ProgramBroken") from error


def allowed(variables: Mapping[str, str]) -> Mapping[str, str]:
    """The variables that an object sets, if it may."""
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            raise Unfit(
                f"spec.env: {_told(name)} or its value cannot be in the environment of a process.",
                reason="BadEnvironmentVariable",
            )
        if _OURS.fullmatch(name):
            raise Unfit(
                f"spec.env: {_told(name)} is not for an object to set on an embedded landscape: it can change which "
                f"program runs on this machine, or as whom. Remove it; or have a program in a directory of {VARIABLE} "
                f"that sets it.",
                reason="EnvironmentVariableNotAllowed",
            )
    return variables


# -- where programs are ------------------------------------------------------------------------------------------------


def _directories() -> list[Path]:
    """What the owner allows. A path that is not absolute would mean another place after another start: left out."""
    listed = map(Path, filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)))
    return [path for path in listed if path.is_absolute()]


def _candidates(name: str) -> Iterator[Path]:
    for directory in _directories():
        yield directory / name
        yield directory / f"{_PREFIX}{name}"


def _file_version(path: Path) -> str | None:
    """What tells this executable from another one; None if it is none, or a link that leads out of its directory."""
    try:
        real, seen = path.resolve(strict=True), path.stat()
        if real.parent != path.parent.resolve(strict=True) or not real.is_file() or not os.access(real, os.X_OK):
            return None
    except (OSError, RuntimeError):  # a link that leads to itself
        return None
    return f"{seen.st_dev}:{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}"


def _package_version(name: str) -> str:
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    own = next((f"{point.value} {point.dist.version}" for point in points if point.dist is not None), "")
    return f"{own} mooring {__version__}"


def _nothing(image: str, name: str) -> str:
    known, directories = ", ".join(known_providers()) or "none", ", ".join(map(str, _directories()))
    places = f"in {directories} ({VARIABLE})" if directories else f"nowhere else, because {VARIABLE} names no directory"
    return (
        f"There is no program for the image {_told(image)} on this machine. A provider {name!r} was looked for among "
        f"installed packages, which have: {known}; and an executable {name} or {_PREFIX}{name} {places}. Install its "
        f"package beside mooring, or put its program into a directory that {VARIABLE} lists when 'mooring up' starts."
    )


def _told(text: str) -> str:
    short = text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}…"
    return f"'{printable(short)}'"
