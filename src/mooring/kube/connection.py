"""How to reach one API server and be known to it. A value: `config` makes it, `client` speaks over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mooring.kube.credentials import Credentials, anonymous
from mooring.kube.proxies import Proxy


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """As whom to act, for somebody with the right to do so."""

    user: str
    uid: str | None = None
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Everything a client has to know about one API server. Its repr shows no secret."""

    server: str
    ca: bytes | None = field(default=None, repr=False)
    insecure: bool = False
    tls_server_name: str | None = None
    proxy: Proxy | None = None
    credentials: Credentials = field(default_factory=anonymous)
    impersonation: Impersonation | None = None
    namespace: str = "default"
