"""What an entrant gets in the hand: kubeconfig documents, as plain data."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from mooring.api.access import OidcAccess
from mooring.api.kubeconfigs import Document

_CLUSTER: Final = "cluster"  # upstream's name for the one cluster and context in it


def token_kubeconfig(*, server: str, ca: bytes | None, user: str, token: str) -> Document:
    """Enter as the holder of a token."""
    return _kubeconfig(server=server, ca=ca, user=user, entry={"token": token}, context=_CLUSTER)


def oidc_kubeconfig(*, server: str, ca: bytes | None, wish: OidcAccess, context: str) -> Document:
    """Enter as a user of an identity provider, by kubectl's plugin ``oidc-login``."""
    scopes = [f"--oidc-extra-scope={scope}" for scope in dict.fromkeys(wish.extra_scopes)]
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "kubectl",
        "args": [
            "oidc-login",
            "get-token",
            f"--oidc-issuer-url={wish.issuer}",
            f"--oidc-client-id={wish.client_id}",
            *scopes,
        ],
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": False,
    }
    return _kubeconfig(server=server, ca=ca, user=wish.name, entry={"exec": program}, context=context)


def _kubeconfig(*, server: str, ca: bytes | None, user: str, entry: Mapping[str, Any], context: str) -> Document:
    authority = {} if ca is None else {"certificate-authority-data": base64.b64encode(ca).decode("ascii")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _CLUSTER, "cluster": {"server": server, **authority}}],
        "users": [{"name": user, "user": dict(entry)}],
        "contexts": [{"name": context, "context": {"cluster": _CLUSTER, "user": user}}],
        "current-context": context,
    }
