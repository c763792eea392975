"""Whether an identity provider answers: its discovery document and its keys, fetched as an API server would.

An API server that is told of an issuer that does not answer takes none of what it was told with it. So nobody is let
into its file who was not seen to answer first.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import urljoin, urlsplit

import aiohttp
import msgspec

from mooring.kube.errors import ConfigError
from mooring.kube.proxies import Proxy, proxy_from_environment

T = TypeVar("T")

_PATIENCE: Final = 15.0  # seconds for all of it
_MOST: Final = 1024 * 1024  # bytes of one
_REDIRECTS: Final = 5
_WELL_KNOWN: Final = "/.well-known/openid-configuration"


class Unreached(Exception):
    """It did not answer as an identity provider does; the message says how, and what to do."""


class Distrusted(Unreached):
    """Its certificate is of an authority that is not trusted."""


class _Discovery(msgspec.Struct, frozen=True):
    issuer: str
    jwks_uri: str


class _Keys(msgspec.Struct, frozen=True):
    keys: Annotated[tuple[dict[str, Any], ...], msgspec.Meta(min_length=1)]


async def check_issuer(url: str, *, authority: str) -> None:
    """Fetch what an API server needs of an issuer. ``authority`` is PEM; empty: those that this machine trusts."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority or None), force_close=True)
    # Without cookies, and without trust in the environment, whose .netrc may hold what is nobody's business.
    jar, timeout = aiohttp.DummyCookieJar(), aiohttp.ClientTimeout(total=None)
    try:
        async with (
            asyncio.timeout(_PATIENCE),
            aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=jar) as session,
        ):
            await _check(session, url)
    except TimeoutError:
        raise Unreached(f"{_shown(url)} does not answer within {_PATIENCE:g} s; it is tried again.") from None


async def _check(session: aiohttp.ClientSession, url: str) -> None:
    found = _read(_Discovery, await _fetched(session, url.removesuffix("/") + _WELL_KNOWN), "discovery document")
    if found.issuer != url:
        raise Unreached(
            f"The discovery document of {_shown(url)} says that its issuer is {_shown(found.issuer)}; "
            f"give exactly that as spec.oidc.issuer, if it is the one that you mean."
        )
    _read(_Keys, await _fetched(session, found.jwks_uri), "set of keys (jwks_uri)")


async def _fetched(session: aiohttp.ClientSession, url: str) -> bytes:
    """What is found there, as short as it may be; redirects are followed, but never out of TLS."""
    for _ in range(_REDIRECTS):
        if urlsplit(url).scheme != "https":
            raise Unreached(f"{_shown(url)} is not an https address; an issuer and its keys must be behind TLS.")
        try:
            async with session.get(url, allow_redirects=False, **_by_proxy(url)) as response:
                if response.status == 200:
                    return await _body(response, url)
                if not 300 <= response.status < 400 or "Location" not in response.headers:
                    raise Unreached(f"{_shown(url)} answers {response.status}; see whether the address is right.")
                url = urljoin(url, response.headers["Location"])
        except aiohttp.ClientConnectorCertificateError as error:
            words = getattr(error.certificate_error, "verify_message", "") or "it is not trusted"
            raise Distrusted(
                f"The certificate of {_shown(url)} is not accepted: {words}. Put the authority that has signed it into "
                f"spec.oidc.certificateAuthority of the LocalConfig, or among those that this machine trusts."
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            words = str(error) or type(error).__name__
            raise Unreached(f"{_shown(url)} cannot be reached: {words}. It is tried again.") from None
    raise Unreached(f"{_shown(url)} is reached only by more than {_REDIRECTS} redirects.")


async def _body(response: aiohttp.ClientResponse, url: str) -> bytes:
    body = b""
    async for chunk in response.content.iter_chunked(65_536):
        body += chunk
        if len(body) > _MOST:
            raise Unreached(f"What {_shown(url)} answers is longer than {_MOST} bytes.")
    return body


def _by_proxy(url: str) -> dict[str, Any]:
    """As the API server goes, whose variables are those that we have."""
    try:
        proxy: Proxy | None = proxy_from_environment(url, os.environ)
    except ConfigError as error:
        raise Unreached(f"The way to {_shown(url)} is not clear: {error}") from None
    if proxy is None:
        return {}
    user = {} if proxy.user is None else {"proxy_auth": aiohttp.BasicAuth(proxy.user, proxy.password)}
    return {"proxy": proxy.url, **user}


def _read(form: type[T], body: bytes, what: str) -> T:
    try:
        return msgspec.json.decode(body, type=form)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Unreached(f"The {what} is not one: {error}. See whether spec.oidc.issuer is right.") from None


def _shown(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"
