"""Asking a server on this machine whether it is well, and etcd to do something.

Small blocking requests on one kept connection, run in a thread. API objects are none of this room's business: they
go through ``mooring.kube``.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import ssl
from dataclasses import dataclass, field

from mooring.api.kubeconfigs import ClientCertificate
from mooring.controlplane.ports import LOOPBACK

POLL = 0.01  # seconds between two questions to a server that is starting
_ANSWER = 5.0  # seconds that an answer may take


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    body: bytes


@dataclass(slots=True, eq=False)
class Prober:
    """One server on loopback, asked over TLS."""

    port: int
    ca: bytes
    certificate: ClientCertificate | None = None
    _context: ssl.SSLContext = field(init=False, repr=False)
    _connection: http.client.HTTPSConnection | None = field(default=None, init=False, repr=False)
    _closed: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._context = tls_context(self.ca, self.certificate)

    async def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer | None:
        """The answer, or None if nobody answered."""
        return await asyncio.to_thread(self._ask, method, path, body, headers or {})

    async def is_well(self, path: str) -> bool:
        answer = await self.ask("GET", path)
        return answer is not None and answer.code == http.client.OK

    def close(self) -> None:
        """Also while it is asked: whoever was cancelled leaves a thread behind, which hangs up when it is done."""
        self._closed = True
        self._hang_up()

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer | None:
        was_kept = self._connection is not None
        connection = self._connection or http.client.HTTPSConnection(
            LOOPBACK, self.port, timeout=_ANSWER, context=self._context
        )
        self._connection = connection
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read())
        except TimeoutError:
            self._hang_up()
            return None
        except (OSError, http.client.HTTPException):
            self._hang_up()
        finally:
            if self._closed:
                connection.close()  # it may have been opened after we were closed
        # A server that was restarted has closed what was kept, without having heard the question.
        return self._ask(method, path, body, headers) if was_kept and not self._closed else None


def tls_context(ca: bytes, certificate: ClientCertificate | None) -> ssl.SSLContext:
    """Trust in one authority, and perhaps a certificate to show; the key does not touch the disk."""
    context = ssl.create_default_context(cadata=ca.decode("ascii"))
    if certificate is not None:
        # OpenSSL's Python door takes files only: this one exists in memory and has no name.
        memory = os.memfd_create("certificate")
        with contextlib.closing(os.fdopen(memory, "wb")) as file:
            file.write(certificate.key + certificate.certificate)
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{memory}")
    return context
