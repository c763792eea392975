"""The places that a `Connection` comes from.

`load_connection` looks where kubectl looks. `connection_from_document` takes a kubeconfig that we made
ourselves, `connection_from_untrusted` one that somebody put into an API object. Neighbours: `documents`
(YAML), `kubeconfig` (the file's form and its merging), `untrusted` (what is refused), `assembly` (files read,
credentials made).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mooring.kube.assembly import connection_of
from mooring.kube.connection import Connection
from mooring.kube.credentials import TokenFile
from mooring.kube.documents import yaml_document
from mooring.kube.errors import ConfigError
from mooring.kube.kubeconfig import Kubeconfig, chosen, merged, parsed
from mooring.kube.proxies import proxy_from_environment
from mooring.kube.untrusted import refuse_all_but_data

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load_connection(kubeconfig: Path | None = None, context: str | None = None) -> Connection:
    """As kubectl does: the given file, else KUBECONFIG's, else ~/.kube/config, else the pod we are in."""
    if kubeconfig is not None:
        return connection_of(chosen(_read(kubeconfig), context, file=str(kubeconfig)))
    files = _usual_files()
    config = merged(_existing(files))
    if not config.empty or context is not None:
        return connection_of(chosen(config, context, file=os.pathsep.join(map(str, files))))
    if in_cluster():
        return in_cluster_connection()
    raise ConfigError(
        f"no kubeconfig was found (looked for {', '.join(map(str, files))}) and this is not a pod",
        remedy="Name one with --kubeconfig or KUBECONFIG, or start a landscape with `mooring up`",
    )


def connection_from_document(document: Mapping[str, Any], context: str | None = None) -> Connection:
    """The connection of a kubeconfig that is already data, and ours: relative paths in it start here."""
    return connection_of(chosen(parsed(document), context))


def connection_from_untrusted(text: bytes | str, context: str | None = None) -> Connection:
    """The connection of a kubeconfig that somebody else wrote: data only, what reaches further is refused."""
    document = yaml_document(text, stranger=True)
    refuse_all_but_data(document)
    return connection_of(chosen(parsed(document), context))


def in_cluster() -> bool:
    """Whether this process runs in a pod with a service account."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and (_SERVICE_ACCOUNT / "token").is_file()


def in_cluster_connection() -> Connection:
    """The pod's own service account; its token is read again while we run."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    authority, namespace = _SERVICE_ACCOUNT / "ca.crt", _SERVICE_ACCOUNT / "namespace"
    try:
        return Connection(
            server=server,
            ca=authority.read_bytes(),
            proxy=proxy_from_environment(server, os.environ),
            credentials=TokenFile(_SERVICE_ACCOUNT / "token"),
            namespace=namespace.read_text("ascii").strip() if namespace.is_file() else "default",
        )
    except OSError as error:
        raise ConfigError(
            "the pod's service account cannot be read",
            file=str(error.filename or authority),
            remedy="Mount a service account token into this pod (automountServiceAccountToken)",
        ) from error


def _usual_files() -> list[Path]:
    listed = os.environ.get("KUBECONFIG", "")
    if listed:
        return [Path(part) for part in dict.fromkeys(listed.split(os.pathsep)) if part]
    return [Path.home() / ".kube" / "config"]


def _existing(files: Iterable[Path]) -> Iterable[Kubeconfig]:
    for file in files:
        if file.exists():
            yield _read(file)


def _read(file: Path) -> Kubeconfig:
    try:
        text = file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the kubeconfig cannot be read: {error.strerror}",
            file=str(file),
            remedy="Check the path, and that this user may read it",
        ) from error
    return parsed(yaml_document(text, file=str(file)), file=str(file))
