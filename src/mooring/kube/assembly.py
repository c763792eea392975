"""From a chosen context to a `Connection`: files are read, data is decoded, contradictions are told.

Neighbours: `kubeconfig` chose the context; `config` is the only caller.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import Any
from urllib.parse import urlsplit

from mooring.api.kubeconfigs import ClientCertificate
from mooring.kube.connection import Connection, Impersonation
from mooring.kube.credentials import Credentials, TokenFile, anonymous, basic, bearer, certificate_only
from mooring.kube.errors import ConfigError
from mooring.kube.execplugin import VERSIONS, ExecPlugin, ExecSpec
from mooring.kube.kubeconfig import Chosen, ClusterForm, ExecForm, Origin, UserForm
from mooring.kube.proxies import Proxy, proxy_from_environment, proxy_from_url

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def connection_of(choice: Chosen) -> Connection:
    """The connection that a context describes."""
    cluster = choice.cluster
    server = _server(cluster, choice.context.cluster, choice.cluster_origin)
    ca = _authority(cluster, choice.cluster_origin)
    insecure = bool(cluster.insecure_skip_tls_verify)
    if insecure and ca is not None:
        raise ConfigError(
            "the server's certificate cannot be both checked and not checked",
            file=choice.cluster_origin.file,
            field=f"clusters[{choice.context.cluster}].cluster.insecure-skip-tls-verify",
            remedy="Remove it, or remove the certificate authority",
        )
    return Connection(
        server=server,
        ca=ca,
        insecure=insecure,
        tls_server_name=cluster.tls_server_name or None,
        proxy=_proxy(cluster, server),
        credentials=_credentials(choice, server=server, ca=ca),
        impersonation=_impersonation(choice),
        namespace=choice.context.namespace or "default",
    )


def _server(cluster: ClusterForm, name: str, origin: Origin) -> str:
    server = (cluster.server or "").rstrip("/")
    field = f"clusters[{name}].cluster.server"
    try:
        parts = urlsplit(server)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not server.isascii() or not server.isprintable() or " " in server:
        raise ConfigError(
            "the server's address is not an http or https URL",
            file=origin.file,
            field=field,
            value=server if "@" not in server else None,
            remedy="It looks like https://host:6443",
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            "the server's address holds more than scheme, host, port and path", file=origin.file, field=field
        )
    return server


def _proxy(cluster: ClusterForm, server: str) -> Proxy | None:
    if cluster.proxy_url:
        return proxy_from_url(cluster.proxy_url, where="proxy-url")
    return proxy_from_environment(server, os.environ)


def _authority(cluster: ClusterForm, origin: Origin) -> bytes | None:
    return _pem(
        data=cluster.certificate_authority_data,
        file=cluster.certificate_authority,
        field="certificate-authority",
        origin=origin,
    )


def _certificate(user: UserForm, origin: Origin) -> ClientCertificate | None:
    certificate = _pem(
        data=user.client_certificate_data,
        file=user.client_certificate,
        field="client-certificate",
        origin=origin,
    )
    key = _pem(data=user.client_key_data, file=user.client_key, field="client-key", origin=origin)
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = "client-certificate" if certificate is None else "client-key"
        raise ConfigError(
            "a client certificate and its key come together, and one is missing",
            file=origin.file,
            field=missing,
        )
    return ClientCertificate(certificate=certificate, key=key)


def _pem(*, data: str | None, file: str | None, field: str, origin: Origin) -> bytes | None:
    if data:  # data wins over a file, as it does for kubectl
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            raise ConfigError("this is not base64", file=origin.file, field=f"{field}-data") from None
    if not file:
        return None
    path = origin.directory / file
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the file cannot be read: {getattr(error, 'strerror', None) or error}",
            file=origin.file,
            field=field,
            value=str(path),
        ) from error


def _credentials(choice: Chosen, *, server: str, ca: bytes | None) -> Credentials:
    user, origin = choice.user, choice.user_origin
    where = f"users[{choice.context.user}].user"
    if user.auth_provider is not None:
        raise ConfigError(
            "auth providers are a thing of the past, for kubectl too",
            file=origin.file,
            field=f"{where}.auth-provider",
            remedy="Use an exec credential plugin of your cloud in its place",
        )
    certificate = _certificate(user, origin)
    # A token file wins over a token: the token is then only what was true when the file was written.
    if user.token_file:
        return TokenFile(origin.directory / user.token_file, certificate=certificate)
    if user.token:
        return bearer(user.token, certificate=certificate)
    if user.exec is not None:
        return ExecPlugin(_exec_spec(user.exec, choice, where=f"{where}.exec", server=server, ca=ca))
    if user.username:
        return basic(user.username, user.password or "", certificate=certificate)
    return certificate_only(certificate) if certificate is not None else anonymous()


def _exec_spec(form: ExecForm, choice: Chosen, *, where: str, server: str, ca: bytes | None) -> ExecSpec:
    file = choice.user_origin.file
    if form.api_version not in VERSIONS:
        raise ConfigError(
            "this version of the exec interface is not spoken",
            file=file,
            field=f"{where}.apiVersion",
            value=form.api_version,
            remedy=f"Use {' or '.join(VERSIONS)}",
        )
    mode = form.interactive_mode
    if mode is None and form.api_version == VERSIONS[1]:
        mode = "IfAvailable"
    if mode not in ("Never", "IfAvailable", "Always"):
        raise ConfigError(
            "it must say whether the program talks to a person",
            file=file,
            field=f"{where}.interactiveMode",
            value=mode,
            remedy="Use Never, IfAvailable or Always",
        )
    if not form.command:
        raise ConfigError("no program is named", file=file, field=f"{where}.command")
    return ExecSpec(
        api_version=form.api_version or "",
        command=form.command,
        args=tuple(form.args or ()),
        env=tuple((variable.name, variable.value) for variable in form.env or ()),
        interactive_mode=mode,
        install_hint=form.install_hint,
        cluster=_cluster_information(choice.cluster, server, ca) if form.provide_cluster_info else None,
        directory=choice.user_origin.directory,
    )


def _cluster_information(cluster: ClusterForm, server: str, ca: bytes | None) -> dict[str, Any]:
    told: dict[str, Any] = {"server": server}
    if cluster.tls_server_name:
        told["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        told["insecure-skip-tls-verify"] = True
    if ca is not None:
        told["certificate-authority-data"] = base64.b64encode(ca).decode("ascii")
    if cluster.proxy_url:
        told["proxy-url"] = cluster.proxy_url
    for extension in cluster.extensions or ():
        if isinstance(extension, dict) and extension.get("name") == _EXEC_EXTENSION:
            told["config"] = extension.get("extension")
    return told


def _impersonation(choice: Chosen) -> Impersonation | None:
    user = choice.user
    if not user.as_user:
        if user.as_uid or user.as_groups or user.as_user_extra:
            raise ConfigError(
                "groups, uid and extra of somebody else need that somebody's name",
                file=choice.user_origin.file,
                field=f"users[{choice.context.user}].user.as",
            )
        return None
    return Impersonation(
        user=user.as_user,
        uid=user.as_uid,
        groups=tuple(user.as_groups or ()),
        extra={key: tuple(values) for key, values in (user.as_user_extra or {}).items()},
    )
