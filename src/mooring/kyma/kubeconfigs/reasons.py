"""Why a KubeconfigRequest stands where it stands, as far as the face says so. All else is its AccessRequest's word."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Reasons of the condition Ready of a KubeconfigRequest."""

    ISSUED = "Issued"
    WAITING = "WaitingForAccess"
    MISSING = "KubeconfigMissing"
    EXPIRED = "Expired"
    REVOKING = "Revoking"
    REVOKED = "Revoked"
    TAKEN = "NameIsTaken"


class Taken(Exception):
    """Something of another owner has the name that we need; the message is for the requester."""
