"""TLS contexts from PEM text that never touches a disk.

Python's ssl reads a certificate chain from files only; `_as_file` gives it a file that lives in memory.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from mooring.api.kubeconfigs import ClientCertificate
from mooring.kube.errors import ConfigError


def tls_context(
    *, ca: bytes | None, insecure: bool = False, certificate: ClientCertificate | None = None
) -> ssl.SSLContext:
    """How to know the server (by `ca`, else by the system's authorities) and be known to it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca is None:
        context.load_default_certs()
    else:
        _trust(context, ca)
    if certificate is not None:
        _present(context, certificate)
    return context


def _trust(context: ssl.SSLContext, ca: bytes) -> None:
    try:
        context.load_verify_locations(cadata=ca.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            "this is not a list of PEM certificates",
            field="certificate-authority-data",
            remedy="Give the certificate of the authority that signed the server's certificate",
        ) from error


def _present(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    try:
        with _as_file(certificate.certificate) as chain, _as_file(certificate.key) as key:
            context.load_cert_chain(chain, key, password=_no_password)
    except (ssl.SSLError, ValueError, OSError) as error:
        # The library's text is not repeated: it may quote what it could not read.
        raise ConfigError(
            "the client certificate and its key cannot be used",
            field="client-certificate-data, client-key-data",
            remedy="Both must be PEM, belong to each other, and the key must not be encrypted",
        ) from error


def _no_password() -> str:
    # Without this, OpenSSL would stop the process and ask at the terminal.
    raise ValueError("the key is encrypted")


@contextmanager
def _as_file(pem: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, pem)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile(prefix="mooring-") as file:  # 0600, and gone with the block
        file.write(pem)
        file.flush()
        yield file.name
