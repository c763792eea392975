"""Bytes of a watch as they come, cut into blocks of whole lines.

A block is everything up to the last line end that has arrived, so a burst of small lines costs one join and
one decode, and a line of megabytes is put together once, when its end is there.
"""

from __future__ import annotations

from typing import Self

import aiohttp

from mooring.kube.errors import BadAnswer, Unreachable

_LONGEST_LINE = 64 * 1024 * 1024


class LineSplitter:
    """Keeps the unfinished rest of a line as the pieces it came in."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """How many bytes of an unfinished line are held."""
        return self._waiting

    def feed(self, chunk: bytes) -> bytes:
        """The whole lines that `chunk` completes, or nothing yet."""
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            self._hold(chunk)
            return b""
        block = chunk[:end]
        if self._pieces:
            self._pieces.append(block)
            block = b"".join(self._pieces)
            self._pieces = []
            self._waiting = 0
        if end < len(chunk):
            self._hold(chunk[end:])
        return block

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self._waiting += len(piece)


class Blocks:
    """The blocks of one watch connection. A connection that ends inside a line is a fault, not an end."""

    def __init__(self, reader: aiohttp.StreamReader, *, path: str) -> None:
        self._reader = reader
        self._path = path
        self._splitter = LineSplitter()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        splitter = self._splitter
        while chunk := await self._reader.readany():
            block = splitter.feed(chunk)
            if block:
                return block
            if splitter.waiting > _LONGEST_LINE:
                raise BadAnswer("a line that does not end", verb="GET", path=self._path)
        if splitter.waiting:
            raise Unreachable("the watch was cut inside a line", verb="GET", path=self._path)
        raise StopAsyncIteration
