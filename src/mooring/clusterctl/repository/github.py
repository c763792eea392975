"""Repositories on GitHub: ``https://github.com/{owner}/{repository}/releases/{latest|tag}/{components.yaml}``.

Versions are asked of the Go module proxy that GOPROXY names, and files are downloaded plainly first, because neither
counts against GitHub's rate limit; the API is what remains if that does not answer, or if GOPROXY is ``off`` or
``direct``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

import msgspec

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.providers import Provider
from mooring.clusterctl.repository.addresses import Address, wrong_address
from mooring.clusterctl.repository.goproxy import GoProxy
from mooring.clusterctl.repository.http import Answer, Fetcher, Unreachable, quoted
from mooring.clusterctl.repository.source import NoSuchRelease, checked_name, checked_version, listed
from mooring.clusterctl.semver import Version

GITHUB: Final = "https://github.com"
GITHUB_API: Final = "https://api.github.com"

_FORM: Final = "https://github.com/{owner}/{repository}/releases/{latest|tag}/{components.yaml}"
_PAGES: Final = 100
_T = TypeVar("_T")


class _Asset(msgspec.Struct, frozen=True):
    id: int
    name: str


class _Release(msgspec.Struct, frozen=True):
    tag_name: str | None = None
    assets: list[_Asset] | None = None


class RateLimited(ClusterctlError):
    """The API answers no more for a while."""


@dataclass(frozen=True, slots=True)
class GitHubServer:
    """github.com, or an Enterprise server of one's own, and how we may speak to it."""

    url: str
    api: str
    token: str
    go_proxy: GoProxy | None
    plainly: bool  # files may be downloaded as a browser would


class GitHubSource:
    """Releases of one repository."""

    versions_as_written = False

    def __init__(self, provider: Provider, address: Address, server: GitHubServer, fetcher: Fetcher) -> None:
        steps = address.path.removeprefix("/").split("/")
        if len(steps) < 5 or steps[2] != "releases" or not all(steps):
            raise wrong_address(provider.url, f"on GitHub it must be in the form {_FORM}")
        self.components_name = steps[-1]
        self.version_in_address = steps[3]
        self._module = f"{address.host}/{steps[0]}/{steps[1]}"
        self._repository = f"{steps[0]}/{steps[1]}"
        self._path = f"{quoted(steps[0])}/{quoted(steps[1])}"
        self._server = server
        self._fetcher = fetcher

    async def keeps_latest(self) -> bool:
        return False

    async def versions(self) -> list[str]:
        if self._server.go_proxy is not None:
            versions = await self._server.go_proxy.versions(self._module, self._fetcher)
            if versions:
                return versions
        return await self._released_versions()

    async def file(self, version: str, name: str) -> bytes:
        checked_version(version), checked_name(name)
        if self._server.plainly and (content := await self._downloaded(version, name)) is not None:
            return content
        release = await self._release(version)
        assets = {asset.name: asset.id for asset in release.assets or []}
        if name not in assets:
            raise NotHere(
                f"release {version} of {self._repository} has no file {name}: its assets are {listed(assets)}"
            )
        path = f"releases/assets/{assets[name]}"
        return (await self._asked(path, what=f"{name} of {version}", accept="application/octet-stream")).body

    async def _downloaded(self, version: str, name: str) -> bytes | None:
        """The file as a browser gets it, or None: then the API may know more."""
        address = f"{self._server.url}/{self._path}/releases/download/{quoted(version)}/{quoted(name)}"
        try:
            answer = await self._fetcher.get(address)
        except Unreachable:
            return None
        return answer.body if answer.status == 200 else None

    async def _release(self, version: str) -> _Release:
        try:
            answer = await self._asked(f"releases/tags/{quoted(version)}", what=f"the release {version}")
        except NotHere:
            there = listed(await self.versions())
            raise NoSuchRelease(
                f"{self._repository} has no release {version} (there is {there}): if it was tagged just now, try again "
                f"later, or set GOPROXY=off to count only what is released"
            ) from None
        return _decoded(answer, _Release)

    async def _released_versions(self) -> list[str]:
        tags: list[str] = []
        for page in range(1, _PAGES + 1):
            answer = await self._asked(f"releases?per_page=100&page={page}", what="the list of releases")
            tags += [release.tag_name or "" for release in _decoded(answer, list[_Release])]
            if 'rel="next"' not in answer.headers.get("link", ""):
                break
        return [tag for tag in tags if Version.read(tag) is not None]

    async def _asked(self, path: str, *, what: str, accept: str = "application/vnd.github+json") -> Answer:
        """What the API says, or an error about ``what`` with the remedy."""
        token = self._server.token
        headers = {"Accept": accept} | ({"Authorization": f"Bearer {token}"} if token else {})
        answer = await self._fetcher.get(f"{self._server.api}/repos/{self._path}/{path}", headers)
        if answer.status == 200:
            return answer
        raise _refusal(answer, what=f"{what} of {self._repository}", has_token=bool(token))


def _refusal(answer: Answer, *, what: str, has_token: bool) -> ClusterctlError:
    if answer.status == 404:
        hint = "" if has_token else "; if the repository is private, set GITHUB_TOKEN"
        return NotHere(f"GitHub does not have {what} ({answer.address} answers 404){hint}")
    if answer.status == 401:
        return ClusterctlError(f"GitHub refuses the token in GITHUB_TOKEN for {what}: renew it, or unset it")
    if answer.status in (403, 429) and _is_rate_limit(answer):
        return RateLimited(_rate_limit_told(answer, what=what, has_token=has_token))
    return ClusterctlError(f"GitHub does not give {what}: {answer.address} answers {answer.status}")


def _is_rate_limit(answer: Answer) -> bool:
    left, wait = answer.headers.get("x-ratelimit-remaining"), answer.headers.get("retry-after")
    return answer.status == 429 or left == "0" or wait is not None or b"rate limit" in answer.body.lower()


def _rate_limit_told(answer: Answer, *, what: str, has_token: bool) -> str:
    until = "for up to an hour"
    if (reset := answer.headers.get("x-ratelimit-reset", "")).isdecimal() and len(reset) <= 11:
        until = f"until {datetime.fromtimestamp(int(reset), UTC):%H:%M} UTC"
    elif (wait := answer.headers.get("retry-after", "")).isdecimal():
        until = f"for {wait} seconds"
    remedy = (
        "wait, or use a token of another account"
        if has_token
        else "set GITHUB_TOKEN to a token (any will do: it allows 5,000 calls an hour instead of 60), or wait"
    )
    return (
        f"GitHub's rate limit is used up, so that {what} cannot be had {until}: {remedy}; or name a Go module proxy in "
        f"GOPROXY, so that versions come from there; or name a version in the provider's url; or keep a "
        f"local repository"
    )


def _decoded(answer: Answer, type_: type[_T]) -> _T:
    try:
        return msgspec.json.decode(answer.body, type=type_)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ClusterctlError(
            f"{answer.address} did not answer as GitHub does ({error}): is there a login page in between?"
        ) from None
