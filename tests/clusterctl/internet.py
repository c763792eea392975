"""An internet on this machine: names of real hosts lead to stand-ins (see `hosts`), for the judge and for ours alike.

Both go through the proxy that HTTPS_PROXY names and trust the authority in SSL_CERT_FILE, so neither needs to know.
"""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from hosts import StandIn

from mooring.controlplane.certificates import ensure_authority, ensure_server


class Internet:
    """A proxy that ends TLS itself and hands each connection to the stand-in of the host that was asked for."""

    def __init__(self, folder: Path, hosts: Mapping[str, StandIn]) -> None:
        authority = ensure_authority(folder, "ca")
        ensure_server(authority, folder, "server", *hosts)
        self._authority = folder / "authority.pem"
        self._authority.write_bytes(authority.pem)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(folder / "server.crt", folder / "server.key")
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler(hosts))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def environ(self) -> dict[str, str]:
        """What leads a program into it."""
        proxy = f"http://127.0.0.1:{self._server.server_port}"
        return {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": "", "SSL_CERT_FILE": str(self._authority)}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self, hosts: Mapping[str, StandIn]) -> type[http.server.BaseHTTPRequestHandler]:
        context = self._tls

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                stand_in = hosts.get(self.path.rpartition(":")[0])
                if stand_in is None:
                    self.send_error(502)
                    return
                self.send_response(200)
                self.end_headers()
                with context.wrap_socket(self.connection, server_side=True) as connection:
                    stand_in.handler()(connection, self.client_address, self.server)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        return Handler
