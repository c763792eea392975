"""Why a request stands where it stands: the words for programs, in ``status.reason`` and in conditions."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """One word each; ``docs/concepts/scheduling.md`` tells what to do about it."""

    GRANTED = "Granted"

    # Waiting: it could be granted, and something is missing.
    PURPOSE_NOT_FOUND = "PurposeNotFound"
    PROFILE_NOT_FOUND = "ProfileNotFound"
    NAMESPACE_NOT_FOUND = "NamespaceNotFound"
    NO_PROFILES_YET = "NoProfilesYet"
    NO_CAPACITY = "NoCapacity"
    CLUSTER_CONFLICT = "ClusterConflict"
    CLUSTER_TERMINATING = "ClusterTerminating"
    CLAIM_LOST = "ClaimLost"

    # Denied: as things stand, nothing can ever satisfy it.
    INVALID_REQUEST = "InvalidRequest"
    INVALID_PURPOSE = "InvalidPurpose"
    PURPOSES_CLASH = "PurposesClash"
    NO_FITTING_PROFILE = "NoFittingProfile"

    # Leaving.
    WAITING_FOR_ACCESS = "WaitingForAccessRequestDeletion"
    WAITING_FOR_CLUSTER = "WaitingForClusterDeletion"

    # Of its cluster, in the condition Ready.
    CLUSTER_READY = "ClusterReady"
    CLUSTER_NOT_READY = "ClusterNotReady"
