"""etcd's JSON gateway as a test wants it: any certificate, any token, and the answer as it is."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from mooring.api.kubeconfigs import ClientCertificate
from mooring.controlplane.etcd import Etcd
from mooring.controlplane.probes import Answer, Prober


def pair(directory: Path, name: str) -> ClientCertificate:
    return ClientCertificate(
        certificate=(directory / f"{name}.crt").read_bytes(), key=(directory / f"{name}.key").read_bytes()
    )


def nameless(etcd: Etcd) -> ClientCertificate:
    return pair(etcd.directory / "pki", "nameless")


async def ask(etcd: Etcd, certificate: ClientCertificate | None, deed: str, token: str = "", **request: Any) -> Answer:
    prober = Prober(etcd.ports.client, etcd.ca_file.read_bytes(), certificate)
    try:
        headers = {"Content-Type": "application/json"} | ({"Authorization": token} if token else {})
        answer = await prober.ask("POST", f"/v3/{deed}", json.dumps(request).encode(), headers)
    finally:
        prober.close()
    return answer or Answer(0, b"")


async def as_root(etcd: Etcd, deed: str, **request: Any) -> dict[str, Any]:
    password = (etcd.directory / "root.password").read_text()
    login = await ask(etcd, nameless(etcd), "auth/authenticate", name="root", password=password)
    answer = await ask(etcd, nameless(etcd), deed, json.loads(login.body)["token"], **request)
    assert answer.code == 200, answer
    content: dict[str, Any] = json.loads(answer.body)
    return content


def everything_under(prefix: str) -> dict[str, str]:
    """The range of keys that begin with the prefix, which ends in a slash."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return {"key": _base64(prefix), "range_end": _base64(end)}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
