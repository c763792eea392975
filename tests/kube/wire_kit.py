"""What the tests of the wire share: kinds, small objects, and a peer that misbehaves on purpose.

The peer is no API server and pretends no verbs: it sends bytes that a test wrote down, for faults that the proxy in
front of the real server has no word for.
"""

import asyncio
from contextlib import asynccontextmanager

from mooring.kube import untyped

CONFIG_MAPS = untyped(plural="configmaps", kind="ConfigMap")
SECRETS = untyped(plural="secrets", kind="Secret")
SERVICE_ACCOUNTS = untyped(plural="serviceaccounts", kind="ServiceAccount")
NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
ROLES = untyped(group="rbac.authorization.k8s.io", plural="clusterroles", kind="ClusterRole", namespaced=False)

OURS = "for=test"  # a controller manager may put objects of its own into a namespace


def config_map(name, namespace, **data):
    metadata = {"name": name, "namespace": namespace, "labels": {"for": "test"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Cut(bytes):
    """Said last: the connection is closed after it."""


class Peer:
    """Answers each request with what `script` returns for it: bytes, or None to close without a word."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        self._asked = asyncio.Event()

    async def until(self, condition):
        async with asyncio.timeout(120):
            while not condition():
                self._asked.clear()
                await self._asked.wait()

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                for line in head.split("\r\n"):
                    if line.lower().startswith("content-length:"):
                        await reader.readexactly(int(line.split(":")[1]))
                self.requests.append(head.split("\r\n")[0])
                self._asked.set()
                answer = self.script(len(self.requests), head)
                if answer is None:
                    return
                writer.write(answer)
                await writer.drain()
                if isinstance(answer, Cut):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away
        finally:
            writer.close()


@asynccontextmanager
async def misbehaving(script):
    peer = Peer(script)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield peer
    finally:
        server.close()


def answer(body, *, status="200 OK", headers=""):
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def stream(*lines):
    """The beginning of a watch, left open."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n" % len(line) + line + b"\r\n" for line in lines)


class Tunnel:
    """A proxy that can do nothing but CONNECT."""

    def __init__(self):
        self.heads = []

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        host, _, port = head.split()[1].rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))

    async def _carry(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def tunnelling():
    tunnel = Tunnel()
    server = await asyncio.start_server(tunnel.serve, "127.0.0.1", 0)
    tunnel.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield tunnel
    finally:
        server.close()
