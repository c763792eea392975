"""Identity providers that a local cluster trusts: from those that are wanted to the file that its API server reads.

Guarantees:
    Nothing is remembered: the file and what the API server says are compared with what is wanted, each time.
    A trust that is taken back waits for nobody. It is written before anything is added, without those who do not answer
    at that time: one of them would keep the API server from taking the file. They come back when they answer.
    Whoever answers us but not the API server keeps nobody else out, neither from coming nor from going.

Assumptions:
    One at a time for each cluster.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509

from mooring.controlplane.authentication import MOST_ISSUERS, TrustedIssuer
from mooring.controlplane.errors import NotReady, NotTold
from mooring.controlplane.plane import ControlPlane
from mooring.providers.local.discovery import Distrusted, Unreached, check_issuer
from mooring.providers.sdk.provider import Issuer, Refused

UNSUPPORTED: Final = "OIDCUnsupported"

_PATIENCE: Final = 30.0  # seconds for an API server to follow its file; it needs 10 where all is well
_ADDING: Final = 25.0  # seconds in which further ones are begun with
_ASK_AGAIN: Final = 0.5
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f]")


async def settle(plane: ControlPlane, issuers: Sequence[Issuer], *, authority: str) -> Mapping[str, str]:
    """Have the control plane trust exactly these; gives, by name, why one is not trusted yet.

    ``authority`` signs the certificates of issuers, beside those authorities that the machine trusts. Raises NotReady
    if those that were trusted before still are.
    """
    if not plane.was_prepared:
        if not issuers:
            return {}
        raise NotReady("The cluster has not been started yet.")
    troubles = {one.name: why for one in issuers if (why := unfit(one, plane, authority))}
    fit = [one for one in issuers if one.name not in troubles]
    for one in fit[MOST_ISSUERS:]:
        troubles[one.name] = f"The cluster trusts {MOST_ISSUERS} identity providers already, and no more are possible."
    wanted = {one.name: _entry(one) for one in fit[:MOST_ISSUERS]}
    try:
        return troubles | await _settle(plane, wanted, authority)
    except NotTold as error:
        raise Refused(f"{error} Choose a newer one, or ask for a token (spec.token).", reason=UNSUPPORTED) from None


async def _settle(plane: ControlPlane, wanted: Mapping[str, TrustedIssuer], authority: str) -> dict[str, str]:
    trusted, in_effect = plane.trusted, await plane.trust_in_effect()
    standing = [one for one in trusted or () if _is_among(one, wanted.values(), authority)]
    if in_effect is None:
        # It would start with all that the file says, whoever answers then.
        plane.trust(standing)
        raise NotReady("The API server of the cluster does not answer.")
    if in_effect and trusted is not None and len(trusted) == len(standing) == len(wanted):
        return {}
    reached, troubles = await _reached(wanted, authority)
    kept = [one for one in standing if one in reached.values()]
    if not in_effect or trusted is None or len(kept) < len(trusted):
        kept = await _take_back(plane, kept)
    return troubles | await _add(plane, kept, {name: one for name, one in reached.items() if one not in kept})


async def _take_back(plane: ControlPlane, kept: list[TrustedIssuer]) -> list[TrustedIssuer]:
    """Trust nobody but these, or nobody at all; gives whom it trusts then."""
    plane.trust(kept)
    if await _follows(plane):
        return kept
    # One that answers us does not answer the API server, or too late. That must not keep anybody's access alive.
    if kept and await plane.trust_in_effect() is not None:
        plane.trust([])
        if await _follows(plane):
            return []
    raise NotReady("The API server of the cluster has not taken yet which identity providers it trusts no longer.")


async def _add(plane: ControlPlane, kept: list[TrustedIssuer], added: Mapping[str, TrustedIssuer]) -> dict[str, str]:
    """Trust these as well, one after the other, in any order: one that cannot be taken is alone with its trouble."""
    names = random.sample(list(added), len(added))
    end = time.monotonic() + _ADDING
    while names and time.monotonic() < end:
        plane.trust([*kept, added[names[0]]])
        if not await _follows(plane):
            plane.trust(kept)
            break
        kept = [*kept, added[names.pop(0)]]
    why = "The API server of the cluster has not taken it yet; it is tried again. The end of its log may tell why."
    return dict.fromkeys(names, why)


async def _follows(plane: ControlPlane) -> bool:
    """Wait until the API server does as the file says, but not for long."""
    try:
        async with asyncio.timeout(_PATIENCE):
            while not await plane.trust_in_effect():
                await asyncio.sleep(_ASK_AGAIN)
    except TimeoutError:
        return False
    return True


async def _reached(
    wanted: Mapping[str, TrustedIssuer], authority: str
) -> tuple[dict[str, TrustedIssuer], dict[str, str]]:
    """Those that answer, with the authority that it takes; and why the others do not."""
    answers = await asyncio.gather(*(_answering(one, authority) for one in wanted.values()))
    found = dict(zip(wanted, answers, strict=True))
    reached = {name: one for name, one in found.items() if isinstance(one, TrustedIssuer)}
    return reached, {name: str(one) for name, one in found.items() if isinstance(one, Unreached)}


async def _answering(issuer: TrustedIssuer, authority: str) -> TrustedIssuer | Unreached:
    """The issuer as it is to be trusted: by the authority that is given, if it is that one's, or by the machine's."""
    for one in dict.fromkeys((authority, "")):
        try:
            await check_issuer(issuer.url, authority=one)
        except Distrusted as error:
            last: Unreached = error
        except Unreached as error:
            return error
        else:
            return replace(issuer, authority=one)
    return last


def unfit(issuer: Issuer, plane: ControlPlane, authority: str) -> str:
    """Why an API server would not even try; empty if it would."""
    try:
        parts = urlsplit(issuer.url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme != "https" or _CONTROL.search(issuer.url):
        return "It must be an https address."
    if parts.username is not None or "?" in issuer.url or "#" in issuer.url:
        return "It may hold no user, query or fragment."
    if issuer.url == plane.issuer:
        return "That is the cluster itself, whose service accounts are trusted already."
    return unfit_authority(authority)


def unfit_authority(authority: str) -> str:
    """What is wrong with the certificates of a configuration; empty if nothing is."""
    try:
        if authority:
            x509.load_pem_x509_certificates(authority.encode("ascii"))
    except ValueError:
        return "spec.oidc.certificateAuthority of the LocalConfig holds no certificates in PEM form."
    return ""


def _is_among(trusted: TrustedIssuer, wanted: Iterable[TrustedIssuer], authority: str) -> bool:
    """Whether it is wanted, and trusted by an authority that may still vouch for it."""
    return trusted.authority in ("", authority) and replace(trusted, authority="") in wanted


def _entry(issuer: Issuer) -> TrustedIssuer:
    return TrustedIssuer(
        url=issuer.url,
        audience=issuer.client_id,
        username_claim=issuer.username_claim,
        username_prefix=issuer.username_prefix,
        groups_claim=issuer.groups_claim,
        groups_prefix=issuer.groups_prefix,
    )
