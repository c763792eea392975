"""What the tests of the binaries share: a small toolset, a loopback stand-in for release hosts, a process.

The process (``python binaries_kit.py <recipe directory> [means]``) fetches and says aloud how far it is.

The stand-in is no release host: it speaks real HTTP on a real socket, but hands out shell scripts.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import io
import signal
import ssl
import sys
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mooring.controlplane.binaries import Means, fetch_binaries
from mooring.controlplane.errors import BinariesError
from mooring.controlplane.progress import Unit
from mooring.controlplane.toolsets import NamedDirectory, Release, Stamp, Tool, Toolset, architecture

VERSION = "v1.2.3"
ALPHA = f"releases.example.test/{VERSION}/{architecture()}/alpha"
BETA_FOLDER = f"archives.example.test/{VERSION}"
BETA_FILE = f"beta-{architecture()}.tar.gz"

GO_MOD = f"""module example.test/tools

go 1.26.0

require example.test/greeter {VERSION}

replace example.test/greeter => ./greeter
"""
GREETER = """package main

import "fmt"

var version = "unstamped"
var minor = "unstamped"

func main() { fmt.Println("greeter", version, minor) }
"""


def script(name: str, version: str = VERSION) -> bytes:
    """A small executable that tells its version."""
    return f"#!/bin/sh\necho {name} {version}\n".encode()


def write_recipe(directory: Path, *, go: str = "1.26.0", source: str = GREETER) -> Path:
    """A directory with a ``go.mod`` and the Go program that it requires, so that a build needs no network."""
    greeter = directory / "greeter"
    greeter.mkdir(parents=True)
    (directory / "go.mod").write_text(GO_MOD.replace("go 1.26.0", f"go {go}"))
    (greeter / "go.mod").write_text(f"module example.test/greeter\n\ngo {go}\n")
    (greeter / "main.go").write_text(source)
    return directory


def toolset_at(recipe: Path) -> Toolset:
    """Two programs: alpha is released as it is, beta in an archive. Both can be compiled too."""
    stamps = (Stamp("main.version", "{version}"), Stamp("main.minor", "{minor}"))
    alpha = Release(
        address="https://releases.example.test/{version}/{arch}/{name}",
        checksum="https://releases.example.test/{version}/{arch}/{name}.sha256",
    )
    beta = Release(
        address="https://archives.example.test/{version}/{name}-{arch}.tar.gz",
        checksum="https://archives.example.test/{version}/SHA256SUMS",
        member="beta-{version}/beta",
    )
    package = "example.test/greeter"
    return Toolset(
        name="greeters",
        recipe_directory=recipe,
        module=package,
        tools=(
            Tool(name="alpha", package=package, module=package, stamps=stamps, release=alpha),
            Tool(name="beta", package=package, module=package, stamps=stamps, release=beta),
        ),
        named_directories=(
            NamedDirectory("MOORING_BINARIES", complete=True),
            NamedDirectory("KUBEBUILDER_ASSETS", complete=False),
        ),
    )


@dataclass
class Recorder:
    """A progress that remembers what it was told."""

    steps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    advances: list[tuple[int, int | None, Unit]] = field(default_factory=list)

    def step(self, what: str) -> None:
        self.steps.append(what)

    def advance(self, done: int, total: int | None, *, unit: Unit, detail: str = "") -> None:
        self.advances.append((done, total, unit))

    def note(self, text: str) -> None:
        self.notes.append(text)


@dataclass
class StandIn:
    """A stand-in for the release hosts, in the layout of a mirror. `files` may be changed while it runs."""

    address: str
    files: dict[str, bytes]
    requests: list[str] = field(default_factory=list)
    cut_after: dict[str, int] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    hold: threading.Event = field(default_factory=threading.Event)

    def publish_alpha(self, content: bytes) -> None:
        self.files[ALPHA] = content
        self.files[f"{ALPHA}.sha256"] = hashlib.sha256(content).hexdigest().encode()

    def publish_beta(self, archive: bytes) -> None:
        digest = hashlib.sha256(archive).hexdigest()
        self.files[f"{BETA_FOLDER}/{BETA_FILE}"] = archive
        self.files[f"{BETA_FOLDER}/SHA256SUMS"] = f"{'0' * 64}  other.zip\n{digest}  {BETA_FILE}\n".encode()


def archive_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A gzipped tar archive with exactly these members, however hostile."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def member(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    """An ordinary file in an archive."""
    return tarfile.TarInfo(name), content


@contextlib.contextmanager
def standing_in(tls: ssl.SSLContext | None = None) -> Iterator[StandIn]:
    """A running stand-in that publishes alpha and beta."""
    here = StandIn(address="", files={})
    here.hold.set()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            here.requests.append(path)
            here.hold.wait(30)
            content = here.files.get(path)
            if path in here.moved:
                self.send_response(302)
                self.send_header("Location", here.moved[path])
                self.end_headers()
            elif content is None:
                self.send_error(404)
            else:
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: here.cut_after.get(path)])

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here.address = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    here.publish_alpha(script("alpha"))
    here.publish_beta(archive_of(member(f"beta-{VERSION}/beta", script("beta"))))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield here
    finally:
        here.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()


class Spoken(Recorder):
    """A progress that says everything on stderr, for a process that a test listens to."""

    def step(self, what: str) -> None:
        print("step:", what, file=sys.stderr, flush=True)

    def advance(self, done: int, total: int | None, *, unit: Unit, detail: str = "") -> None:
        print("advance:", done, total, unit, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        print("note:", text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    # A shell's background job inherits SIGINT as ignored; here it means Ctrl-C, however tests are started.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = fetch_binaries(toolset_at(Path(sys.argv[1])), progress=Spoken(), means=Means((*sys.argv, "any")[2]))
    except BinariesError as error:
        sys.exit(str(error))
    print(*found.directories)
