"""Why an AccessRequest stands where it stands."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Reasons of the condition Ready of an AccessRequest, as far as its provider gives them."""

    GRANTED = "Granted"
    CLUSTER_NOT_READY = "ClusterNotReady"
    CANNOT_ENTER = "CannotEnterCluster"
    UNFIT = "InvalidRequest"
    REFUSED = "RefusedByCluster"
    NOT_OURS = "NameIsTaken"
    NAMESPACE_MISSING = "NamespaceMissing"
    REVOKED = "Revoked"
    NO_OIDC = "OIDCUnsupported"
    ISSUER = "IssuerNotTrusted"
    TRANSLATED = "KindsTranslated"


class Answered(Exception):
    """A step cannot be done; the message is for the requester.

    ``final``: somebody must change something first. ``denied``: it cannot be had here at all.
    """

    def __init__(self, reason: str, message: str, *, final: bool = False, denied: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.final = final or denied
        self.denied = denied
