"""Calls without an answer: what happened to them, and whether they can have been done.

The one question that counts is whether the request can have reached the server. Where no connection came to
be it cannot; everywhere else a write's outcome is unknown.
"""

from __future__ import annotations

import aiohttp

from mooring.kube.calls import Call
from mooring.kube.errors import NoAnswer, Timeout, Unreachable
from mooring.kube.timeouts import Timeouts


class NeverSent(Exception):
    """The call surely did not reach the server. `hopeless`: nor will the next one."""

    def __init__(self, error: NoAnswer, *, hopeless: bool = False) -> None:
        super().__init__()
        self.error = error
        self.hopeless = hopeless


def loss(call: Call, error: Exception, *, server: str, timeouts: Timeouts) -> NoAnswer | NeverSent:
    """What the failure of a socket means for the call."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        text = f"no connection to {server} within {timeouts.connect:g} s"
        return NeverSent(Timeout(text, verb=call.verb, path=call.path))
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        text = f"the certificate of {server} is not trusted: {error.certificate_error}"
        return NeverSent(Unreachable(text, verb=call.verb, path=call.path), hopeless=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        text = f"no connection to {server}: {_said(error.os_error)}"
        return NeverSent(Unreachable(text, verb=call.verb, path=call.path))
    if isinstance(error, aiohttp.ClientHttpProxyError):
        text = f"the proxy answered {error.status}"
        return NeverSent(Unreachable(text, verb=call.verb, path=call.path))
    unknown = not call.reads
    if isinstance(error, TimeoutError):
        text = f"no answer from {server} in time"
        return Timeout(text, verb=call.verb, path=call.path, outcome_unknown=unknown)
    text = f"the connection to {server} broke before the answer was complete: {_said(error)}"
    return Unreachable(text, verb=call.verb, path=call.path, outcome_unknown=unknown)


def _said(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientPayloadError):
        return "it ended in the middle"  # the library's own text is about chunk headers
    text = getattr(error, "strerror", None) or str(error)
    return str(text) if text else type(error).__name__
