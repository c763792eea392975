"""Why an external cluster is not ready, or cannot be: the words in its conditions. Its page explains each."""

from __future__ import annotations

from enum import StrEnum

from mooring.providers.sdk.provider import Refused


class Reason(StrEnum):
    NO_KUBECONFIG = "NoKubeconfig"
    AMBIGUOUS = "AmbiguousKubeconfig"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a word for a condition
    KEY_MISSING = "KeyMissing"
    KUBECONFIG_REFUSED = "KubeconfigRefused"
    UNREACHABLE = "Unreachable"
    CERTIFICATE_UNKNOWN = "CertificateUnknown"
    CREDENTIAL_REFUSED = "CredentialRefused"
    CREDENTIAL_TOO_WEAK = "CredentialTooWeak"
    UNHEALTHY = "Unhealthy"
    NOT_KUBERNETES = "NotKubernetes"
    ALREADY_ADOPTED = "AlreadyAdopted"
    ANOTHER_CLUSTER = "AnotherCluster"
    NOT_ADOPTED = "NotAdopted"
    VERSION_DIFFERS = "VersionDiffers"


class Trouble(Refused):
    """Not now; it may pass without anybody changing an object of the platform, so it is worth another look."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message, reason=reason)
