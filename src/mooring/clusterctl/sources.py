"""Where a template can be beside a provider's repository: standard input, a file, https, GitHub, a ConfigMap."""

from __future__ import annotations

import base64
import json
from typing import IO, TYPE_CHECKING, Final, TextIO

from mooring.clusterctl.envsubst.runes import to_bytes, to_text
from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.objects import at
from mooring.clusterctl.repository.addresses import Address, read_address
from mooring.clusterctl.repository.source import SIZE_LIMIT

if TYPE_CHECKING:
    from mooring.clusterctl.config import Configuration
    from mooring.clusterctl.repository.http import Answer
    from mooring.kube import Client

STDIN: Final = "-"
CONFIG_MAP_KEY: Final = "template"
_FORMS: Final = (
    "https://github.com/{owner}/{repository}/blob/{branch}/{path-to-file} or "
    "https://github.com/{owner}/{repository}/releases/download/{tag}/{file}"
)


async def read_from(address: str, configuration: Configuration, stdin: TextIO) -> str:
    """The text at an address: ``-``, a path, ``file:`` or ``https:``; bytes that are not UTF-8 as lone surrogates."""
    if address == STDIN:
        return to_text(_everything(stdin))
    try:
        parts = read_address(address)
    except ClusterctlError as error:
        raise ClusterctlError(f"--from cannot be read as an address: {error}") from None
    if parts.scheme in ("", "file"):
        return to_text(_local(parts.path))
    if parts.scheme == "https" or parts.server == _own_server(configuration):
        return to_text(await _fetched(parts, configuration))
    raise ClusterctlError(
        f"--from {address}: a template can be read from a file, from an https: address, or with - from standard input"
    )


async def read_config_map(client: Client, *, name: str, namespace: str, key: str) -> str:
    """The text under a key of a ConfigMap."""
    from mooring.kube.errors import NotFound

    if not name:
        raise ClusterctlError("the name of the ConfigMap with the template is missing: give it with --from-config-map")
    try:
        found = await client.get(await client.resource("v1", "ConfigMap"), name, namespace=namespace)
    except NotFound:
        raise NotHere(f"there is no ConfigMap {name} in namespace {namespace} to read a template from") from None
    key = key or CONFIG_MAP_KEY
    text = at(found, "data", key)
    if not isinstance(text, str):
        there = ", ".join(sorted(at(found, "data") or {})) or "nothing"
        raise NotHere(f"ConfigMap {name} in namespace {namespace} has no template under the key {key!r}, but {there}")
    return text


def _local(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return _bounded(file, repr(path))
    except IsADirectoryError:
        raise ClusterctlError(f"{path!r} is a directory; a template is a file") from None
    except (OSError, ValueError) as error:
        raise ClusterctlError(f"the template {path!r} cannot be read: {getattr(error, 'strerror', error)}") from None


def _everything(stdin: TextIO) -> bytes:
    binary = getattr(stdin, "buffer", None)  # there is none in a StringIO
    return to_bytes(stdin.read()) if binary is None else _bounded(binary, "standard input")


def _bounded(file: IO[bytes], where: str) -> bytes:
    content = file.read(SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        raise ClusterctlError(f"{where} is larger than {SIZE_LIMIT // 1024 // 1024} MiB: that is no template")
    return content


def _own_server(configuration: Configuration) -> str:
    from mooring.clusterctl.repository.opening import GITHUB_SERVER

    return (configuration.variable(GITHUB_SERVER) or "").rstrip("/")


async def _fetched(parts: Address, configuration: Configuration) -> bytes:
    from mooring.clusterctl.repository.github import GITHUB, GITHUB_API
    from mooring.clusterctl.repository.http import Fetcher

    own = _own_server(configuration)
    if parts.server not in (GITHUB, own):
        return _body(await Fetcher().get(parts.text))
    steps = parts.path.removeprefix("/").split("/")
    if len(steps) >= 5 and steps[2] == "blob":
        token = configuration.github_token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        api = GITHUB_API if parts.server == GITHUB else f"{own}/api/v3"
        return _blob(await Fetcher().get(_contents_address(api, steps), headers))
    if len(steps) >= 6 and steps[2:4] == ["releases", "download"]:
        return await _released(parts.server, steps, configuration)
    raise ClusterctlError(f"--from {parts.text}: on GitHub a template has an address of the form {_FORMS}")


async def _released(server: str, steps: list[str], configuration: Configuration) -> bytes:
    """A file of a release, in the ways in which those of a provider are had."""
    from mooring.clusterctl.providers import Provider, ProviderType
    from mooring.clusterctl.repository import open_repository
    from mooring.clusterctl.repository.http import quoted

    owner, repository, _, _, tag, file = steps[:6]
    url = "/".join([server, *map(quoted, (owner, repository, "releases", tag, file))])
    opened = await open_repository(Provider("template", ProviderType.INFRASTRUCTURE, url), configuration)
    return await opened.source.file(tag, file)


def _contents_address(api: str, steps: list[str]) -> str:
    from mooring.clusterctl.repository.http import quoted

    owner, repository, _, branch, *path = map(quoted, steps)
    return f"{api}/repos/{owner}/{repository}/contents/{'/'.join(path)}?ref={branch}"


def _body(answer: Answer) -> bytes:
    if answer.status == 404:
        raise NotHere(f"there is nothing at {answer.address} (404)")
    if answer.status != 200:
        limited = answer.status in (403, 429) and b"rate limit" in answer.body.lower()
        remedy = ": GitHub's rate limit is used up; wait, or set GITHUB_TOKEN" if limited else ""
        raise ClusterctlError(f"{answer.address} answers {answer.status}{remedy}")
    return answer.body


def _blob(answer: Answer) -> bytes:
    """The content of a file, as GitHub's API wraps it."""
    try:
        found = json.loads(_body(answer))
        if found["encoding"] != "base64":
            raise ClusterctlError(f"{answer.address} has the encoding {found['encoding']!r}; only base64 is understood")
        return base64.b64decode("".join(found["content"].splitlines()), validate=True)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ClusterctlError(
            f"{answer.address} does not answer with a file: is the address that of a folder?"
        ) from None
