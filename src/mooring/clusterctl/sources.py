"""Where a template can be beside a provider's repository: standard input, a file, https, GitHub, a ConfigMap."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TextIO
from urllib.parse import SplitResult, unquote, urlsplit

from mooring.clusterctl.errors import ClusterctlError, NotHere
from mooring.clusterctl.objects import at

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
    """The text at an address: ``-``, a path, ``file:`` or ``https:``."""
    if address == STDIN:
        return _decoded(lambda: stdin.read().encode("utf-8", "surrogateescape"), "standard input")
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ClusterctlError(f"--from {address}: not an address: {error}") from None
    if parts.scheme in ("", "file"):
        return _decoded(lambda: _local(unquote(parts.path)), unquote(parts.path))
    if parts.scheme == "https" or _is_own_server(parts, configuration):
        content = await _fetched(parts, address, configuration)
        return _decoded(lambda: content, address)
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
            return file.read()
    except IsADirectoryError:
        raise ClusterctlError(f"{path!r} is a directory; a template is a file") from None
    except (OSError, ValueError) as error:
        raise ClusterctlError(f"the template {path!r} cannot be read: {getattr(error, 'strerror', error)}") from None


def _decoded(read: Callable[[], bytes], where: str) -> str:
    try:
        return read().decode()
    except UnicodeError as error:
        raise ClusterctlError(f"{where} is not UTF-8 text ({error}): save it as UTF-8") from None


def _is_own_server(parts: SplitResult, configuration: Configuration) -> bool:
    return f"{parts.scheme}://{parts.netloc}" == _own_server(configuration)


def _own_server(configuration: Configuration) -> str:
    from mooring.clusterctl.repository.opening import GITHUB_SERVER

    return (configuration.variable(GITHUB_SERVER) or "").rstrip("/")


async def _fetched(parts: SplitResult, address: str, configuration: Configuration) -> bytes:
    from mooring.clusterctl.repository.github import GITHUB, GITHUB_API
    from mooring.clusterctl.repository.http import Fetcher

    server, fetcher = f"{parts.scheme}://{parts.netloc}", Fetcher()
    own = _own_server(configuration)
    if server not in (GITHUB, own) or not server:
        return _body(await fetcher.get(address))
    steps = unquote(parts.path).removeprefix("/").split("/")
    token = configuration.github_token
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if len(steps) >= 5 and steps[2] == "blob":
        api = GITHUB_API if server == GITHUB else f"{own}/api/v3"
        return _blob(await fetcher.get(_contents_address(api, steps), headers))
    if len(steps) >= 6 and steps[2:4] == ["releases", "download"]:
        return _body(await fetcher.get(address, headers))
    raise ClusterctlError(f"--from {address}: on GitHub a template has an address of the form {_FORMS}")


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
        return base64.b64decode(found["content"])
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        raise ClusterctlError(
            f"{answer.address} does not answer with a file: is the address that of a folder?"
        ) from None
