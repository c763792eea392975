"""Bar ``client``: 2,000 creates and 2,000 status patches at concurrency 32; floor: bare aiohttp with prepared bytes.

Run as a process of its own: ``writing.py ours|bare KUBECONFIG`` prints writes per second. Both sides read and drop
the answer's bytes or decode them as the client does for every user.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import uvloop

COUNT, AT_ONCE = 2_000, 32
_PATH = "/api/v1/persistentvolumes"


async def client() -> list:
    from bench.bars import Limit, compared, take_turns
    from bench.grounds import landscape

    async with landscape() as made:
        value, floor = await take_turns("client", lambda _: _side(made, "ours"), lambda _: _side(made, "bare"))
    return [compared("client", value, floor, "writes/s", Limit("≥ 0.85 of its rate", at_least=0.85))]


async def _side(made, side: str) -> float:
    from bench.grounds import fresh_plane, number_from

    async with fresh_plane(made) as plane:
        file = plane.directory / "bench.kubeconfig"
        file.write_text(json.dumps(plane.admin_kubeconfig(name="bench")))
        return await number_from(Path(__file__), side, file)


def volume(number: int) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"volume-{number}"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}},
    }


def phase(number: int) -> dict:
    return {"status": {"phase": "Available", "message": f"number {number}"}}


async def rate(create: Callable[[int], Awaitable], patch: Callable[[int], Awaitable]) -> float:
    await create(COUNT)  # the connection and the server's first time are not what is measured
    begun = time.perf_counter()
    for deed in (create, patch):
        numbers = iter(range(COUNT))

        async def work(deed=deed, numbers=numbers) -> None:
            for number in numbers:
                await deed(number)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return 2 * COUNT / (time.perf_counter() - begun)


async def ours(document: dict) -> float:
    from mooring.kube import Client, MergePatch, connection_from_document, untyped

    volumes = untyped(plural="persistentvolumes", kind="PersistentVolume", namespaced=False)
    async with Client(connection_from_document(document)) as kube:
        return await rate(
            lambda number: kube.create(volumes, volume(number)),
            lambda number: kube.patch(volumes, f"volume-{number}", MergePatch(phase(number)), subresource="status"),
        )


async def bare(document: dict) -> float:
    server = document["clusters"][0]["cluster"]["server"]
    creates = [json.dumps(volume(number)).encode() for number in range(COUNT + 1)]
    patches = [json.dumps(phase(number)).encode() for number in range(COUNT)]
    json_type = {"Content-Type": "application/json"}
    merge_type = {"Content-Type": "application/merge-patch+json"}
    connector = aiohttp.TCPConnector(ssl=_tls(document), limit=64)
    async with aiohttp.ClientSession(server, connector=connector) as session:

        async def create(number: int) -> None:
            async with session.post(_PATH, data=creates[number], headers=json_type) as answer:
                await answer.read()
                assert answer.status == 201

        async def patch(number: int) -> None:
            path = f"{_PATH}/volume-{number}/status"
            async with session.patch(path, data=patches[number], headers=merge_type) as answer:
                await answer.read()
                assert answer.status == 200

        return await rate(create, patch)


def _tls(document: dict) -> ssl.SSLContext:
    user, cluster = document["users"][0]["user"], document["clusters"][0]["cluster"]
    context = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as file:
        file.write(b64decode(user["client-key-data"]) + b64decode(user["client-certificate-data"]))
        file.flush()
        context.load_cert_chain(file.name)
    return context


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[2]).read_text())
    print(uvloop.run(ours(given) if sys.argv[1] == "ours" else bare(given)))
