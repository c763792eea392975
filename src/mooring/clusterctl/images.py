"""References to container images: how they are taken apart, and replaced as the configuration says.

The grammar is the one of the registries' own library. Upstream refuses every image that does not name its registry and
repository in full (``nginx:1`` rather than ``docker.io/library/nginx:1``); here such an image passes untouched as long
as no override is meant for it. What is no reference at all is refused in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from mooring.clusterctl.errors import ClusterctlError

_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PATH: Final = rf"{_PART}(?:/{_PART})*"
_LABEL: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_REFERENCE: Final = re.compile(
    rf"(?P<host>{_HOST})/(?P<path>{_PATH})(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?"
    r"(?:@(?P<digest>(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})))?"
)
_LONGEST_PATH: Final = 255
_HUB, _HUB_OF_OLD, _OFFICIAL = "docker.io", "index.docker.io", "library/"
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")  # of an image, which no registry knows by it


class BadImage(ClusterctlError):
    """A reference that cannot be taken apart."""


class NotInFull(BadImage):
    """A reference that leaves out its registry or repository."""


@dataclass(frozen=True, slots=True)
class Image:
    """``repository/name[:tag][@digest]``; the repository is the registry with all of the path but its last part."""

    repository: str
    name: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Image:
        full = _in_full(text)
        match = _REFERENCE.fullmatch(full)
        if match is None or len(match["path"]) > _LONGEST_PATH or _IDENTIFIER.fullmatch(text):
            raise BadImage(
                f"cannot read the image {text!r}: write it as registry/repository/name[:tag][@digest] in lower case, "
                f"for example docker.io/library/nginx:1.29"
            )
        if full != text:
            raise NotInFull(f"the image {text!r} does not name its registry and repository in full: write {full}")
        repository, _, name = f"{match['host']}/{match['path']}".rpartition("/")
        return cls(repository, name, match["tag"] or "", match["digest"] or "")

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.repository}/{self.name}{tag}{digest}"


def _in_full(text: str) -> str:
    """The reference with what is left out where an image is on Docker Hub: the registry, and ``library``."""
    first, slash, rest = text.partition("/")
    if not slash or not (first in ("localhost", _HUB_OF_OLD) or re.search("[.:A-Z]", first)):
        first, rest = _HUB, text
    if first in (_HUB, _HUB_OF_OLD):
        first, rest = _HUB, rest if "/" in rest else f"{_OFFICIAL}{rest}"
    return f"{first}/{rest}"


@dataclass(frozen=True, slots=True)
class Override:
    """What the configuration says about some images; empty: leave it."""

    repository: str = ""
    name: str = ""
    tag: str = ""

    def under(self, other: Override) -> Override:
        """Both; where both say something, the other counts."""
        return Override(other.repository or self.repository, other.name or self.name, other.tag or self.tag)

    def applied(self, image: Image) -> Image:
        return replace(
            image,
            repository=self.repository.removesuffix("/") or image.repository,
            name=self.name or image.name,
            tag=self.tag or image.tag,
        )


@dataclass(frozen=True, slots=True)
class ImageOverrides:
    """``images`` of the configuration: by ``all``, by component, and by component and name of the image."""

    overrides: Mapping[str, Override]

    def replaced(self, component: str, image: str) -> str:
        """The image to use instead; the same if the configuration has nothing for it."""
        general = Override().under(self._of("all")).under(self._of(component))
        try:
            parsed = Image.parse(image)
        except NotInFull:
            if general == Override() and self._of(f"{component}/{_last_name(image)}") == Override():
                return image
            raise
        override = general.under(self._of(f"{component}/{parsed.name}"))
        return image if override == Override() else str(override.applied(parsed))

    def _of(self, key: str) -> Override:
        return self.overrides.get(key, Override())


def _last_name(image: str) -> str:
    """What is most likely the name in a reference that is not one in full."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
