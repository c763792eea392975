"""A proxy in front of a real API server that loses, delays, falsifies and refuses when a test says so.

Clients speak plain HTTP to :attr:`FaultProxy.url`; the proxy speaks TLS to the API server, as the identity of
its client certificate, or, for a request with an ``Authorization`` header, as whoever that header says.
Without faults it is transparent: query strings arrive as they were sent, answers stream. What a fault is made
of is in :mod:`mooring.testing.fault_rules`.

Guarantees
    Writes are counted when they arrive, one by one, so "the n-th write" is one request under concurrency too.
    A write that was cut *before* has not reached the API server; one that was cut *after* has been answered
    by it. After :meth:`FaultProxy.stop_after_write` exactly the writes up to the n-th have been executed. The
    port stays the proxy's own during an outage.

Caveats
    A cut ends the TCP connection without ending the HTTP message. If the API server fails or goes away, the
    client's connection is cut likewise. Faults on single events need watches in JSON; these are passed on
    line by line. No upgrades (exec, port-forward).
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from mooring.kube import Connection
from mooring.testing.fault_rules import Cut, Effect, Matching, Request, Rule, answer_of, any_request, failure
from mooring.testing.fault_wire import (
    LONGEST_LINE,
    NO_FAULTS,
    CutConnection,
    CutWithin,
    Reply,
    Upstream,
    Watch,
    abort,
    bound_socket,
    end_to_end,
    lines,
    without_client_certificate,
)

REMEMBERED_REQUESTS = 10_000
PATIENCE = 120.0  # seconds that a test waits here for what does not come
GONE = json.dumps({"type": "ERROR", "object": failure(410)}).encode() + b"\n"


class FaultProxy:
    """A real API server, seen through a connection that fails on demand.

    A method that sets a fault for later returns its :class:`Rule`. Rules are asked in the order in which they
    were set; one that hides a request from the API server hides it from later rules too, so answers queue up.
    """

    def __init__(self, upstream: str, *, ssl: SSLContext, anonymous_ssl: SSLContext | None = None) -> None:
        self.requests: deque[Request] = deque(maxlen=REMEMBERED_REQUESTS)
        self.writes = 0  # that the API server has answered, whether or not the client heard it
        self._address = upstream.rstrip("/")
        self._ssl = ssl
        self._anonymous_ssl = anonymous_ssl or without_client_certificate(ssl)
        self._rules: list[Rule] = []
        self._watches: set[Watch] = set()
        self._frozen: Matching | None = None
        self._under_way: set[Request] = set()
        self._stopping = False
        self._changed = asyncio.Event()
        self._listener: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._upstream = Upstream(self._address, ssl=self._ssl, anonymous_ssl=self._anonymous_ssl)
        self._server = web.Server(
            self._serve,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
        )
        # Bound and never listening: it keeps the port ours during an outage, and connecting to it is refused.
        self._seat = bound_socket(0)
        self.port: int = self._seat.getsockname()[1]
        await self.up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.down()
        await self._server.shutdown(timeout=0)
        await self._upstream.close()
        self._seat.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connection(self) -> Connection:
        """The way to the API server through this proxy, as whoever the proxy is."""
        return Connection(server=self.url)

    # Faults of single requests

    def cut_before_write(self, nth: int = 1, *, matching: Matching = any_request) -> Rule:
        """The n-th matching write from now on never reaches the API server; its connection is cut."""
        return self._nth_write(nth, matching, Effect(cut=Cut.BEFORE))

    def cut_after_write(self, nth: int = 1, *, matching: Matching = any_request) -> Rule:
        """The n-th matching write from now on is executed, but its answer is lost with the connection."""
        return self._nth_write(nth, matching, Effect(cut=Cut.AFTER))

    def stop_after_write(self, nth: int = 1, *, matching: Matching = any_request) -> Rule:
        """The n-th matching write from now on is executed and answered; then all is refused until :meth:`up`.

        To the API server it looks as if the client had died between two of its writes. Requests that come in
        while the n-th write is being executed are cut; writes that came earlier are finished first.
        """
        return self._nth_write(nth, matching, Effect(stop=True))

    def answer(
        self,
        status: int,
        *,
        times: int | None = 1,
        matching: Matching = any_request,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | str | None = None,
    ) -> Rule:
        """Answer without asking the API server: with the body, or else the Status object it would send."""
        said = answer_of(status, headers=headers or {}, body=body)
        return self._set(Rule(effect=Effect(answer=said), matching=matching, times=times))

    def cut_within_answer(self, *, times: int | None = 1, matching: Matching = any_request) -> Rule:
        """The request is executed; the connection is cut in the first half of the answer's body."""
        return self._set(Rule(effect=Effect(cut=Cut.WITHIN), matching=matching, times=times))

    def delay(self, seconds: float, *, times: int | None = None, matching: Matching = any_request) -> Rule:
        """Hold requests for so long before the API server sees them."""
        return self._set(Rule(effect=Effect(delay=seconds), matching=matching, times=times))

    def slow(self, bytes_per_second: float, *, times: int | None = None, matching: Matching = any_request) -> Rule:
        """Let answers trickle, each on its own."""
        return self._set(Rule(effect=Effect(bytes_per_second=bytes_per_second), matching=matching, times=times))

    # Faults of watches

    def expire_next_watch(self, *, times: int | None = 1, matching: Matching = any_request) -> Rule:
        """Refuse the next matching watch with HTTP 410, before it begins."""
        return self.answer(410, times=times, matching=lambda request: request.is_watch and matching(request))

    def inject_gone(self, *, matching: Matching = any_request) -> int:
        """Tell the open watches that their version has expired (an ERROR event, 410), end and count them."""
        told = self._open(matching)
        for watch in told:
            watch.say(GONE)
            watch.end()
        return len(told)

    def cut_watches(self, *, matching: Matching = any_request) -> int:
        """Cut the connections of the open watches and count them."""
        cut = self._open(matching)
        for watch in cut:
            abort(watch.incoming)
        return len(cut)

    def cut_watch_in_line(self, *, after_events: int = 0, matching: Matching = any_request) -> Rule:
        """Let so many events pass from now on, then half of the next one's line, and cut that watch."""
        cut = Effect(cut=Cut.WITHIN)
        return self._set(Rule(effect=cut, matching=matching, skip=after_events, of_events=True))

    def delay_events(self, seconds: float, *, times: int | None = None, matching: Matching = any_request) -> Rule:
        """Deliver the events of watches, open and new, so much later than they came, in their order."""
        return self._set(Rule(effect=Effect(delay=seconds), matching=matching, times=times, of_events=True))

    def freeze_watches(self, *, matching: Matching = any_request, new: bool = True) -> int:
        """Silence the open watches (and new ones, if so wanted), with connections open, and count them.

        Nothing is lost: :meth:`thaw_watches` lets through what has gathered.
        """
        frozen = self._open(matching)
        for watch in frozen:
            watch.flowing.clear()
        if new:
            self._frozen = matching
        return len(frozen)

    def thaw_watches(self) -> None:
        self._frozen = None
        for watch in self._watches:
            watch.flowing.set()

    # Outages

    @property
    def is_down(self) -> bool:
        return self._listener is None

    async def down(self) -> None:
        """Abort every connection and refuse new ones, until :meth:`up`."""
        self._go_down()
        await self.wait_until(lambda: not self._under_way)

    async def up(self) -> None:
        """Listen again, on the same port."""
        self._stopping = False
        if self._listener is None:
            loop = asyncio.get_running_loop()
            self._listener = await loop.create_server(self._server, sock=bound_socket(self.port))

    async def heal(self) -> None:
        """End every fault."""
        for rule in self._rules:
            rule.lift()
        self.thaw_watches()
        await self.up()

    # The record

    @property
    def open_watches(self) -> list[Request]:
        """Watches whose client has been told that they began."""
        return [watch.request for watch in self._watches]

    async def wait_for(
        self, matching: Matching = any_request, *, count: int = 1, timeout: float = PATIENCE
    ) -> list[Request]:
        """The matching requests, as soon as there are so many in the record, old ones included.

        A request is in the record once it has arrived; ask for its ``status`` or ``ended`` in ``matching``
        to wait for its answer.
        """

        def found() -> list[Request]:
            return [request for request in self.requests if matching(request)]

        await self.wait_until(lambda: len(found()) >= count, timeout=timeout)
        return found()

    async def wait_until(self, condition: Callable[[], bool], *, timeout: float = PATIENCE) -> None:
        """Wait for a condition on this proxy, asked again whenever something happened here."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            seen = "".join(f"\n  {request}" for request in list(self.requests)[-10:])
            raise TimeoutError(f"not within {timeout:g} s; the last requests were:{seen or ' none'}") from None

    # How it works

    def _nth_write(self, nth: int, matching: Matching, effect: Effect) -> Rule:
        if nth < 1:
            raise ValueError(f"writes are counted from 1, not from {nth}")
        writes: Matching = lambda request: request.is_write and matching(request)  # noqa: E731
        return self._set(Rule(effect=effect, matching=writes, skip=nth - 1))

    def _set(self, rule: Rule) -> Rule:
        self._rules = [*(old for old in self._rules if not old.spent), rule]
        return rule

    def _faults_of(self, request: Request, *, events: bool = False) -> Effect:
        faults = NO_FAULTS
        for rule in self._rules:
            if rule.of_events is events and rule.strikes(request):
                faults |= rule.effect
                if rule.effect.hides_request:
                    break
        return faults

    def _open(self, matching: Matching) -> list[Watch]:
        return [watch for watch in self._watches if matching(watch.request)]

    def _go_down(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for connection in self._server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        self._changed.set()

    async def _serve(self, incoming: web.BaseRequest) -> web.StreamResponse:
        body = await incoming.content.read()
        now = asyncio.get_running_loop().time()
        request = Request.read(incoming.method, incoming.raw_path, sent_at=now)
        faults = NO_FAULTS
        self.requests.append(request)
        self._under_way.add(request)
        self._changed.set()
        try:
            if self._stopping or self.is_down:
                raise CutConnection
            faults = self._faults_of(request)
            self._stopping |= faults.stop
            response = await self._exchange(incoming, request, body, faults)
            if faults.stop:
                await self._earlier_writes(request)
            return response
        except (CutConnection, aiohttp.ClientError):
            abort(incoming)
            return web.Response()  # goes nowhere
        finally:
            request.ended = True
            self._under_way.discard(request)
            if faults.stop:
                self._go_down()
            self._changed.set()

    async def _earlier_writes(self, request: Request) -> None:
        while any(other.is_write for other in self._under_way - {request}):
            self._changed.clear()
            await self._changed.wait()

    async def _exchange(
        self, incoming: web.BaseRequest, request: Request, body: bytes, faults: Effect
    ) -> web.StreamResponse:
        await asyncio.sleep(faults.delay)
        if faults.cut is Cut.BEFORE:
            raise CutConnection
        if said := faults.answer:
            reply = await self._begin_answer(incoming, request, said.status, CIMultiDict(said.headers), faults)
            await reply.write(said.body)
            return await reply.finish()
        async with self._upstream.request(incoming, body) as upstream:
            request.server_status = upstream.status
            self.writes += request.is_write
            if faults.cut is Cut.AFTER:
                raise CutConnection
            headers = end_to_end(upstream.headers)
            reply = await self._begin_answer(incoming, request, upstream.status, headers, faults)
            if request.is_watch and upstream.status == 200 and upstream.content_type == "application/json":
                await self._relay_watch(Watch(request, incoming), upstream, reply)
            else:
                async for piece in upstream.content.iter_any():
                    await reply.write(piece)
            return await reply.finish()

    async def _begin_answer(
        self,
        incoming: web.BaseRequest,
        request: Request,
        status: int,
        headers: CIMultiDict[str],
        faults: Effect,
    ) -> Reply:
        response = web.StreamResponse(status=status, headers=headers)
        await response.prepare(incoming)
        request.status = status
        self._changed.set()
        return Reply(incoming, response, faults)

    async def _relay_watch(self, watch: Watch, upstream: aiohttp.ClientResponse, reply: Reply) -> None:
        if self._frozen and self._frozen(watch.request):
            watch.flowing.clear()
        self._watches.add(watch)
        self._changed.set()
        listening = asyncio.create_task(self._listen(watch, upstream))
        try:
            while line := await watch.next_line():
                await reply.write(line)
                watch.request.events += 1
                self._changed.set()
        except CutWithin as cut:
            await reply.write(cut.half)
            raise CutConnection from None
        finally:
            self._watches.discard(watch)
            listening.cancel()
            await asyncio.wait([listening])

    async def _listen(self, watch: Watch, upstream: aiohttp.ClientResponse) -> None:
        try:
            async for line in lines(upstream.content.iter_any()):
                watch.say(line, self._faults_of(watch.request, events=True))
            watch.end()
        except BaseException as error:
            watch.say(b"", Effect(cut=Cut.WITHIN))
            if not isinstance(error, aiohttp.ClientError):
                raise
