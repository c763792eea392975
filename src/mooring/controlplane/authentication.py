"""Whom an API server believes: the file that it is given at its start, and reads again whenever it changes.

Service accounts and client certificates are no part of it. What is here are the issuers of OpenID Connect, and how
their tokens become users and groups. The document and nothing else: who writes it is ``plane``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from mooring.controlplane.files import state_text

MOST_ISSUERS: Final = 64  # an API server takes no more

_HEALTH_PATHS: Final = ("/livez", "/readyz", "/healthz")
# What begins so is Kubernetes' own, system:masters above all, or ours; no identity provider may say who that is, even
# if nothing is put before what it says.
_OWN_NAMES: Final = tuple(
    rule
    for own in ("system:", "mooring:")
    for rule in (
        (f"!user.username.startsWith('{own}')", f"the name of a user may not begin with '{own}'"),
        (f"user.groups.all(group, !group.startsWith('{own}'))", f"the name of a group may not begin with '{own}'"),
    )
)
_IN_EFFECT: Final = re.compile(
    rb'^apiserver_authentication_config_controller_last_config_info\{(?:[^}]*,)?hash="sha256:([0-9a-f]{64})"', re.M
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedIssuer:
    """An issuer of tokens. Prefixes are put before names as they are; with no authority, the system's are asked."""

    url: str
    audience: str
    username_claim: str
    username_prefix: str
    groups_claim: str
    groups_prefix: str
    authority: str = ""  # PEM


def authentication_configuration(issuers: Iterable[TrustedIssuer] = ()) -> dict[str, Any]:
    """The tokens of these issuers, and nobody anonymous but for health.

    It is there from the first start, because the API server reloads this file, but cannot be given one later; nor may
    what it says about those who are anonymous ever change.
    """
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [_authenticator(issuer) for issuer in issuers],
        "anonymous": {"enabled": True, "conditions": [{"path": path} for path in _HEALTH_PATHS]},
    }


def authentication_text(issuers: Iterable[TrustedIssuer] = ()) -> bytes:
    """The same as a file holds it; always the same for the same issuers, in whichever order they come."""
    return state_text(authentication_configuration(sorted(issuers, key=lambda one: one.url)))


def issuers_in(text: bytes) -> tuple[TrustedIssuer, ...] | None:
    """The issuers that a file speaks of; None if it is not one that we would write."""
    try:
        found = tuple(_issuer(one) for one in msgspec.json.decode(text, type=dict[str, Any])["jwt"])
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError):
        return None
    return found if authentication_text(found) == text else None


def fingerprint(text: bytes) -> str:
    """How an API server calls a file in its metrics."""
    return hashlib.sha256(text).hexdigest()


def fingerprint_in(metrics: bytes) -> str:
    """Of the file that is in effect, by the metrics of an API server; empty where it is too old to tell."""
    found = _IN_EFFECT.search(metrics)
    return found[1].decode("ascii") if found else ""


def _authenticator(issuer: TrustedIssuer) -> dict[str, Any]:
    authority = {"certificateAuthority": issuer.authority} if issuer.authority else {}
    return {
        "issuer": {"url": issuer.url, "audiences": [issuer.audience], **authority},
        "claimMappings": {
            "username": {"claim": issuer.username_claim, "prefix": issuer.username_prefix},
            "groups": {"claim": issuer.groups_claim, "prefix": issuer.groups_prefix},
        },
        "userValidationRules": [{"expression": rule, "message": why} for rule, why in _OWN_NAMES],
    }


def _issuer(document: dict[str, Any]) -> TrustedIssuer:
    issuer, mappings = document["issuer"], document["claimMappings"]
    return TrustedIssuer(
        url=issuer["url"],
        audience=issuer["audiences"][0],
        username_claim=mappings["username"]["claim"],
        username_prefix=mappings["username"]["prefix"],
        groups_claim=mappings["groups"]["claim"],
        groups_prefix=mappings["groups"]["prefix"],
        authority=issuer.get("certificateAuthority", ""),
    )
