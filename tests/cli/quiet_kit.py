"""A platform that nobody else works on, for the words about requests.

Other tests run controllers on the run's own platform, and those would answer the requests that are made here.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from landscape_kit import MOORING, Ended
from mooring.api.crds import definitions
from mooring.app.installing import install
from mooring.cli.main import main
from mooring.controlplane.landscape import Landscape
from mooring.controlplane.plane import new_identity
from mooring.kube import Client, Connection, connection_from_document
from mooring.testing.builders import NAMESPACES, namespace_object


def called(*words: str, code: int | None = 0) -> Ended:
    """What the program does with these words, from its first function on, without the cost of a process.

    In a thread: a command has an event loop of its own, and so has the test that waits for it here.
    """
    out, err = io.StringIO(), io.StringIO()

    def run() -> int:
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        return 0

    before, sys.argv = sys.argv, ["mooring", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), ThreadPoolExecutor(1) as thread:
            result = Ended(thread.submit(run).result(), out.getvalue(), err.getvalue())
    finally:
        sys.argv = before
    assert "Traceback" not in result.err, result.err
    assert "internal error" not in result.err, result.err
    assert code is None or result.code == code, f"mooring {words}: {result}"
    return result


@dataclass(frozen=True, slots=True)
class Quiet:
    """A platform with our kinds and without any controller of ours: what is written to it stays as it is."""

    connection: Connection
    kubeconfig: Path

    def run(self, *words: str, code: int | None = 0) -> Ended:
        """Run the real command on it to its end, which must come with the code."""
        return called(*words, "--kubeconfig", str(self.kubeconfig), code=code)

    def begin(self, directory: Path, *words: str) -> Begun:
        out, err = directory / "out", directory / "err"
        with out.open("wb") as to_out, err.open("wb") as to_err:
            process = subprocess.Popen(
                [str(MOORING), *words, "--kubeconfig", str(self.kubeconfig)],
                stdin=subprocess.DEVNULL,
                stdout=to_out,
                stderr=to_err,
                env=_environment(),
            )
        return Begun(process, out, err)

    async def late(self, directory: Path, *words: str) -> Ended:
        """Run the command with a wait that is over at once, perhaps in the middle of a handshake.

        As a process: what is left of such a connection then goes with it.
        """
        ended = await self.begin(directory, *words, "--wait", "--timeout", "100ms").ended()
        assert ended.code == 1, ended
        return ended


PATIENCE = 200.0  # seconds; only ever used up by a test that fails


@dataclass(frozen=True, slots=True)
class Begun:
    """A command that runs beside the test."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    async def until_said(self, phrase: str) -> None:
        """Until stderr has the phrase; a command that ended without it fails the test."""

        async def ask() -> bool:
            ended = self.process.poll() is not None
            said = phrase in self.err.read_text()
            assert said or not ended, f"{phrase!r} was never said: {self.err.read_text()}"
            return said

        await until(ask, f"it says {phrase!r}")

    async def ended(self) -> Ended:
        code = await asyncio.to_thread(self.process.wait, PATIENCE)
        result = Ended(code, self.out.read_text(), self.err.read_text())
        assert "Traceback" not in result.err, result.err
        return result


async def until(ask: Callable[[], Awaitable[Any]], what: str) -> Any:
    async with asyncio.timeout(PATIENCE):
        while not (answer := await ask()):
            await asyncio.sleep(0.02)
    assert answer, what
    return answer


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "MOORING_DEBUG")}


@pytest.fixture(scope="session")
def quiet(landscape: Landscape, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quiet]:
    plane = landscape.control_plane(new_identity())
    kubeconfig = tmp_path_factory.mktemp("quiet") / "kubeconfig"

    async def start() -> Connection:
        await plane.start()
        document = plane.admin_kubeconfig(name="quiet")
        kubeconfig.write_bytes(msgspec.json.encode(document))
        connection = connection_from_document(document)
        async with Client(connection) as client:
            await install(client, definitions())
        return connection

    async def delete() -> None:
        await plane.delete()
        landscape.etcd.close()

    # One loop for its beginning and its end: that is where its processes are watched.
    with asyncio.Runner() as runner:
        try:
            yield Quiet(runner.run(start()), kubeconfig)
        finally:
            runner.run(delete())


@pytest.fixture
async def there(quiet: Quiet) -> AsyncIterator[Client]:
    """A client of the quiet platform."""
    async with Client(quiet.connection) as client:
        yield client


@pytest.fixture
async def room(there: Client) -> str:
    """A fresh namespace on it. It goes with the platform."""
    name = f"room-{uuid4().hex[:8]}"
    await there.create(NAMESPACES, namespace_object(name))
    return name
