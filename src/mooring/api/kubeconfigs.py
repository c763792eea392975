"""Kubeconfig documents as plain data.

Whoever makes a door (the control plane, and later access and the faces) describes it here; whoever goes through one
(``mooring.kube``) reads the same form. Nothing is read or written: a document becomes a file somewhere else.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificate:
    """A certificate and its key, both PEM. The key never shows in a repr."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "ClientCertificate(…)"


def kubeconfig(
    *, name: str, server: str, ca: bytes, user: str, certificate: ClientCertificate, namespace: str | None = None
) -> Document:
    """One cluster, one user and the context that joins them, which is current."""
    # The entry's name holds the cluster's, because a file that kubeconfigs are merged into has one list of users.
    entry = f"{user}@{name}"
    context: dict[str, str] = {"cluster": name, "user": entry}
    if namespace is not None:
        context["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": _base64(ca)}}],
        "users": [
            {
                "name": entry,
                "user": {
                    "client-certificate-data": _base64(certificate.certificate),
                    "client-key-data": _base64(certificate.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }


def merged(into: Mapping[str, Any], document: Mapping[str, Any]) -> Document:
    """``into`` with the document's entries added, or put in place of those of the same name.

    Everything else of ``into`` stays, its order included; the document's context becomes the current one.
    """
    result: Document = {"apiVersion": "v1", "kind": "Config", **into}
    for section in ("clusters", "users", "contexts"):
        new = {entry["name"]: entry for entry in document[section]}
        kept = [new.pop(old.get("name"), old) for old in result.get(section) or []]
        result[section] = [*kept, *new.values()]
    result["current-context"] = document["current-context"]
    return result


def _base64(pem: bytes) -> str:
    return base64.b64encode(pem).decode("ascii")
