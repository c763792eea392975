"""A real identity provider for tests: discovery, keys and signed tokens over TLS, under an authority of its own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import ipaddress
import json
import ssl
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from mooring.kube import Client, Connection, untyped
from mooring.kube.credentials import bearer
from mooring.kube.errors import Forbidden, Unauthorized
from mooring.providers.sdk.provider import Issuer
from mooring.runtime import TryAgain
from mooring.testing.managers import until

CLIENT = "kubernetes"
REVIEWS = untyped(
    plural="selfsubjectreviews", kind="SelfSubjectReview", group="authentication.k8s.io", namespaced=False
)


class Authority:
    """Signs the certificates of identity providers on loopback."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"test {uuid.uuid4().hex[:8]}")])
        basic = x509.BasicConstraints(ca=True, path_length=0)
        builder = _certificate(self._name, self._key.public_key(), self._name).add_extension(basic, critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> str:
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def context(self, directory: Path) -> ssl.SSLContext:
        """For a server at 127.0.0.1."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer")])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = _certificate(name, key.public_key(), self._name).add_extension(names, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        file = directory / f"{uuid.uuid4().hex}.pem"
        plain = serialization.NoEncryption()
        file.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
            + signed.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def _certificate(subject: x509.Name, key: Any, issuer: x509.Name) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )


@dataclass
class IdentityProvider:
    """One issuer, at a port of its own. One that is down keeps the port, or somebody else might take it."""

    authority: Authority
    directory: Path
    port: int = 0
    down: bool = False
    shy: bool = False  # down, but only for API servers
    told: str | None = None  # instead of its own name in the discovery document
    redirects: str = ""  # where somebody who asks for the keys is sent
    _runner: web.AppRunner | None = None

    def __post_init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
        self._context = self.authority.context(self.directory)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def token(self, user: str, *groups: str, audience: str = CLIENT, **claims: Any) -> str:
        """Signed, and good for an hour."""
        now = int(time.time())
        body = {"iss": self.url, "aud": audience, "iat": now - 60, "exp": now + 3600, "sub": user, "groups": groups}
        head = {"alg": "RS256", "typ": "JWT", "kid": "one"}
        text = f"{_text(head)}.{_text(body | claims)}"
        return f"{text}.{_base64(self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    async def start(self) -> None:
        application = web.Application()
        application.router.add_get("/.well-known/openid-configuration", self._discovery)
        application.router.add_get("/keys", self._keys)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._context).start()
        self.port = runner.addresses[0][1]
        self._runner = runner

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _discovery(self, request: web.Request) -> web.Response:
        self._answer(request)
        return web.json_response(
            {
                "issuer": self.told or self.url,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/login",
                "token_endpoint": f"{self.url}/token",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    def _answer(self, request: web.Request) -> None:
        if self.down or (self.shy and request.headers.get("User-Agent", "").startswith("Go")):
            raise web.HTTPServiceUnavailable

    async def _keys(self, request: web.Request) -> web.Response:
        self._answer(request)
        if self.redirects:
            raise web.HTTPFound(self.redirects)
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one"}
        return web.json_response({"keys": [{**key, "n": _number(numbers.n), "e": _number(numbers.e)}]})


@contextlib.asynccontextmanager
async def identity_provider(authority: Authority, directory: Path, **how: Any) -> AsyncIterator[IdentityProvider]:
    provider = IdentityProvider(authority, directory, **how)
    await provider.start()
    try:
        yield provider
    finally:
        await provider.stop()


def issuer(provider: IdentityProvider, name: str, **parts: Any) -> Issuer:
    usual = {
        "client_id": CLIENT,
        "username_claim": "sub",
        "username_prefix": f"{name}:",
        "groups_claim": "groups",
        "groups_prefix": f"{name}:",
    }
    return Issuer(**{"name": name, "url": provider.url} | usual | parts)


@dataclass(frozen=True)
class Whoever:
    """Whom a cluster takes the bearer of a token for."""

    name: str
    groups: tuple[str, ...]


async def who(cluster: Connection, token: str) -> Whoever | None:
    """Whom the cluster takes the bearer for; None if it lets the bearer not in."""
    async with Client(Connection(server=cluster.server, ca=cluster.ca, credentials=bearer(token))) as client:
        try:
            answer = await client.create(
                REVIEWS, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            )
        except Unauthorized:
            return None
    user = answer["status"]["userInfo"]
    return Whoever(user["username"], tuple(user.get("groups", ())))


async def can_list(cluster: Connection, token: str, resource: Any, *, namespace: str | None = None) -> bool | None:
    """None: it is not let in at all."""
    async with Client(Connection(server=cluster.server, ca=cluster.ca, credentials=bearer(token))) as client:
        try:
            await client.list(resource, namespace=namespace, page=1)
        except Forbidden:
            return False
        except Unauthorized:
            return None
        return True


async def refused(cluster: Connection, token: str) -> None:
    """Until the cluster lets the bearer not in any more."""

    async def is_refused() -> bool:
        return await who(cluster, token) is None

    await until(is_refused, "the token is refused", patience=200.0)


async def told(provider: Any, order: Any, issuers: list[Issuer]) -> dict[str, str]:
    """Why some are not trusted yet. A busy API server may not answer at once, and is asked again, as by the SDK."""
    while True:
        try:
            return dict(await provider.oidc(order, issuers))
        except TryAgain:
            await asyncio.sleep(0.2)


async def settled(provider: Any, order: Any, issuers: list[Issuer]) -> None:
    """Ask until all of them are trusted."""

    async def is_settled() -> bool:
        return not await told(provider, order, issuers)

    await until(is_settled, "all of them are trusted", patience=250.0)


def _text(document: Any) -> str:
    return _base64(json.dumps(document).encode())


def _number(number: int) -> str:
    return _base64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
