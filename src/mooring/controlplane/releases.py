"""Official releases: downloaded, compared with their published checksum, and only then looked into.

`download_tool` puts one program of a toolset into a draft file; `binaries` decides whether to ask and what to
do without. ``MOORING_RELEASES`` names a mirror: it holds every official address without its ``https://``,
which is the tree that ``wget -x`` writes (``<mirror>/dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubectl``).

Caveat: the checksum comes from the same host as the file. It proves that nothing broke on the way; that the
host is the right one is TLS's part, so a redirect from https to http is refused.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import tarfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPMessage
from pathlib import Path
from typing import IO

from mooring.controlplane.errors import BinariesError
from mooring.controlplane.progress import Progress, Unit
from mooring.controlplane.toolsets import Release, Tool, architecture

MIRROR_VARIABLE = "MOORING_RELEASES"

# The first contact with a host decides whether it can be reached; a machine without internet should not wait
# long.
_CONNECT_TIMEOUT = 5.0
# Name resolution has no timeout of its own and can take half a minute, so the first contact as a whole has
# one.
_CONTACT_TIMEOUT = 10.0
_READ_TIMEOUT = 30.0
_CHUNK = 256 * 1024
_CHECKSUM_FILE_LIMIT = 1024 * 1024
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class DownloadError(BinariesError):
    """This release cannot be had from here; another source may do."""


class UnreachableError(DownloadError):
    """Nobody answers at that host, so there is no use in asking it for anything else."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"{host} cannot be reached ({reason})")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but not out of https."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.type == "https" and not newurl.startswith("https:"):
            raise urllib.error.HTTPError(newurl, code, "a redirect from https to http is refused", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download_tool(tool: Tool, release: Release, version: str, *, drafts: Path, progress: Progress) -> Path:
    """Download one program and verify it; the path of the draft. Raises DownloadError."""
    address = _address(release.address, tool, version)
    expected = _published_checksum(_address(release.checksum, tool, version), file_name(address))
    progress.step(f"{tool.name} {version}: downloading from {host_of(address)}")
    draft = drafts / f"{tool.name}.download"
    found = _stream(address, draft, progress)
    if found != expected:
        raise DownloadError(f"{address} has the sha256 {found[:12]}… and should have {expected[:12]}…")
    if release.member is None:
        return draft
    return _extract(draft, release.member.format(**_fields(tool, version)), drafts / tool.name)


def host_of(address: str) -> str:
    """The host, and the port if it is named, of an address."""
    return urllib.parse.urlsplit(address).netloc


def file_name(address: str) -> str:
    """The last part of an address."""
    return address.rpartition("/")[2]


def _fields(tool: Tool, version: str) -> dict[str, str]:
    return {"version": version, "arch": architecture(), "name": tool.name}


def _address(template: str, tool: Tool, version: str) -> str:
    official = template.format(**_fields(tool, version))
    mirror = os.environ.get(MIRROR_VARIABLE, "").rstrip("/")
    if not mirror:
        return official
    if not mirror.startswith(("https://", "http://")):
        raise DownloadError(f"{MIRROR_VARIABLE} is {mirror!r} and should begin with https:// or http://")
    return f"{mirror}/{official.removeprefix('https://')}"


def _published_checksum(address: str, file: str) -> str:
    text = _first_contact(address).decode(errors="replace")
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for words in lines:
        named = words[-1].lstrip("*") == file or (len(lines) == 1 and len(words) == 1)
        if named and _SHA256.fullmatch(words[0]):
            return words[0].lower()
    raise DownloadError(f"{address} holds no sha256 for {file}")


def _first_contact(address: str) -> bytes:
    """Read a small file, within a time that also bounds name resolution.

    That needs a thread, which cannot be ended from outside; it is a daemon, so a stuck one doesn't keep us
    from exiting.
    """
    answers: list[bytes | DownloadError] = []

    def ask() -> None:
        try:
            with _open(address, timeout=_CONNECT_TIMEOUT) as response:
                answers.append(response.read(_CHECKSUM_FILE_LIMIT))
        except DownloadError as failure:
            answers.append(failure)
        except (OSError, http.client.HTTPException) as error:
            answers.append(UnreachableError(host_of(address), _reason(error)))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_CONTACT_TIMEOUT)
    answer = answers[0] if answers else UnreachableError(host_of(address), "no answer")
    if isinstance(answer, DownloadError):
        raise answer
    return answer


def _open(address: str, *, timeout: float) -> http.client.HTTPResponse:
    opener = urllib.request.build_opener(_Redirects)
    try:
        response: http.client.HTTPResponse = opener.open(address, timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            raise DownloadError(f"{address}: {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(host_of(address), _reason(error)) from error
    return response


def _stream(address: str, draft: Path, progress: Progress) -> str:
    digest = hashlib.sha256()
    done = 0
    with _open(address, timeout=_READ_TIMEOUT) as response, draft.open("wb") as file:
        total = response.length
        while chunk := _read(response, address, done):
            file.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress.advance(done, total, unit=Unit.BYTES)
    if total is not None and done < total:
        raise DownloadError(f"{address} broke off after {done} of {total} bytes")
    return digest.hexdigest()


def _read(response: http.client.HTTPResponse, address: str, done: int) -> bytes:
    try:
        return response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{address} broke off after {done} bytes ({_reason(error)})") from error


def _extract(archive: Path, member: str, draft: Path) -> Path:
    """Copy one member's bytes. Names in the archive never become paths, so none can lead elsewhere."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            info = tar.getmember(member)
            content = tar.extractfile(info) if info.isreg() else None
            if content is None:
                raise DownloadError(f"{member} in the downloaded archive is not a regular file")
            with content, draft.open("wb") as file:
                shutil.copyfileobj(content, file, _CHUNK)
    except (KeyError, tarfile.TarError, EOFError) as error:
        raise DownloadError(f"the downloaded archive has no readable {member} ({error})") from error
    return draft


def _reason(error: Exception) -> str:
    """The innermost words of an error: urllib wraps the system's own."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
