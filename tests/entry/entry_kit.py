"""Entrants, wishes and what the API server says of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from uuid import uuid4

import msgspec

from mooring.api.access import OidcAccess, TokenAccess
from mooring.entry.doors import token_door
from mooring.entry.entrants import Entrant
from mooring.entry.opening import parts_of
from mooring.entry.resources import PARTS
from mooring.kube import Client, ObjectKey, untyped
from mooring.kube.errors import NotFound
from mooring.testing.builders import NAMESPACES, SECRETS, namespace_object
from mooring.testing.managers import until

RBAC = "rbac.authorization.k8s.io"
REVIEWS = untyped(
    group="authorization.k8s.io", plural="subjectaccessreviews", kind="SubjectAccessReview", namespaced=False
)
CLUSTER_ROLES, ROLES = PARTS["ClusterRole"], PARTS["Role"]
BUNCH = 24  # questions that are asked at once


def unique(word: str = "a") -> str:
    return f"{word}-{uuid4().hex[:8]}"


def an_entrant(name: str = "", *, installation: str = "here", environment: str = "test", uid: str = "") -> Entrant:
    key = ObjectKey("team", name or unique())
    return Entrant(
        installation=installation, environment=environment, provider="local", key=key, uid=uid or str(uuid4())
    )


def token(**wish: object) -> TokenAccess:
    return msgspec.convert(wish, TokenAccess)


def oidc(**wish: object) -> OidcAccess:
    usual = {"name": "corp", "issuer": "https://id.example.dev", "clientID": "mooring", "roleBindings": []}
    return msgspec.convert(usual | wish, OidcAccess)


def a_rule(verb: str = "get", resource: str = "configmaps", group: str = "") -> dict[str, list[str]]:
    return {"verbs": [verb], "apiGroups": [group], "resources": [resource]}


def reading(**more: object) -> dict[str, object]:
    """A permission."""
    return {"rules": [a_rule()], **more}


async def new_namespace(kube: Client, word: str = "place") -> str:
    name = unique(word)
    await kube.create(NAMESPACES, namespace_object(name))
    return name


async def secrets_of(kube: Client, entrant: Entrant) -> list[str]:
    listed = await kube.list(SECRETS, label_selector=entrant.selector)
    return sorted(one["metadata"]["name"] for one in listed.items)


async def picture(kube: Client, entrant: Entrant) -> dict[str, object]:
    """All that is there of an entrant, without what the server adds."""
    return {
        f"{kind} {key}": {field: one.get(field) for field in ("rules", "roleRef", "subjects")}
        for (kind, key), one in (await parts_of(kube, entrant)).items()
    }


async def there(kube: Client, resource, name: str, namespace: str | None = None):
    try:
        return await kube.get(resource, name, namespace=namespace)
    except NotFound:
        return None


class Counted:
    """Calls by verb, as a client's ``heard``; those that went nowhere, and are sent again, are none."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __call__(self, verb: str, code: int, seconds: float) -> None:
        if code not in (0, 429):
            self.calls[verb] += 1

    def taken(self) -> dict[str, int]:
        taken, self.calls = dict(self.calls), Counter()
        return taken


def user_of(door, accounts: str) -> str:
    return f"system:serviceaccount:{accounts}:{door.account}"


async def may(kube: Client, user: str, question: dict[str, object]) -> bool:
    """Whether that user, by its name alone, may do it."""
    spec = {"user": user, **question}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    return bool((await kube.create(REVIEWS, review))["status"]["allowed"])


async def answers(kube: Client, user: str, questions: list[dict[str, object]]) -> list[bool]:
    found: list[bool] = []
    for start in range(0, len(questions), BUNCH):
        found += await asyncio.gather(*(may(kube, user, one) for one in questions[start : start + BUNCH]))
    return found


def about(verb: str, resource: str, *, group: str = "", namespace: str = "", name: str = "", subresource: str = ""):
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    return {"resourceAttributes": asked | {"namespace": namespace, "name": name}}


async def settle(kube: Client, namespace: str) -> None:
    """Wait until the server judges by all that was written before.

    It learns of each of the four kinds by a watch of its own, in order: what was written to each after everything
    else, and is known, tells that the rest is known.
    """
    for place in ("", namespace):
        rule = a_rule("wink", unique("things"))
        permission = {"rules": [rule]} | ({"namespace": place} if place else {})
        door = token_door(an_entrant(), token(permissions=[permission]), accounts=namespace)
        await asyncio.gather(*(kube.create(PARTS[one["kind"]], one) for one in door.objects[1:]))
        ask = partial(may, kube, user_of(door, namespace), about("wink", rule["resources"][0], namespace=place))
        await until(ask, "the server knows")
        for one in door.objects[1:]:
            await kube.delete(PARTS[one["kind"]], one["metadata"]["name"], namespace=place or None)
