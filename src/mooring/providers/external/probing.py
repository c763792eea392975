"""A look at a cluster: what it runs, which one it is, and what the credential may do there. Nothing is written.

A look is three small reads. What the credential may do is asked less often: once for all with a single question that
only an administrator's credential answers with yes, and otherwise right by right.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import msgspec

from mooring.kube import Client, metadata_of, untyped
from mooring.kube.errors import BadAnswer, Forbidden, NotFound

NAMESPACES = untyped(plural="namespaces", kind="Namespace", namespaced=False)
REVIEWS = untyped(
    group="authorization.k8s.io", plural="selfsubjectaccessreviews", kind="SelfSubjectAccessReview", namespaced=False
)
HEART = "kube-system"  # every cluster has this namespace, and its uid is as old as the cluster

_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Need:
    """What giving access to others takes, of one resource, everywhere in the cluster."""

    group: str
    resource: str
    verbs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


_KEEPING = ("get", "list", "create", "delete")
NEEDS: tuple[Need, ...] = (
    Need("", "namespaces", ("get", "create")),
    Need("", "serviceaccounts", (*_KEEPING, "update")),
    Need("", "serviceaccounts/token", ("create",)),
    Need("", "secrets", _KEEPING),
    Need(_RBAC, "roles", (*_KEEPING, "update", "bind", "escalate")),
    Need(_RBAC, "clusterroles", (*_KEEPING, "update", "bind", "escalate")),
    Need(_RBAC, "rolebindings", (*_KEEPING, "update")),
    Need(_RBAC, "clusterrolebindings", (*_KEEPING, "update")),
)
_EVERYTHING = Need("*", "*", ("*",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What a cluster says of itself."""

    version: str
    identity: str  # stays the same as long as it is the same cluster; empty if the credential may not know it


class _Told(msgspec.Struct, rename="camel"):
    git_version: str


async def version_of(client: Client) -> str:
    """What it runs, such as 1.36.4. One try: whoever asks asks again."""
    path = "/version"
    body = await client.raw("GET", path, accept="application/json", patiently=False)
    try:
        return msgspec.json.decode(body, type=_Told).git_version.removeprefix("v")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadAnswer("not a version", verb="GET", path=path) from None


async def identity_of(client: Client) -> str:
    """Which cluster it is."""
    found = (await client.get(metadata_of(NAMESPACES), HEART)).metadata.uid
    if not found:
        raise BadAnswer("a namespace without uid", verb="GET", path=NAMESPACES.path(name=HEART))
    return found


async def glance_at(client: Client) -> Glance:
    """A look at a cluster that may be away."""
    version, identity = await version_of(client), ""
    # Not everybody may ask for it; what follows needs the cluster's store, which is the best part of being ready.
    with contextlib.suppress(Forbidden, NotFound):
        await client.raw("GET", "/readyz", patiently=False)
    with contextlib.suppress(Forbidden):
        identity = await identity_of(client)
    return Glance(version=version, identity=identity)


async def missing_rights(client: Client) -> list[str]:
    """What the credential may not do, and should: such as ``create, delete secrets``."""
    if await _may(client, _EVERYTHING, "*"):
        return []
    missing = []
    for answer in await asyncio.gather(*(_lacking(client, need) for need in NEEDS), return_exceptions=True):
        if isinstance(answer, BaseException):
            raise answer  # when all have ended
        missing += answer
    return missing


async def _lacking(client: Client, need: Need) -> list[str]:
    verbs = [verb for verb in need.verbs if not await _may(client, need, verb)]
    return [f"{', '.join(verbs)} {need}"] if verbs else []


async def _may(client: Client, need: Need, verb: str) -> bool:
    resource, _, subresource = need.resource.partition("/")
    asked = {"group": need.group, "resource": resource, "subresource": subresource, "verb": verb}
    body = {
        "apiVersion": REVIEWS.api_version,
        "kind": REVIEWS.kind,
        "spec": {"resourceAttributes": {name: value for name, value in asked.items() if value}},
    }
    answer = await client.create(REVIEWS, body)
    return bool((answer.get("status") or {}).get("allowed"))
