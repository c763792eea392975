"""Who may enter which cluster, to do what, and until when: access requests as rows."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mooring.api.access import AccessRequest
from mooring.api.durations import seconds_of
from mooring.api.marks import CREATOR_ANNOTATION, GRANT_ANNOTATION
from mooring.api.rbac import Permission, PolicyRule, RoleReference
from mooring.kube import Bare


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An access request at a glance. Moments are in seconds since 1970; None for no end, or none that is known."""

    namespace: str
    name: str
    phase: str
    reason: str
    message: str
    cluster: str  # namespace/name; a request, where the cluster is not known yet
    way: str  # token, or the name of an identity provider
    rights: tuple[str, ...]
    token_ends: float | None
    ends: float | None
    creator: str
    created: str


def entry_of(request: AccessRequest, secret: Bare | None) -> Entry:
    """The row of a request; ``secret`` is the one with its credentials, if it could be read."""
    metadata, status, spec = request.metadata, request.status, request.spec
    phase = "Leaving" if metadata.deleting else (status.phase if status is not None else "") or "Pending"
    return Entry(
        namespace=metadata.namespace,
        name=metadata.name,
        phase=phase,
        reason=status.reason if status is not None else "",
        message=status.message if status is not None else "",
        cluster=_target(request),
        way=spec.oidc.name if spec.oidc is not None else "token",
        rights=tuple(_rights(request)),
        token_ends=_token_ends(secret),
        ends=_ends(request),
        creator=str(_json(metadata.annotations.get(CREATOR_ANNOTATION, "")).get("user", "")),
        created=metadata.creation_timestamp,
    )


def _target(request: AccessRequest) -> str:
    here, spec = request.metadata.namespace, request.spec
    if spec.cluster_ref is not None:
        return f"{spec.cluster_ref.namespace or here}/{spec.cluster_ref.name}"
    if spec.request_ref is not None:
        return f"(request) {spec.request_ref.namespace or here}/{spec.request_ref.name}"
    return ""


def _rights(request: AccessRequest) -> Iterator[str]:
    """In the words of the command line."""
    token, oidc = request.spec.token, request.spec.oidc
    if token is not None:
        yield from _permissions(token.permissions)
        yield from (_role(one) for one in token.role_refs)
    if oidc is not None:
        for bound in oidc.role_bindings:
            who = ", ".join(f"{one.kind.lower()} {one.name}" for one in bound.subjects)
            yield f"{who}: {', '.join(_role(one) for one in bound.role_refs)}"


def _permissions(permissions: Iterable[Permission]) -> Iterator[str]:
    for permission in permissions:
        where = f"@{permission.namespace}" if permission.namespace else ""
        yield from (f"{_rule(rule)}{where}" for rule in permission.rules)


def _rule(rule: PolicyRule) -> str:
    groups = rule.api_groups or ("",)
    resources = [f"{one}.{group}" if group else one for group in groups for one in rule.resources]
    names = f"/{'|'.join(rule.resource_names)}" if rule.resource_names else ""
    return f"{','.join(rule.verbs)}:{','.join([*resources, *rule.non_resource_urls])}{names}"


def _role(role: RoleReference) -> str:
    kind = "role/" if role.kind == "Role" else ""
    return f"{kind}{role.name}{f'@{role.namespace}' if role.namespace else ''}"


def _token_ends(secret: Bare | None) -> float | None:
    noted = _json(secret.metadata.annotations.get(GRANT_ANNOTATION, "")).get("expires") if secret is not None else None
    return float(noted) if isinstance(noted, int | float) and noted > 0 else None


def _ends(request: AccessRequest) -> float | None:
    if not request.spec.ttl:
        return None
    try:
        born = datetime.datetime.fromisoformat(request.metadata.creation_timestamp)
        return born.timestamp() + seconds_of(request.spec.ttl)
    except ValueError:
        return None


def _json(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
