"""Getting files from web servers: https only, with limits on time and size, and every answer only once in a run.

The standard library's client in a daemon thread: it honours the proxies of the environment, costs nothing until it is
needed, and a name server that does not answer cannot keep the command from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import IO, Final

from mooring.clusterctl.errors import ClusterctlError
from mooring.clusterctl.looping import loop_needed
from mooring.clusterctl.repository.addresses import is_loopback
from mooring.clusterctl.repository.source import SIZE_LIMIT

STEP_TIMEOUT: Final = 30.0
WHOLE_TIMEOUT: Final = 180.0
ATTEMPTS: Final = 3
PAUSES: Final = (0.3, 1.0)

_CHUNK: Final = 256 * 1024
_WORTH_ANOTHER_TRY: Final = frozenset({500, 502, 503, 504})


class Unreachable(ClusterctlError):
    """Nobody answered, or not completely."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said; header names are in lower case."""

    address: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class Fetcher:
    """Gets addresses, and remembers what it got for as long as it lives, which is one run of a command."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], Answer] = {}

    async def get(self, address: str, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer, whatever its status. A server that stumbles is asked again, a few times."""
        key = address, tuple(sorted((headers or {}).items()))
        if key not in self._known:
            answer = await _patiently(address, headers or {})
            if answer.status not in (200, 404):
                return answer
            self._known[key] = answer
        return self._known[key]


def fetch(address: str, *, open_wire: bool = False) -> Answer:
    """One answer for somebody without an event loop, asked for once; with ``open_wire`` also from http:."""
    try:
        return _get(address, {}, open_wire=open_wire)
    except _Stumbled as error:
        raise Unreachable(str(error)) from None


def quoted(segment: str) -> str:
    """One step of a path, so that nothing in it can be taken for another step."""
    return urllib.parse.quote(segment, safe="")


async def _patiently(address: str, headers: Mapping[str, str]) -> Answer:
    await loop_needed()
    for attempt in range(ATTEMPTS):
        last = attempt == ATTEMPTS - 1
        try:
            async with asyncio.timeout(WHOLE_TIMEOUT):
                answer = await _in_thread(lambda: _get(address, headers))
            if answer.status not in _WORTH_ANOTHER_TRY or last:
                return answer
        except TimeoutError:
            raise Unreachable(f"{address} did not answer within {WHOLE_TIMEOUT:.0f} s") from None
        except _Stumbled as error:
            if last:
                raise Unreachable(str(error)) from None
        await asyncio.sleep(PAUSES[attempt])
    raise AssertionError("the last attempt returns or raises")


class _Stumbled(Exception):
    """A failure that may be over in a moment."""


def _get(address: str, headers: Mapping[str, str], *, open_wire: bool = False) -> Answer:
    _check(address, open_wire=open_wire)
    request = urllib.request.Request(address, headers={"User-Agent": "mooring", **headers})  # noqa: S310
    handlers: list[urllib.request.BaseHandler] = [_Redirects(open_wire)]
    if is_loopback(urllib.parse.urlsplit(address).netloc):
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        try:
            response = urllib.request.build_opener(*handlers).open(request, timeout=STEP_TIMEOUT)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            body = _limited(response, address)
            names = {name.lower(): value for name, value in response.headers.items()}
            return Answer(address=address, status=response.status or 0, headers=names, body=body)
    except urllib.error.URLError as error:
        if isinstance(error.reason, socket.gaierror):
            raise Unreachable(f"{address}: the name of the host cannot be resolved ({error.reason.strerror})") from None
        raise _Stumbled(f"{address} cannot be reached: {error.reason}{_proxy_hint(address)}") from None
    except ValueError as error:
        raise Unreachable(f"{address} cannot be asked for: {error}; escape what is not ASCII") from None
    except (OSError, http.client.HTTPException) as error:
        raise _Stumbled(f"{address} broke off: {error or type(error).__name__}") from None


def _limited(response: IO[bytes], address: str) -> bytes:
    chunks: list[bytes] = []
    size, end = 0, time.monotonic() + WHOLE_TIMEOUT
    while chunk := response.read(_CHUNK):
        size += len(chunk)
        if size > SIZE_LIMIT:
            raise Unreachable(
                f"{address} is larger than {SIZE_LIMIT // 1024 // 1024} MiB: that is no file of a provider"
            )
        if time.monotonic() > end:
            raise Unreachable(f"{address} did not come within {WHOLE_TIMEOUT:.0f} s")
        chunks.append(chunk)
    if getattr(response, "length", None):  # reading in pieces, the library does not notice that some are missing
        raise _Stumbled(f"{address} broke off after {size} bytes")
    return b"".join(chunks)


def _check(address: str, *, open_wire: bool) -> None:
    """Refuse what anybody in between could change, and what is no address."""
    try:
        parts = urllib.parse.urlsplit(address)
    except ValueError as error:
        raise Unreachable(f"{address!r} is not an address: {error}") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and (open_wire or is_loopback(parts.netloc))):
        raise Unreachable(f"{address} is not https: what is installed must not be changed on its way")


def _proxy_hint(address: str) -> str:
    scheme = urllib.parse.urlsplit(address).scheme
    proxy = os.environ.get(f"{scheme}_proxy") or os.environ.get(f"{scheme.upper()}_PROXY")
    return f" (through the proxy that {scheme.upper()}_PROXY names)" if proxy else ""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but not out of https, and tells no other host who we are."""

    def __init__(self, open_wire: bool) -> None:
        self._open_wire = open_wire

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        try:
            _check(newurl, open_wire=self._open_wire)
            if req.full_url.startswith("https:") and not newurl.startswith("https:"):
                raise Unreachable(f"{req.full_url} leads to {newurl}, out of https: that is not followed")
        except Unreachable:
            fp.close()
            raise
        following = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        if following is not None and urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            following.remove_header("Authorization")
        return following


async def _in_thread(work: Callable[[], Answer]) -> Answer:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def deliver(answer: Answer | None, error: BaseException | None) -> None:
        if future.done():
            return
        if answer is not None:
            future.set_result(answer)
        elif error is not None:
            future.set_exception(error)

    def run() -> None:
        answer, failure = None, None
        try:
            answer = work()
        except Exception as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is gone, and so is who asked
            loop.call_soon_threadsafe(deliver, answer, failure)

    threading.Thread(target=run, daemon=True, name="fetching").start()
    return await future
