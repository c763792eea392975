"""Versions through a Go module proxy: it lists the tags of every repository on GitHub, and limits nobody.

Only one that GOPROXY names is asked: what somebody installs is nobody else's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mooring.clusterctl.repository.addresses import is_loopback
from mooring.clusterctl.repository.http import Fetcher, Unreachable
from mooring.clusterctl.semver import Version

_MAJORS: Final = 100


@dataclass(frozen=True, slots=True)
class GoProxy:
    """A proxy that the user has named."""

    url: str

    async def versions(self, module: str, fetcher: Fetcher) -> list[str]:
        """All versions of a module, oldest first; nothing if the proxy cannot tell."""
        found: set[Version] = set()
        for major in range(1, _MAJORS):
            suffix = f"/v{major}" if major > 1 else ""
            try:
                answer = await fetcher.get(f"{self.url}/{_escaped(module)}{suffix}/@v/list")
            except Unreachable:
                return []
            if answer.status in (404, 410):
                break
            if answer.status != 200:
                return []
            found |= _listed(answer.body.decode(errors="replace"))
        return [version.tag for version in sorted(found)]


def chosen_proxy(goproxy: str) -> GoProxy | None:
    """The first proxy that the variable GOPROXY names; None for ``off`` and ``direct``, and if it names none."""
    for word in goproxy.replace("|", ",").split(","):
        word = word.strip()
        if word in ("off", "direct"):
            return None
        if word:
            url = word if "://" in word else f"https://{word}"
            scheme, _, host = url.partition("://")
            host = host.partition("/")[0]
            usable = scheme == "https" or (scheme == "http" and is_loopback(host))
            return GoProxy(url.rstrip("/")) if usable and host else None
    return None


def _listed(text: str) -> set[Version]:
    """The proxy marks tags beyond v1 without a go.mod as +incompatible; the release is not called that."""
    names = (line.strip().removesuffix("+incompatible") for line in text.splitlines())
    return {version for name in names if (version := Version.read(name)) is not None}


def _escaped(module: str) -> str:
    """Module paths are written with capitals as ``!`` and the small letter."""
    return "".join(f"!{letter.lower()}" if letter.isupper() else letter for letter in module)
