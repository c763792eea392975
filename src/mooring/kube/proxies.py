"""Which HTTP proxy stands between us and a server: the kubeconfig's, the environment's, or none."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from mooring.kube.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where the proxy is and, apart from that, who we are to it. `url` holds no credentials."""

    url: str
    user: str | None = None
    password: str = field(default="", repr=False)


def proxy_from_url(text: str, *, where: str) -> Proxy:
    """The proxy that a setting names. `where` is the setting, for the error."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError("this is not a URL", field=where) from error
    if parts.scheme not in ("http", "https"):
        raise ConfigError(
            "only http and https proxies are spoken",
            field=where,
            value=parts.scheme,
            remedy="Point it to an http proxy that can CONNECT, or remove it",
        )
    if not host:
        raise ConfigError("the proxy's URL names no host", field=where)
    shown = f"[{host}]" if ":" in host else host
    return Proxy(
        url=f"{parts.scheme}://{shown}:{port}" if port else f"{parts.scheme}://{shown}",
        user=unquote(parts.username) if parts.username is not None else None,
        password=unquote(parts.password or ""),
    )


def proxy_from_environment(server: str, environ: Mapping[str, str]) -> Proxy | None:
    """What HTTPS_PROXY (HTTP_PROXY for a plain http server) and NO_PROXY say about this server."""
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    for variable in (name.upper(), name):
        text = environ.get(variable, "").strip()
        if text:
            break
    else:
        return None
    excluded = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if _goes_direct(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), excluded):
        return None
    return proxy_from_url(text if "://" in text else f"http://{text}", where=variable)


def _goes_direct(host: str, port: int, excluded: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    rules = (rule.strip().lower() for rule in excluded.split(","))
    return any(_excludes(rule, host.lower(), address, port) for rule in rules if rule)


def _excludes(rule: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, port: int) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        try:
            return address is not None and address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    name, colon, number = rule.rpartition(":")
    if colon and number.isdigit() and ":" not in name.strip("[]"):
        if int(number) != port:
            return False
        rule = name
    if address is not None:
        return _address(rule.strip("[]")) == address
    # `example.com` covers the name and everything below it; `.example.com` only what is below.
    rule = rule.removeprefix("*")
    return host == rule or host.endswith(rule if rule.startswith(".") else f".{rule}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
