"""What went wrong on the way to a cluster, in our own words.

The server's answer is not repeated: it belongs to somebody else, and may hold whatever it was sent.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from mooring.kube.errors import (
    ApiError,
    ConfigError,
    Forbidden,
    KubeError,
    NoAnswer,
    ServerError,
    Timeout,
    TooManyRequests,
    Unauthorized,
)
from mooring.providers.external.reasons import Reason, Trouble
from mooring.providers.external.sources import Source, refusal


@contextlib.contextmanager
def told(source: Source, server: str) -> Iterator[None]:
    """Around calls to the cluster: what fails becomes a Trouble with the place of the kubeconfig, and the remedy."""
    try:
        yield
    except ConfigError as error:
        raise refusal(error, source) from None
    except KubeError as error:
        raise _trouble(error, source, server) from None


def _trouble(error: KubeError, source: Source, server: str) -> Trouble:
    here = _here(server)
    if isinstance(error, NoAnswer):
        return _silence(error, source, server)
    if isinstance(error, Unauthorized):
        return Trouble(
            Reason.CREDENTIAL_REFUSED,
            f"{server} does not accept the credential: it has ended, was revoked, or is for another cluster. Put a "
            f"kubeconfig with a valid one into {source}.{here}",
        )
    if isinstance(error, Forbidden):
        return too_weak([f"{error.verb} {error.path}"], source, server)
    if isinstance(error, ServerError | TooManyRequests):
        return Trouble(
            Reason.UNHEALTHY, f"{server} answers {error.code} to {error.verb} {error.path}: the cluster is not well."
        )
    how = f"answers {error.code}" if isinstance(error, ApiError) else "answers something else than Kubernetes does"
    return Trouble(
        Reason.NOT_KUBERNETES,
        f"{server} {how}; is that the address of a Kubernetes API server? It is in {source}.{here}",
    )


def too_weak(missing: list[str], source: Source, server: str) -> Trouble:
    """The credential is good, and not good enough."""
    return Trouble(
        Reason.CREDENTIAL_TOO_WEAK,
        f"The credential for {server} may not do what giving access to others needs: {'; '.join(missing)}. Allow it "
        f"that in the cluster (cluster-admin is enough), or put another kubeconfig into {source}.",
    )


def _silence(error: NoAnswer, source: Source, server: str) -> Trouble:
    # What the socket said hangs behind the error; only the system's own words for it are shown.
    said = error.__cause__
    reason = getattr(said, "os_error", None) or getattr(said, "certificate_error", None) or said
    if isinstance(reason, ssl.SSLCertVerificationError):
        return Trouble(
            Reason.CERTIFICATE_UNKNOWN,
            f"The certificate of {server} is not to be trusted: {reason.verify_message or 'it is not the one'}. Put "
            f"the certificate of the cluster's own authority into {source}, under certificate-authority-data."
            f"{_here(server)}",
        )
    return Trouble(
        Reason.UNREACHABLE,
        f"{server} cannot be reached from here: {_in_words(error, reason)}. If the address is wrong, mend it in "
        f"{source}; otherwise this passes when the cluster is there again.{_here(server)}",
    )


def _in_words(error: NoAnswer, reason: object) -> str:
    if isinstance(error, Timeout):
        return "it does not answer in time"
    if isinstance(reason, socket.gaierror):
        return "its name is not known"
    if isinstance(reason, ssl.SSLError):
        return "it does not speak TLS as it should"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror.lower()
    if (status := getattr(reason, "status", None)) is not None:
        return f"the proxy answers {status}"
    return "the connection broke"


def _here(server: str) -> str:
    """For an address that is another one on each machine."""
    host = urlsplit(server).hostname or ""
    try:
        address = ipaddress.ip_address(host)
        local = address.is_loopback or address.is_unspecified
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
    if not local:
        return ""
    return (
        f" Mind that {host} means the machine that the provider runs on, which need not be the one that the kubeconfig "
        f"was made on: use an address that leads there from everywhere."
    )
