"""Bytes to the API server and back: sockets, TLS, identity, timeouts, and trying again where that is safe.

Knows nothing of kinds. Neighbours: `client` gives it paths and bodies, `streams` reads watches from it,
`answers` makes errors of refusals, `timeouts` has the rule of trying again.

Guarantees: at most `_CALLS_AT_ONCE` calls are on the way; watches do not count. A write whose answer was lost
is sent once. Redirects are not followed, so an identity never goes to another host.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import aiohttp
from yarl import URL

from mooring.kube.answers import READS, error_from_answer, warnings_in
from mooring.kube.calls import Call, standing_headers
from mooring.kube.connection import Connection
from mooring.kube.credentials import Identity, basic_header
from mooring.kube.errors import (
    ApiError,
    BadAnswer,
    KubeError,
    NoAnswer,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from mooring.kube.losses import NeverSent, loss
from mooring.kube.timeouts import Backoff, Timeouts
from mooring.kube.tls import tls_context

_CALLS_AT_ONCE = 64
_TRIES = 5
_LONGEST_ASKED_WAIT = 30.0
_LARGEST_ANSWER = 256 * 1024 * 1024
_WORTH_ASKING_AGAIN = frozenset({500, 502, 503, 504})
# Blocks of some dozens of events: larger ones keep so many fresh objects alive that the collector gets busy.
_WATCH_BUFFER = 32 * 1024


# Called when a write is about to go onto an open connection; what it raises keeps the write from being sent.
Guard = Callable[[], None]
# Told of every answer (or 0 for none) to every try: the HTTP verb, the code, and the seconds it took.
Heard = Callable[[str, int, float], None]
# Told what the server has to say beside an answer: that a field is going away, that a name is unwise.
Warned = Callable[[str], None]


class Transport:
    """The open connections to one API server."""

    def __init__(
        self,
        connection: Connection,
        *,
        timeouts: Timeouts,
        user_agent: str,
        guard: Guard | None,
        heard: Heard | None,
        warned: Warned | None,
    ) -> None:
        self.connection = connection
        self._guard = guard
        self._heard = heard
        self._warned = warned
        self.timeouts = timeouts
        self._user_agent = user_agent
        self._base = connection.server.rstrip("/")
        self._slots = asyncio.Semaphore(_CALLS_AT_ONCE)
        self._calls: aiohttp.ClientSession | None = None
        self._watches: aiohttp.ClientSession | None = None
        self._shown: Identity | None = None
        self._options: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        wait = self.timeouts
        self._calls = self._session(
            limit=_CALLS_AT_ONCE,
            timeout=aiohttp.ClientTimeout(total=wait.request, sock_connect=wait.connect),
        )
        self._watches = self._session(
            limit=0,
            timeout=aiohttp.ClientTimeout(sock_connect=wait.connect, sock_read=wait.watch_silence),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        calls, watches = self._calls, self._watches
        self._calls = self._watches = None
        try:
            if calls is not None:
                await calls.close()
        finally:  # also if we are called off in between
            if watches is not None:
                await watches.close()

    async def send(self, call: Call, *, patiently: bool = True) -> bytes:
        """The body of the answer. `patiently` False: one try, for those who ask again by themselves."""
        backoff = Backoff(first=0.1, longest=2.0, growth=3.0)
        known_again = False
        while True:
            last = not patiently or backoff.failures + 1 >= _TRIES
            try:
                return await self._once(call)
            except NeverSent as signal:
                if last or signal.hopeless:
                    raise signal.error from signal.__cause__
                pause = backoff.next_pause()
            except Unauthorized:
                # The server turned the call away unread, so any verb may be sent again, once, as we are known
                # now.
                if known_again or not self.connection.credentials.forget():
                    raise
                known_again, pause = True, 0.0
            except TooManyRequests as error:
                # Without a word on when to come back, only a read tries its luck: a full queue empties, a kind that
                # was just defined gets its storage.
                wait = error.retry_after if error.retry_after is not None else 0.0 if call.reads else math.inf
                if last or wait > _LONGEST_ASKED_WAIT:
                    raise
                pause = wait + backoff.next_pause()
            except (ServerError, NoAnswer) as error:
                if last or not call.reads or not _worth_asking_again(error):
                    raise
                pause = backoff.next_pause()
            await asyncio.sleep(pause)

    async def _once(self, call: Call) -> bytes:
        if self._heard is None:
            return await self._exchanged(call)
        begun, code = time.perf_counter(), 0
        try:
            body = await self._exchanged(call)
            code = 200
        except ApiError as error:
            code = error.code
            raise
        finally:
            self._heard(call.verb, code, time.perf_counter() - begun)
        return body

    async def _exchanged(self, call: Call) -> bytes:
        headers = await self._identified(call)
        try:
            async with (
                self._slots,
                self._opened(self._calls).request(
                    call.verb,
                    self._url(call),
                    data=call.body,
                    headers=headers,
                    allow_redirects=False,
                    **self._options,
                ) as response,
            ):
                body = await _body(response, call)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._lost(call, error) from error
        if self._warned is not None:
            for text in warnings_in(response.headers.getall("Warning", ())):
                self._warned(text)
        if response.status >= 300:
            raise _refusal(call, response, body)
        return body

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[aiohttp.StreamReader]:
        """A watch: its bytes as they come. Leaving the block closes the connection at once."""
        headers = await self._identified(call)
        try:
            async with self._opened(self._watches).request(
                call.verb,
                self._url(call),
                headers=headers,
                allow_redirects=False,
                read_bufsize=_WATCH_BUFFER,
                **self._options,
            ) as response:
                if response.status >= 300:
                    raise _refusal(call, response, await _body(response, call))
                try:
                    yield response.content
                finally:
                    # An unread rest must not be waited for, and a stream is no connection to use again. Closing TLS in
                    # good order would wait for the server's word, beyond the end of our event loop if need be.
                    if response.connection is not None and response.connection.transport is not None:
                        response.connection.transport.abort()
                    response.close()
        except Unauthorized:
            self.connection.credentials.forget()
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            lost = self._lost(call, error)
            raise (lost.error if isinstance(lost, NeverSent) else lost) from error

    async def _identified(self, call: Call) -> dict[str, str]:
        identity = await self.connection.credentials.identity()
        if identity is not self._shown:
            self._show(identity)
        headers = {}
        if identity.authorization is not None:
            headers["Authorization"] = identity.authorization
        if call.content_type is not None:
            headers["Content-Type"] = call.content_type
        if call.accept is not None:
            headers["Accept"] = call.accept
        return headers

    def _show(self, identity: Identity) -> None:
        known = self._shown
        if known is None or known.certificate != identity.certificate:
            self._options = self._connection_options(identity)
        self._shown = identity

    def _connection_options(self, identity: Identity) -> dict[str, Any]:
        connection = self.connection
        options: dict[str, Any] = {}
        if self._base.startswith("https:"):
            options["ssl"] = tls_context(
                ca=connection.ca, insecure=connection.insecure, certificate=identity.certificate
            )
            if connection.tls_server_name is not None:
                options["server_hostname"] = connection.tls_server_name
        if connection.proxy is not None:
            options["proxy"] = connection.proxy.url
            if connection.proxy.user is not None:
                known = basic_header(connection.proxy.user, connection.proxy.password)
                options["proxy_headers"] = {"Proxy-Authorization": known}
        return options

    def _url(self, call: Call) -> URL:
        text = f"{self._base}{call.path}?{call.query}" if call.query else self._base + call.path
        return URL(text, encoded=True)

    def _session(self, *, limit: int, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, keepalive_timeout=30.0),
            timeout=timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=standing_headers(self._user_agent, self.connection.impersonation),
            request_class=aiohttp.ClientRequest if self._guard is None else _guarded(self._guard),
        )
        # aiohttp would send a PUT or DELETE a second time when a kept connection turns out to be dead. The
        # first may have been done. There is no public switch; a test proves that this one works.
        session._retry_connection = False
        return session

    def _opened(self, session: aiohttp.ClientSession | None) -> aiohttp.ClientSession:
        if session is None:
            raise RuntimeError("the client is not open: use it as `async with Client(...) as client`")
        return session

    def _lost(self, call: Call, error: Exception) -> NoAnswer | NeverSent:
        return loss(call, error, server=self._base, timeouts=self.timeouts)


def _guarded(guard: Guard) -> type[aiohttp.ClientRequest]:
    """Requests that ask the guard as late as can be: on an open connection, before the first byte."""

    class Guarded(aiohttp.ClientRequest):
        async def send(self, conn: Any) -> aiohttp.ClientResponse:
            if self.method not in READS:
                guard()
            return await super().send(conn)

        async def write_bytes(self, writer: Any, conn: Any, content_length: int | None = None) -> None:
            # A body may be sent by a task of its own, some turns of the loop later, and the head waits for it.
            if self.method not in READS:
                try:
                    guard()
                except Exception as refusal:
                    conn.protocol.set_exception(refusal)  # for whoever waits for the answer
                    return
            await super().write_bytes(writer, conn, content_length)

    return Guarded


def _refusal(call: Call, response: aiohttp.ClientResponse, body: bytes) -> ApiError:
    return error_from_answer(
        code=response.status,
        body=body,
        verb=call.verb,
        path=call.path,
        retry_after=response.headers.get("Retry-After"),
    )


def _worth_asking_again(error: KubeError) -> bool:
    return not isinstance(error, ServerError) or error.code in _WORTH_ASKING_AGAIN


async def _body(response: aiohttp.ClientResponse, call: Call) -> bytes:
    length = response.content_length
    if length is not None and length <= _LARGEST_ANSWER:
        return await response.read()
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > _LARGEST_ANSWER:
            raise BadAnswer("the answer does not end", verb=call.verb, path=call.path)
    return b"".join(pieces)
