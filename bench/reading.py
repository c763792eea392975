"""Bar ``watch-burst``: 50,000 recorded events from loopback, decoded to objects; floor: read and decode them bare.

A real API server's watch is recorded first (creates, changes and deletions of ConfigMaps of about 1 KB), and replayed
over and over by a process of its own: ``reading.py serve|ours|bare FILE PORT``. Both sides decode with one decoder.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import uvloop

EVENTS, RECORDED = 50_000, 500
_CHUNK = 32 * 1024


async def watch_burst() -> list:
    from bench.bars import Limit, compared, take_turns
    from bench.grounds import directory, landscape, number_from

    with directory() as path:
        async with landscape() as made:
            lines = await record(made)
        file = path / "events"
        file.write_bytes(b"".join(played_on(lines)))
        async with replaying(file) as port:
            value, floor = await take_turns(
                "watch-burst",
                lambda _: number_from(Path(__file__), "ours", file, str(port)),
                lambda _: number_from(Path(__file__), "bare", file, str(port)),
            )
    return [compared("watch-burst", value, floor, "events/s", Limit("≥ 0.6 of its rate", at_least=0.6))]


def played_on(lines: list[bytes]) -> Iterator[bytes]:
    """The recording again and again, with revisions that go on: a server's never go back within a watch."""
    revisions = [int(re.search(rb'"resourceVersion":"(\d+)"', line)[1]) for line in lines]
    span = revisions[-1] - revisions[0] + 1
    for turn in range(EVENTS // len(lines)):
        for line, revision in zip(lines, revisions, strict=True):
            now = b'"resourceVersion":"%d"' % (revision + turn * span)
            yield line.replace(b'"resourceVersion":"%d"' % revision, now, 1)


async def record(made) -> list[bytes]:
    """The bytes of a real watch, a line each."""
    from mooring.kube import Client, connection_from_document
    from mooring.testing.builders import CONFIG_MAPS, config_map

    async with Client(connection_from_document(made.admin_kubeconfig())) as kube:
        revision = (await kube.list(CONFIG_MAPS, namespace="default")).resource_version
        data = {f"key-{number}": "value " * 10 for number in range(8)}
        for number in range(RECORDED // 5):
            name = f"recorded-{number}"
            await kube.create(CONFIG_MAPS, config_map(name, "default", data))
            for change in range(3):
                await kube.replace(CONFIG_MAPS, config_map(name, "default", data | {"change": str(change)}))
            await kube.delete(CONFIG_MAPS, name, namespace="default")
        path = "/api/v1/namespaces/default/configmaps"
        since = {"watch": "true", "resourceVersion": revision, "timeoutSeconds": "2"}
        body = await kube.raw("GET", path, parameters=since)
    lines = body.splitlines(keepends=True)
    assert len(lines) == RECORDED, len(lines)
    return lines


@contextlib.asynccontextmanager
async def replaying(file: Path):
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "serve", file, "0", stdout=asyncio.subprocess.PIPE
    )
    try:
        yield int(await process.stdout.readline())
    finally:
        process.terminate()
        await process.wait()


async def serve(file: Path) -> None:
    """A stand-in that plays the recording to whoever watches, and an empty list to whoever lists."""
    body = file.read_bytes()
    chunks = [body[at : at + _CHUNK] for at in range(0, len(body), _CHUNK)]
    framed = [b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks]
    empty = b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[]}'

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                if b"watch=" in head:
                    writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
                    for frame in framed:
                        writer.write(frame)
                        await writer.drain()
                else:
                    writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(empty), empty))

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def ours(port: str) -> float:
    from mooring.kube import Changed, Client, Connection, Deleted, untyped, watching

    maps = untyped(plural="configmaps", kind="ConfigMap")
    async with Client(Connection(server=f"http://127.0.0.1:{port}")) as kube:
        begun, count = time.perf_counter(), 0
        async with contextlib.aclosing(watching(kube, maps)) as events:
            async for event in events:
                if isinstance(event, (Changed, Deleted)):
                    count += 1
                    if count == EVENTS:
                        break
        return EVENTS / (time.perf_counter() - begun)


async def bare(port: str) -> float:
    from mooring.kube import untyped
    from mooring.kube.decoding import decoders_for

    decode = decoders_for(untyped(plural="configmaps", kind="ConfigMap"))._line.decode_lines
    async with aiohttp.ClientSession() as session:
        begun, count, rest = time.perf_counter(), 0, b""
        async with session.get(f"http://127.0.0.1:{port}/api/v1/configmaps?watch=true") as answer:
            while count < EVENTS:
                block = rest + await answer.content.readany()
                end = block.rfind(b"\n") + 1
                count += len(decode(block[:end]))
                rest = block[end:]
        return EVENTS / (time.perf_counter() - begun)


if __name__ == "__main__":
    side, given, at = sys.argv[1:]
    if side == "serve":
        with contextlib.suppress(KeyboardInterrupt):
            uvloop.run(serve(Path(given)))
    else:
        print(uvloop.run(ours(at) if side == "ours" else bare(at)))
