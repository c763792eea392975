"""What a token says about itself. It is not checked: it comes from the cluster that issued it a moment ago."""

from __future__ import annotations

import base64

import msgspec


class _Account(msgspec.Struct):
    uid: str = ""


class _Kubernetes(msgspec.Struct):
    serviceaccount: _Account = msgspec.field(default_factory=_Account)


class _Claims(msgspec.Struct):
    kubernetes: _Kubernetes = msgspec.field(name="kubernetes.io", default_factory=_Kubernetes)


_read = msgspec.json.Decoder(_Claims).decode


def account_in(token: str) -> str:
    """The uid of the account that a token is of: it dies with that one. Empty if it does not tell."""
    try:
        claims = token.split(".")[1]
        return _read(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))).kubernetes.serviceaccount.uid
    except (ValueError, IndexError, msgspec.MsgspecError):
        return ""
