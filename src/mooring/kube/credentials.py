"""Who we are to an API server.

A credential answers one question, `identity()`: which header and which client certificate to show now. Some
answers never change, some are read again from a file, some come from a program (`execplugin`). After a 401
the client says `forget()` and asks once more; a credential that has nothing better to offer answers False.
"""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mooring.api.kubeconfigs import ClientCertificate
from mooring.kube.errors import ConfigError, NoCredentials

# In a cluster the token file is replaced under us about every hour; asking the disk once a minute is soon
# enough.
_REREAD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Identity:
    """What is shown to the server: the Authorization header, and a certificate at the handshake."""

    authorization: str | None = field(default=None, repr=False)
    certificate: ClientCertificate | None = None


class Credentials(Protocol):
    """A source of identities."""

    async def identity(self) -> Identity: ...

    def forget(self) -> bool:
        """Drop what is remembered; True if the next identity may differ."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """An identity that was given once: token, basic authentication, certificate, or nobody in particular."""

    known: Identity = field(default_factory=Identity)

    async def identity(self) -> Identity:
        return self.known

    def forget(self) -> bool:
        return False


def anonymous() -> Fixed:
    return Fixed()


def bearer(token: str, *, certificate: ClientCertificate | None = None) -> Fixed:
    return Fixed(Identity(authorization=bearer_header(token), certificate=certificate))


def basic(user: str, password: str, *, certificate: ClientCertificate | None = None) -> Fixed:
    return Fixed(Identity(authorization=basic_header(user, password), certificate=certificate))


def certificate_only(certificate: ClientCertificate) -> Fixed:
    return Fixed(Identity(certificate=certificate))


def basic_header(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def bearer_header(token: str) -> str:
    """The header for a token, which must be something that a header can hold."""
    if not token.isascii() or not token.isprintable() or not token.strip():
        raise ConfigError("the token is empty or holds characters that no token has", field="token")
    return f"Bearer {token}"


@dataclass(slots=True)
class TokenFile:
    """A token that somebody else keeps fresh in a file."""

    path: Path
    certificate: ClientCertificate | None = None
    _known: Identity | None = field(default=None, repr=False)
    _read_at: float = field(default=0.0, repr=False)

    async def identity(self) -> Identity:
        now = time.monotonic()
        if self._known is None or now - self._read_at > _REREAD_SECONDS:
            self._known = self._read()
            self._read_at = now
        return self._known

    def forget(self) -> bool:
        self._known = None
        return True

    def _read(self) -> Identity:
        try:
            token = self.path.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise NoCredentials(
                "the token file cannot be read",
                file=str(self.path),
                field="tokenFile",
                remedy="Check that it exists and that this user may read it",
            ) from error
        return Identity(authorization=bearer_header(token), certificate=self.certificate)
