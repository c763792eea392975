"""What the fault proxy is plumbed with: sockets, sessions, headers, and the way back to the client.

Nothing here decides about faults; :mod:`mooring.testing.faults` does.
"""

import asyncio
import math
import socket
import weakref
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from io import BytesIO
from ssl import SSLContext, create_default_context

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from mooring.testing.fault_rules import Cut, Effect, Request

LONGEST_LINE = 1 << 18  # a request line or header; continue tokens and selectors get long
NO_FAULTS = Effect()
CONNECTION_HEADERS = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


REQUEST_HEADERS_MADE_ANEW = frozenset({"host", "expect", "content-length"})


class CutConnection(Exception):
    """Leave the exchange here and cut the client's connection."""


class CutWithin(Exception):
    def __init__(self, half: bytes) -> None:
        self.half = half


@dataclass(frozen=True, slots=True)
class Event:
    line: bytes
    due: float
    cut: bool


class Watch:
    """An open watch: what the API server has said and the client has not yet been told."""

    def __init__(self, request: Request, incoming: web.BaseRequest) -> None:
        self.request = request
        self.incoming = incoming
        self.flowing = asyncio.Event()
        self.flowing.set()
        self._untold: asyncio.Queue[Event] = asyncio.Queue()

    def say(self, line: bytes, faults: Effect = NO_FAULTS) -> None:
        due = asyncio.get_running_loop().time() + faults.delay
        self._untold.put_nowait(Event(line, due, faults.cut is not Cut.NEVER))

    def end(self) -> None:
        self.say(b"")

    async def next_line(self) -> bytes:
        """The next line when it is due and the watch flows; empty at the end."""
        event = await self._untold.get()
        wait = event.due - asyncio.get_running_loop().time()
        if wait > 0:
            await asyncio.sleep(wait)
        await self.flowing.wait()
        if event.cut:
            raise CutWithin(event.line[: len(event.line) // 2])
        return event.line


class Reply:
    """The way back to the client: at the speed of the link, and cut where a fault says so."""

    def __init__(self, incoming: web.BaseRequest, response: web.StreamResponse, faults: Effect) -> None:
        self._incoming = incoming
        self._response = response
        self._speed = faults.bytes_per_second
        self._cut_within = faults.cut is Cut.WITHIN
        # What was written has left the process when the write returns: a later abort does not take it back.
        if incoming.transport is not None:
            incoming.transport.set_write_buffer_limits(0)

    async def write(self, piece: bytes) -> None:
        if self._cut_within:
            await self._write(piece[: len(piece) // 2])
            raise CutConnection
        await self._write(piece)

    async def finish(self) -> web.StreamResponse:
        if self._cut_within:
            raise CutConnection
        await self._response.write_eof()
        await self._incoming.writer.drain()
        return self._response

    async def _write(self, piece: bytes) -> None:
        if self._speed < math.inf:
            for part in slices(piece, max(1, int(self._speed / 20))):
                await self._response.write(part)
                await asyncio.sleep(len(part) / self._speed)
        else:
            await self._response.write(piece)
        await self._incoming.writer.drain()


class Upstream:
    """The API server, spoken to as the certificate's identity, or as who an ``Authorization`` header says."""

    def __init__(self, address: str, *, ssl: SSLContext, anonymous_ssl: SSLContext) -> None:
        self._address = address
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._certified = self._session(ssl)
        self._anonymous = self._session(anonymous_ssl)

    def request(self, incoming: web.BaseRequest, body: bytes) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """The same request, sent there."""
        session = self._anonymous if "Authorization" in incoming.headers else self._certified
        return session.request(
            incoming.method,
            URL(self._address + incoming.raw_path, encoded=True),
            headers=end_to_end(incoming.headers, but=REQUEST_HEADERS_MADE_ANEW),
            data=BytesIO(body) if body else None,
            allow_redirects=False,
        )

    async def close(self) -> None:
        """Close every connection, also those that are still saying goodbye in TLS, and see them closed."""
        await self._certified.close()
        await self._anonymous.close()
        for used in self._sockets:
            with suppress(OSError):
                used.shutdown(socket.SHUT_RDWR)
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                while any(used.fileno() >= 0 for used in self._sockets):
                    await asyncio.sleep(0.001)

    def _session(self, ssl: SSLContext) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=ssl, limit=0, socket_factory=self._socket),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            auto_decompress=False,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
        )
        # A PUT or DELETE whose kept-alive connection broke would be sent again, behind the test's back.
        session._retry_connection = False
        return session

    def _socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        made = socket.socket(*address[:3])
        self._sockets.add(made)
        return made


async def lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes, cut after line ends; each line as soon as it is whole."""
    begun: list[bytes] = []
    async for piece in pieces:
        *whole, rest = piece.split(b"\n")
        for end in whole:
            yield b"".join((*begun, end, b"\n"))
            begun.clear()
        if rest:
            begun.append(rest)
    if begun:
        yield b"".join(begun)


def slices(piece: bytes, size: int) -> Iterable[bytes]:
    return (piece[start : start + size] for start in range(0, len(piece), size))


def end_to_end(headers: CIMultiDictProxy[str], *, but: frozenset[str] = frozenset()) -> CIMultiDict[str]:
    """The headers that are meant for the other end, not for the next hop."""
    named = {name.strip().lower() for name in ",".join(headers.getall("Connection", [])).split(",")}
    dropped = CONNECTION_HEADERS | named | but
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in dropped)


def abort(incoming: web.BaseRequest) -> None:
    if incoming.transport is not None:
        incoming.transport.abort()


def without_client_certificate(ssl: SSLContext) -> SSLContext:
    """The same trust, and nobody's identity."""
    anonymous = create_default_context(cadata=b"".join(ssl.get_ca_certs(binary_form=True)))
    anonymous.check_hostname = ssl.check_hostname
    anonymous.verify_mode = ssl.verify_mode
    anonymous.verify_flags = ssl.verify_flags
    return anonymous


def bound_socket(port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(("127.0.0.1", port))
    return bound
